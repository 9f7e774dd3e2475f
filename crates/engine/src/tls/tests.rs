//! Sessions in memory, with rustls's own server.

use super::{Channel, Encryption};
use dbdyno_model::{Tls, TlsMode};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::{TLS12, TLS13};
use rustls::{HandshakeKind, ServerConfig, ServerConnection, SupportedProtocolVersion};
use std::io::Read;
use std::process::Command;
use std::sync::Arc;

fn encryption() -> Encryption {
    let (root_certificates, certificate, key) = (None, None, None);
    let tls = Tls { mode: TlsMode::Require, root_certificates, certificate, key };
    Encryption::to_host("localhost", &tls).expect("it needs no file")
}

/// A server of this version, with a new certificate.
fn server(version: &'static SupportedProtocolVersion) -> Arc<ServerConfig> {
    let arguments = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
                     -subj /CN=localhost -keyout - -out -";
    let made = Command::new("openssl").args(arguments.split_whitespace()).output();
    let files = made.expect("openssl is installed").stdout;
    let certificate = CertificateDer::from_pem_slice(&files).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(&files).expect("a key");
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[version])
        .expect("a version that it knows")
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key);
    Arc::new(config.expect("a key for the certificate"))
}

/// Passes on what the client has sent, and what the server answers.
fn exchange(channel: &mut Channel, server: &mut ServerConnection, sent: &[u8]) {
    let mut sent = sent;
    while !sent.is_empty() {
        server.read_tls(&mut sent).expect("memory");
        server.process_new_packets().expect("a client that it understands");
    }
    let mut answer = Vec::new();
    while server.wants_write() {
        server.write_tls(&mut answer).expect("memory");
    }
    for part in answer.chunks(channel.space().len()) {
        channel.space()[..part.len()].copy_from_slice(part);
        channel.received(part.len()).expect("a server that it understands");
    }
}

fn sealed(channel: &mut Channel) -> Vec<u8> {
    let mut out = Vec::new();
    channel.seal(&mut out).expect("a key that may encrypt it");
    out
}

fn connect(encryption: &Encryption, server: &Arc<ServerConfig>) -> (Channel, ServerConnection) {
    let mut channel = encryption.channel().expect("a channel");
    let mut server = ServerConnection::new(Arc::clone(server)).expect("a session");
    while channel.is_handshaking() || server.is_handshaking() {
        let sent = sealed(&mut channel);
        exchange(&mut channel, &mut server, &sent);
    }
    (channel, server)
}

#[test]
fn no_session_is_resumed() {
    for version in [&TLS12, &TLS13] {
        let (encryption, server) = (encryption(), server(version));
        for _ in 0..3 {
            let (channel, _server) = connect(&encryption, &server);
            assert_eq!(channel.session.handshake_kind(), Some(HandshakeKind::Full));
        }
    }
}

#[test]
fn a_session_that_has_failed_sends_the_alert_and_nothing_else() {
    let (mut channel, mut server) = connect(&encryption(), &server(&TLS13));
    channel.space()[..5].fill(0xff);
    assert!(channel.received(5).is_err());
    channel.plain = b"goodbye".to_vec();
    let sent = sealed(&mut channel);
    server.read_tls(&mut sent.as_slice()).expect("memory");
    let alert = server.process_new_packets().expect_err("an alert").to_string();
    assert!(alert.contains("alert"), "{alert}");
    assert_eq!(sealed(&mut channel), []);
}

#[test]
fn a_key_of_tls_1_2_encrypts_no_more_than_it_may() {
    let (mut channel, mut server) = connect(&encryption(), &server(&TLS12));
    assert!(channel.blocks_left < u64::MAX, "{}", channel.description());
    channel.blocks_left = 8;
    let mut send = |text: &[u8]| {
        channel.plain = text.to_vec();
        let mut out = Vec::new();
        let outcome = channel.seal(&mut out);
        server.read_tls(&mut out.as_slice()).expect("memory");
        server.process_new_packets().expect("a client that it understands");
        let mut received = Vec::new();
        let _ = server.reader().read_to_end(&mut received); // the session is still open
        (outcome.map_err(|error| error.code), received)
    };
    assert_eq!(send(b"a request"), (Ok(()), b"a request".to_vec()));
    assert_eq!(send(&[b'x'; 100]), (Err("tls".into()), Vec::new()));
    assert_eq!(send(b"goodbye"), (Ok(()), b"goodbye".to_vec()));
    assert_eq!(send(b"!"), (Err("tls".into()), Vec::new()));
}

#[test]
fn tls_1_3_renews_its_keys() {
    let (channel, _server) = connect(&encryption(), &server(&TLS13));
    assert_eq!(channel.blocks_left, u64::MAX);
}
