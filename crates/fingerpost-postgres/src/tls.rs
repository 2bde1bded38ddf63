//! How is a connection hidden from others, and how sure are we whom we talk to?
//!
//! As `sslmode` says: `require` hides, and believes whoever answers; `verify-ca` and `verify-full` look at
//! the certificate, by the machine's own or those of `sslrootcert`.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
};
use rustls_platform_verifier::Verifier;
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::address::{Address, TlsMode};

/// Why there can be no TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The file of certificates cannot be used.
    #[error("sslrootcert {file} cannot be used: {why}")]
    Roots {
        /// Which file.
        file: String,
        /// What is wrong with it.
        why: String,
    },
    /// TLS itself cannot be set up.
    #[error("TLS cannot be set up")]
    Setup(#[from] rustls::Error),
}

/// What makes a connection as the address says.
pub(crate) fn connector(address: &Address) -> Result<MakeRustlsConnect, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match address.tls {
        TlsMode::Disable | TlsMode::Prefer | TlsMode::Require => {
            Arc::new(Lenient { provider: Arc::clone(&provider), chain: None })
        }
        TlsMode::VerifyCa => {
            let chain = Some(strict(address, &provider)?);
            Arc::new(Lenient { provider: Arc::clone(&provider), chain })
        }
        TlsMode::VerifyFull => strict(address, &provider)?,
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn strict(
    address: &Address,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
    let Some(file) = &address.roots else {
        return Ok(Arc::new(Verifier::new(Arc::clone(provider))?));
    };
    let failed = |why: String| TlsError::Roots { file: file.display().to_string(), why };
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(file).map_err(|e| failed(e.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| failed(error.to_string()))?;
        roots.add(certificate).map_err(|error| failed(error.to_string()))?;
    }
    let built = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider));
    Ok(built.build().map_err(|error| failed(error.to_string()))?)
}

/// Asks less than that the certificate is good and for this name, as `sslmode` allows.
#[derive(Debug)]
struct Lenient {
    provider: Arc<CryptoProvider>,
    /// Who looks at the certificate; its name is not looked at.
    chain: Option<Arc<dyn ServerCertVerifier>>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        match chain.verify_server_cert(certificate, between, name, ocsp, now) {
            // The name is looked at last: all else is well.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
