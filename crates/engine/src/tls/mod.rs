//! Encryption between the socket and the wire, with the meaning of libpq's `sslmode`.

mod key_use;
#[cfg(test)]
mod tests;

use crate::EngineError;
use crate::error::tls_hint;
use dbdyno_model::{Address, Endpoint, ServerError, Tls, TlsMode};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
};
use std::collections::VecDeque;
use std::fs::read_to_string;
use std::io::{self, Read, Write};
use std::sync::Arc;

/// The TLS settings shared by all connections of a run.
#[derive(Clone, Debug)]
pub(crate) struct Encryption {
    pub(crate) mode: TlsMode,
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Encryption {
    /// None when the connections are not to be encrypted. A Unix socket never is.
    pub(crate) fn new(endpoint: &Endpoint) -> Result<Option<Self>, EngineError> {
        let Address::Tcp { host, .. } = &endpoint.address else { return Ok(None) };
        if matches!(endpoint.tls.mode, TlsMode::Disable | TlsMode::Allow) {
            return Ok(None);
        }
        let hint = tls_hint(endpoint.protocol).to_owned();
        Self::to_host(host, &endpoint.tls).map(Some).map_err(|error| EngineError { hint, ..error })
    }

    fn to_host(host: &str, tls: &Tls) -> Result<Self, EngineError> {
        let provider = Arc::new(key_use::provider());
        let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| bad_tls(&error.to_string()))?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Verifier::new(tls, provider)?));
        let mut config = match (&tls.certificate, &tls.key) {
            (Some(certificate), Some(key)) => config
                .with_client_auth_cert(certificates(certificate)?, private_key(key)?)
                .map_err(|error| bad_tls(&error.to_string()))?,
            _ => config.with_no_client_auth(),
        };
        // Each connection costs a whole handshake, as with libpq and the MySQL client library.
        config.resumption = Resumption::disabled();
        let name = ServerName::try_from(host.to_owned()).map_err(|_| {
            bad_tls(&format!("{host} is not a name that a certificate can contain"))
        })?;
        Ok(Self { mode: tls.mode, config: Arc::new(config), name })
    }

    /// The client's side of one encrypted connection.
    pub(crate) fn channel(&self) -> Result<Channel, ServerError> {
        let mut session = ClientConnection::new(Arc::clone(&self.config), self.name.clone())
            .map_err(|error| failed(&error))?;
        session.set_buffer_limit(None); // the output is bounded by the requests
        Ok(Channel {
            session,
            inbox: vec![0; INBOX_BYTES],
            opened: VecDeque::new(),
            plain: Vec::new(),
            blocks_left: u64::MAX,
        })
    }
}

fn bad_tls(message: &str) -> EngineError {
    EngineError::new("bad_tls", message, "")
}

fn failed(error: &Error) -> ServerError {
    refused(format!("TLS: {error}"))
}

fn broken(error: &io::Error) -> ServerError {
    ServerError::connection_lost(format!("TLS: {error}"))
}

/// A loss of our own making, which is not to be taken for one of the server's.
fn key_exhausted() -> ServerError {
    refused(
        "TLS: dbdyno gave the connection up, since it has sent as much as one key may encrypt with \
         AES-GCM: TLS 1.2 cannot renew it, and TLS 1.3 can",
    )
}

/// The two sides do not agree on encryption.
pub(crate) fn refused(message: impl Into<String>) -> ServerError {
    ServerError { code: "tls".into(), ..ServerError::connection_lost(message) }
}

fn certificates(path: &str) -> Result<Vec<CertificateDer<'static>>, EngineError> {
    CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| bad_tls(&format!("cannot read certificates from {path}: {error}")))
}

/// The file that OpenSSL reads them from, and thereby the control connections.
fn roots_of_the_system() -> Result<String, EngineError> {
    let path = openssl_probe::probe().cert_file;
    path.map(|path| path.to_string_lossy().into_owned())
        .ok_or_else(|| bad_tls("the system has no root certificates to verify the server with"))
}

fn private_key(path: &str) -> Result<PrivateKeyDer<'static>, EngineError> {
    PrivateKeyDer::from_pem_file(path).map_err(|error| {
        let is_locked = read_to_string(path).is_ok_and(|text| text.contains("ENCRYPTED"));
        let why = if is_locked {
            format!("it has a passphrase; openssl pkey -in {path} writes it without one")
        } else {
            error.to_string()
        };
        bad_tls(&format!("cannot read the key in {path}: {why}"))
    })
}

/// A TLS record with its overhead.
const INBOX_BYTES: usize = 17 << 10;

/// One encrypted connection, without the socket.
#[derive(Debug)]
pub(crate) struct Channel {
    session: ClientConnection,
    inbox: Vec<u8>,
    /// Decrypted bytes that have not been read yet.
    opened: VecDeque<u8>,
    /// Bytes to be encrypted.
    pub(crate) plain: Vec<u8>,
    /// How much the session's key may still encrypt, once the handshake is over.
    blocks_left: u64,
}

impl Channel {
    /// The space to receive into.
    pub(crate) fn space(&mut self) -> &mut [u8] {
        &mut self.inbox
    }

    /// This many bytes were received.
    pub(crate) fn received(&mut self, count: usize) -> Result<(), ServerError> {
        let was_handshaking = self.is_handshaking();
        let mut bytes = &self.inbox[..count];
        while !bytes.is_empty() {
            if self.session.read_tls(&mut bytes).map_err(|error| broken(&error))? == 0 {
                break; // the server has ended the session: what follows is not part of it
            }
            let state = self.session.process_new_packets().map_err(|error| failed(&error))?;
            // A session that holds more than a record's worth of plain text accepts no more.
            let mut opened = self.session.reader().take(state.plaintext_bytes_to_read() as u64);
            io::copy(&mut opened, &mut self.opened).map_err(|error| broken(&error))?;
        }
        if was_handshaking && !self.is_handshaking() {
            let suite = self.session.negotiated_cipher_suite();
            self.blocks_left = suite.map_or(u64::MAX, key_use::blocks_max);
        }
        Ok(())
    }

    pub(crate) fn is_handshaking(&self) -> bool {
        self.session.is_handshaking()
    }

    /// Copies decrypted bytes to `space`; zero when there are none for now.
    pub(crate) fn decrypted(&mut self, space: &mut [u8]) -> usize {
        self.opened.read(space).expect("reading from memory does not fail")
    }

    /// Encrypts `plain`, and appends all that is to be sent to `out`. A session that has failed
    /// encrypts nothing: what is left to be sent then is the alert that tells the server why.
    ///
    /// Fails, and drops `plain`, when the session's key must not encrypt that much any more.
    pub(crate) fn seal(&mut self, out: &mut Vec<u8>) -> Result<(), ServerError> {
        let left = self.blocks_left.checked_sub(key_use::blocks(self.plain.len()));
        if let Some(left) = left {
            self.blocks_left = left;
            // Its buffer has no limit, so this fails only with the error that `received` returned.
            let _ = self.session.writer().write_all(&self.plain);
        }
        self.plain.clear();
        while self.session.wants_write() {
            self.session.write_tls(out).expect("writing to memory does not fail");
        }
        left.map(|_| ()).ok_or_else(key_exhausted)
    }

    /// The server's own certificate.
    pub(crate) fn server_certificate(&self) -> Option<&[u8]> {
        self.session.peer_certificates()?.first().map(AsRef::as_ref)
    }

    /// Protocol and cipher, for people.
    pub(crate) fn description(&self) -> String {
        let version = self.session.protocol_version().and_then(|version| version.as_str());
        let suite = self
            .session
            .negotiated_cipher_suite()
            .and_then(|suite| suite.suite().as_str().map(str::to_owned));
        let version = version.map(|version| version.replace('_', "."));
        [version, suite].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

/// Checks the server's certificate as far as the mode requires.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// The trusted roots and their verifier; none when nothing is checked.
    trust: Option<(Vec<CertificateDer<'static>>, Arc<WebPkiServerVerifier>)>,
    check_name: bool,
}

impl Verifier {
    fn new(tls: &Tls, provider: Arc<CryptoProvider>) -> Result<Self, EngineError> {
        let verifies = matches!(tls.mode, TlsMode::VerifyCa | TlsMode::VerifyFull);
        let roots = match &tls.root_certificates {
            None if verifies => Some(roots_of_the_system()?),
            given => given.clone(),
        };
        let trust = roots.map(|path| trust(&path, &provider)).transpose()?;
        Ok(Self { provider, trust, check_name: tls.mode == TlsMode::VerifyFull })
    }
}

type Trust = (Vec<CertificateDer<'static>>, Arc<WebPkiServerVerifier>);

fn trust(path: &str, provider: &Arc<CryptoProvider>) -> Result<Trust, EngineError> {
    let roots = certificates(path)?;
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(roots.iter().cloned());
    let verifier =
        WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider))
            .build()
            .map_err(|error| bad_tls(&format!("{path}: {error}")))?;
    Ok((roots, verifier))
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some((roots, verifier)) = &self.trust else {
            return Ok(ServerCertVerified::assertion());
        };
        match verifier.verify_server_cert(end_entity, intermediates, name, ocsp, now) {
            // `verify-ca` checks the issuer, not the host name.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.check_name => Ok(ServerCertVerified::assertion()),
            // A self-signed certificate that is itself trusted: OpenSSL accepts it, webpki does
            // not, since its own signer is then no authority. Its name is checked nevertheless.
            Err(Error::InvalidCertificate(CertificateError::Other(_)))
                if roots.contains(end_entity) =>
            {
                self.check_own_name(end_entity, name)
            }
            other => other,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl Verifier {
    fn check_own_name(
        &self,
        certificate: &CertificateDer<'_>,
        name: &ServerName<'_>,
    ) -> Result<ServerCertVerified, Error> {
        if self.check_name {
            let parsed = rustls::server::ParsedCertificate::try_from(certificate)?;
            rustls::client::verify_server_name(&parsed, name)?;
        }
        Ok(ServerCertVerified::assertion())
    }
}
