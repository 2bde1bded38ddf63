//! Does a connection keep what `sslmode` promises?
//!
//! The server of the tests speaks no TLS, so a proxy before it does, with certificates made here.

use std::path::Path;
use std::sync::Arc;

use fingerpost::store::Store;
use fingerpost_postgres::Postgres;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::real;

/// What a client sends first: a length, and the number that asks for TLS.
const ASKS_FOR_TLS: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

struct Proxy {
    port: u16,
    _runtime: tokio::runtime::Runtime,
}

/// Speaks TLS as `localhost`, and hands on to `to` what it hears.
fn proxy(to: String, authority: &CertifiedIssuer<'_, KeyPair>) -> Proxy {
    let key = KeyPair::generate().unwrap();
    let named = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = named.signed_by(&key, authority).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let port = listener.local_addr().unwrap().port();
    runtime.spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let (acceptor, to) = (acceptor.clone(), to.clone());
            tokio::spawn(async move {
                let mut asked = [0; 8];
                client.read_exact(&mut asked).await?;
                assert_eq!(asked, ASKS_FOR_TLS);
                client.write_all(b"S").await?;
                let mut client = acceptor.accept(client).await?;
                let mut server = TcpStream::connect(to).await?;
                copy_bidirectional(&mut client, &mut server).await
            });
        }
    });
    Proxy { port, _runtime: runtime }
}

fn authority(folder: &Path, name: &str) -> (CertifiedIssuer<'static, KeyPair>, String) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let file = folder.join(name);
    std::fs::write(&file, authority.pem()).unwrap();
    (authority, file.display().to_string())
}

#[test]
fn a_connection_is_as_safe_as_sslmode_says() {
    let Some(url) = real::url() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (ours, good) = authority(folder.path(), "good.pem");
    let (_, bad) = authority(folder.path(), "bad.pem");
    let (who, place) = url.split_once('@').unwrap();
    let (server, database) = place.split_once('/').unwrap();
    let proxy = proxy(server.to_owned(), &ours);
    let reaches = |host: &str, query: &str| {
        let url = format!("{who}@{host}:{}/{database}?schema=none&{query}", proxy.port);
        let cache = folder.path().join("cache");
        let store = Postgres::open(url.parse().unwrap(), cache, 1).unwrap();
        store
            .head()
            .map(drop)
            .map_err(|error| std::error::Error::source(&error).unwrap().to_string())
    };
    assert_eq!(reaches("127.0.0.1", "sslmode=prefer"), Ok(()));
    assert_eq!(reaches("127.0.0.1", "sslmode=require"), Ok(()));
    assert_eq!(reaches("localhost", &format!("sslmode=verify-full&sslrootcert={good}")), Ok(()));
    assert_eq!(reaches("127.0.0.1", &format!("sslmode=verify-ca&sslrootcert={good}")), Ok(()));
    for (host, query) in [
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={good}")),
        ("localhost", format!("sslmode=verify-full&sslrootcert={bad}")),
        ("localhost", format!("sslmode=verify-ca&sslrootcert={bad}")),
        ("localhost", format!("sslmode=require&sslrootcert={bad}")),
        ("localhost", "sslmode=verify-full".to_owned()),
    ] {
        let refused = reaches(host, &query).unwrap_err();
        assert!(refused.contains("TLS") && refused.contains("certificate"), "{query}: {refused}");
    }
    assert!(reaches("localhost", "sslmode=disable").is_err(), "the proxy speaks nothing but TLS");
    let missing = format!("{url}?sslmode=verify-full&sslrootcert={good}.none");
    let missing = Postgres::open(missing.parse().unwrap(), folder.path().into(), 1);
    assert!(missing.err().unwrap().to_string().contains("good.pem.none"));
}
