//! A client that costs little: it shares the machine with the server that it measures.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// One connection, which is kept.
pub(super) struct Connection {
    address: SocketAddr,
    stream: Option<BufReader<TcpStream>>,
    line: Vec<u8>,
    body: Vec<u8>,
}

/// A request as it is sent.
pub(super) fn request(method: &str, path: &str, headers: &str) -> Vec<u8> {
    format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n").into_bytes()
}

/// What of a text an address may have; the rest is written in hexadecimal.
pub(super) fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                encoded.push(char::from(byte));
            }
            b' ' => encoded.push('+'),
            _ => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

impl Connection {
    pub(super) fn to(address: SocketAddr) -> Self {
        Self { address, stream: None, line: Vec::new(), body: Vec::new() }
    }

    /// Sends a request and reads all of the answer; gives its status.
    pub(super) async fn ask(&mut self, request: &[u8]) -> io::Result<u16> {
        let asked = self.ask_once(request).await;
        if asked.is_err() {
            self.stream = None;
        }
        asked
    }

    /// The body of the last answer.
    pub(super) fn body(&self) -> &[u8] {
        &self.body
    }

    async fn ask_once(&mut self, request: &[u8]) -> io::Result<u16> {
        let stream = match &mut self.stream {
            Some(stream) => stream,
            None => {
                let stream = TcpStream::connect(self.address).await?;
                stream.set_nodelay(true)?;
                self.stream.insert(BufReader::with_capacity(64 * 1024, stream))
            }
        };
        stream.get_mut().write_all(request).await?;
        let (mut status, mut length) = (None, None);
        loop {
            self.line.clear();
            if stream.read_until(b'\n', &mut self.line).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let line = String::from_utf8_lossy(&self.line);
            let line = line.trim_end();
            if status.is_none() {
                status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
                if status.is_none() {
                    return Err(io::Error::other(format!("'{line}' is no answer")));
                }
            } else if line.is_empty() {
                break;
            } else if let Some((name, value)) = line.split_once(':')
                && name.eq_ignore_ascii_case("content-length")
            {
                length = value.trim().parse().ok();
            }
        }
        let length: usize = length.ok_or_else(|| io::Error::other("the answer has no length"))?;
        self.body.resize(length, 0);
        stream.read_exact(&mut self.body).await?;
        status.ok_or_else(|| io::Error::other("the answer has no status"))
    }
}
