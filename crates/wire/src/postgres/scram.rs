//! SCRAM-SHA-256 (RFC 5802, RFC 7677): proves the password to the server, and that the server knows
//! it.
//!
//! Three steps, each a type of its own, so that none can be skipped. The nonce is an argument, so a
//! recorded exchange can be replayed.

use crate::ProtocolError;
use crate::secret::Secret;
use base64::prelude::{BASE64_STANDARD, Engine};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// More iterations than any server is configured with; a malicious server must not keep a thread
/// busy for hours.
const ITERATIONS_MAX: u32 = 1_000_000;

const MALFORMED: ProtocolError = ProtocolError::Malformed("a SCRAM message");

type Key = [u8; 32];

/// How the login is bound to the channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Binding {
    /// There is nothing to bind to.
    Unsupported,
    /// We support it, but the server did not offer it: the server will notice if somebody removed
    /// its offer.
    NotOffered,
    /// Bound to the server's certificate.
    ServerEndPoint(Vec<u8>),
}

impl Binding {
    pub(super) fn mechanism(&self) -> &'static str {
        match self {
            Self::Unsupported | Self::NotOffered => "SCRAM-SHA-256",
            Self::ServerEndPoint(_) => "SCRAM-SHA-256-PLUS",
        }
    }

    fn header(&self) -> &'static str {
        match self {
            Self::Unsupported => "n,,",
            Self::NotOffered => "y,,",
            Self::ServerEndPoint(_) => "p=tls-server-end-point,,",
        }
    }

    /// The header and the binding itself, as the final message repeats them.
    fn encoded(&self) -> String {
        let data = match self {
            Self::ServerEndPoint(data) => &data[..],
            Self::Unsupported | Self::NotOffered => &[],
        };
        BASE64_STANDARD.encode([self.header().as_bytes(), data].concat())
    }
}

/// The first message has been sent; the server's challenge comes next.
#[derive(Debug)]
pub(super) struct ClientFirst {
    binding: Binding,
    nonce: String,
}

impl ClientFirst {
    pub(super) fn new(binding: Binding, nonce: &[u8]) -> Self {
        Self { binding, nonce: BASE64_STANDARD.encode(nonce) }
    }

    pub(super) fn mechanism(&self) -> &'static str {
        self.binding.mechanism()
    }

    /// The client's first message.
    pub(super) fn message(&self) -> String {
        format!("{}{}", self.binding.header(), self.bare())
    }

    /// The name is empty: the server knows it from the startup message.
    fn bare(&self) -> String {
        format!("n=,r={}", self.nonce)
    }

    /// Answers the server's challenge: the client's final message, and the expected reply.
    pub(super) fn answer(
        &self,
        challenge: &[u8],
        password: &str,
    ) -> Result<(String, ServerSignature), ProtocolError> {
        let text = std::str::from_utf8(challenge).map_err(|_| MALFORMED)?;
        let challenge = Challenge::parse(text)?;
        if !challenge.nonce.starts_with(&self.nonce) || challenge.nonce == self.nonce {
            return Err(ProtocolError::Malformed("SCRAM: the server's nonce does not extend ours"));
        }
        let unproven = format!("c={},r={}", self.binding.encoded(), challenge.nonce);
        let signed = format!("{},{text},{unproven}", self.bare());
        let salted = salted_password(password, &challenge);
        let proof = BASE64_STANDARD.encode(client_proof(&salted, signed.as_bytes()));
        let server_signature =
            ServerSignature { server_key: Secret(sign(&salted, b"Server Key")), signed };
        Ok((format!("{unproven},p={proof}"), server_signature))
    }
}

/// The proof has been sent; the server's own signature comes next.
#[derive(Debug)]
pub(super) struct ServerSignature {
    server_key: Secret<Key>,
    signed: String,
}

impl ServerSignature {
    /// Checks that the server knows the password too.
    pub(super) fn check(&self, message: &[u8]) -> Result<(), ProtocolError> {
        let text = std::str::from_utf8(message).map_err(|_| MALFORMED)?;
        let encoded = text.strip_prefix("v=").ok_or(MALFORMED)?;
        let encoded = encoded.split(',').next().unwrap_or(encoded);
        let signature = BASE64_STANDARD.decode(encoded).map_err(|_| MALFORMED)?;
        keyed(&self.server_key.0)
            .chain_update(self.signed.as_bytes())
            .verify_slice(&signature)
            .map_err(|_| ProtocolError::Malformed("SCRAM: the server's signature is wrong"))
    }
}

/// The server's first message.
struct Challenge<'a> {
    nonce: &'a str,
    salt: Vec<u8>,
    iterations: u32,
}

impl<'a> Challenge<'a> {
    fn parse(text: &'a str) -> Result<Self, ProtocolError> {
        let mut fields = text.split(',');
        let mut field = |name| fields.next().and_then(|field| field.strip_prefix(name));
        let nonce = field("r=").ok_or(MALFORMED)?;
        let salt = BASE64_STANDARD.decode(field("s=").ok_or(MALFORMED)?).map_err(|_| MALFORMED)?;
        let iterations = field("i=").and_then(|count| count.parse().ok()).ok_or(MALFORMED)?;
        if !(1..=ITERATIONS_MAX).contains(&iterations) {
            return Err(ProtocolError::Malformed("SCRAM: an invalid number of iterations"));
        }
        Ok(Self { nonce, salt, iterations })
    }
}

/// PBKDF2 with one block. A password that `SASLprep` rejects is used unchanged, as servers do.
fn salted_password(password: &str, challenge: &Challenge<'_>) -> Key {
    let prepared = stringprep::saslprep(password);
    let keyed = keyed(prepared.as_deref().unwrap_or(password).as_bytes());
    let first = keyed.clone().chain_update(&challenge.salt).chain_update([0, 0, 0, 1]);
    let mut block: Key = first.finalize().into_bytes().into();
    let mut sum = block;
    for _ in 1..challenge.iterations {
        block = keyed.clone().chain_update(block).finalize().into_bytes().into();
        sum = xor(sum, block);
    }
    sum
}

fn client_proof(salted: &Key, signed: &[u8]) -> Key {
    let client_key = sign(salted, b"Client Key");
    let stored_key = Sha256::digest(client_key);
    xor(client_key, sign(&stored_key, signed))
}

fn sign(key: &[u8], message: &[u8]) -> Key {
    keyed(key).chain_update(message).finalize().into_bytes().into()
}

fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes keys of any length")
}

fn xor(mut left: Key, right: Key) -> Key {
    for (byte, other) in left.iter_mut().zip(right) {
        *byte ^= other;
    }
    left
}

#[cfg(test)]
mod tests {
    use super::{Binding, Challenge, ClientFirst, Secret, ServerSignature, salted_password, sign};
    use base64::prelude::{BASE64_STANDARD, Engine};
    use postgres_protocol::authentication::sasl;

    /// Simulates the server: the challenge, and the signature that a server who knows the password
    /// would send.
    fn challenge_to(first: &str) -> String {
        let nonce = first.rsplit("r=").next().expect("a nonce");
        format!("r={nonce}%server,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
    }

    #[test]
    fn an_independent_client_gives_the_same_proof() {
        let binding = b"hash of a certificate".to_vec();
        let reference = sasl::ChannelBinding::tls_server_end_point(binding.clone());
        let mut reference = sasl::ScramSha256::new("p\u{ad}encil \u{2168}".as_bytes(), reference);
        let first = String::from_utf8(reference.message().to_vec()).expect("text");
        let challenge = challenge_to(&first);
        reference.update(challenge.as_bytes()).expect("a good challenge");

        let nonce = first.rsplit("r=").next().expect("a nonce").to_owned();
        let own = ClientFirst { binding: Binding::ServerEndPoint(binding), nonce };
        assert_eq!(own.message(), first);
        let (message, server_signature) =
            own.answer(challenge.as_bytes(), "p\u{ad}encil \u{2168}").expect("a good challenge");
        assert_eq!(message.as_bytes(), reference.message());

        let signature = sign(&server_signature.server_key.0, server_signature.signed.as_bytes());
        let encoded = BASE64_STANDARD.encode(signature);
        reference.finish(format!("v={encoded}").as_bytes()).expect("the same signature");
        server_signature.check(format!("v={encoded}").as_bytes()).expect("our own signature");
    }

    #[test]
    fn a_server_without_the_password_is_found_out() {
        let server_signature =
            ServerSignature { server_key: Secret([1; 32]), signed: "signed".into() };
        for wrong in ["v=AAAA", "v=", "e=other-error", "", "v=*"] {
            assert!(server_signature.check(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_bad_challenge_is_refused() {
        let client_first = ClientFirst::new(Binding::Unsupported, &[7; 18]);
        let nonce = client_first.nonce.clone();
        for challenge in [
            "r=other,s=AAAA,i=4096".to_owned(),
            format!("r={nonce},s=AAAA,i=4096"),
            format!("r={nonce}x,s=*,i=4096"),
            format!("r={nonce}x,s=AAAA,i=0"),
            format!("r={nonce}x,s=AAAA,i=4294967295"),
            format!("r={nonce}x,s=AAAA"),
            String::new(),
        ] {
            assert!(client_first.answer(challenge.as_bytes(), "x").is_err(), "{challenge}");
        }
        assert!(client_first.answer(b"r=\xff", "x").is_err());
    }

    #[test]
    fn the_published_example_holds() {
        // RFC 7677, section 3: given the messages, the client's proof depends only on the salted
        // password, so the messages' texts are signed here as printed there.
        let challenge = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
                         s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        let salted = salted_password("pencil", &Challenge::parse(challenge).expect("good"));
        let signed = format!(
            "n=user,r=rOprNGfwEbeRWgbNEkqO,{challenge},\
             c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
        );
        let server_key = Secret(sign(&salted, b"Server Key"));
        ServerSignature { server_key, signed }
            .check(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
            .expect("the signature of the example");
    }
}
