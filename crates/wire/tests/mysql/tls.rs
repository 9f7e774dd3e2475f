//! A stream to a server that can be encrypted later, accepting any certificate.

use crate::common::Peer;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, SignatureScheme, StreamOwned,
};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

/// The beginning of the request for encryption: 32 bytes, as the client's first packet.
const TLS_REQUEST: &[u8] = b"\x20\0\0\x01";

/// Unencrypted at first.
pub(crate) enum Transport {
    Clear(TcpStream),
    Encrypted(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Peer for Transport {
    fn send(&mut self, bytes: &[u8]) {
        match self {
            Self::Clear(stream) => stream.write_all(bytes),
            Self::Encrypted(stream) => stream.write_all(bytes),
        }
        .expect("the server reads");
        if bytes.starts_with(TLS_REQUEST) {
            self.encrypt();
        }
    }

    fn receive(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; 64 << 10];
        let count = match self {
            Self::Clear(stream) => stream.read(&mut bytes),
            Self::Encrypted(stream) => stream.read(&mut bytes),
        };
        // A server that has refused a login just disconnects.
        let count = count.unwrap_or(0);
        bytes.truncate(count);
        bytes
    }
}

impl Transport {
    fn encrypt(&mut self) {
        let Self::Clear(stream) = self else { return };
        let stream = stream.try_clone().expect("a socket can be shared");
        let config = ClientConfig::builder()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody))
            .with_no_client_auth();
        let name = ServerName::try_from("localhost").expect("a name");
        let connection = ClientConnection::new(Arc::new(config), name).expect("a good config");
        *self = Self::Encrypted(Box::new(StreamOwned::new(connection, stream)));
    }
}

/// Trusts every server.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _others: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        ring::default_provider().signature_verification_algorithms.supported_schemes()
    }
}
