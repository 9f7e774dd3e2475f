//! The authentication methods: their names, and what each sends at each step.

use super::config::Config;
use super::greeting::CHALLENGE_BYTES;
use super::password::{self, ED25519_CHALLENGE_BYTES};
use super::rsa::{PublicKey, SEED_BYTES};
use crate::ProtocolError;

/// Asks a sha256_password server for its public key.
const SHA256_KEY_REQUEST: u8 = 1;
/// The same for caching_sha2_password.
const CACHING_KEY_REQUEST: u8 = 2;

/// An empty password, where the method sends one.
const EMPTY_PASSWORD: &[u8] = b"\0";

/// caching_sha2_password's answer that the first proof was accepted.
const FAST_AUTH_SUCCESS: &[u8] = b"\x03";
const NOT_CACHED: &[u8] = b"\x04";

/// An authentication method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Native,
    CachingSha2,
    Sha256,
    Ed25519,
}

const NAMES: &[(&str, Method)] = &[
    ("mysql_native_password", Method::Native),
    ("caching_sha2_password", Method::CachingSha2),
    ("sha256_password", Method::Sha256),
    ("client_ed25519", Method::Ed25519),
];

/// What a method's answer depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct AuthContext<'a> {
    pub(super) config: &'a Config,
    pub(super) is_encrypted: bool,
    /// Whether nobody else can read the channel: a Unix socket needs no encryption for that.
    pub(super) is_secret: bool,
    pub(super) seed: &'a [u8; SEED_BYTES],
}

/// What a method sends.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum AuthResponse {
    /// This; then the server decides.
    Proof(Vec<u8>),
    /// This; then the server's public key comes.
    KeyRequest(u8),
    /// Nothing: the server continues by itself.
    Nothing,
    /// We cannot continue.
    Refusal(String),
}

impl Method {
    pub(super) fn named(name: &[u8]) -> Option<Self> {
        NAMES.iter().find(|(known, _)| known.as_bytes() == name).map(|&(_, method)| method)
    }

    pub(super) fn name(self) -> &'static str {
        NAMES.iter().find(|&&(_, method)| method == self).map_or("", |&(name, _)| name)
    }

    /// The first answer to a challenge. Bytes after the challenge are ignored.
    pub(super) fn begin(
        self,
        challenge: &[u8],
        context: AuthContext<'_>,
    ) -> Result<AuthResponse, ProtocolError> {
        let password = context.config.password_bytes();
        let bytes = if self == Self::Ed25519 { ED25519_CHALLENGE_BYTES } else { CHALLENGE_BYTES };
        let challenge = challenge
            .get(..bytes)
            .ok_or(ProtocolError::Malformed("a challenge that is too short"))?;
        Ok(match self {
            Self::Ed25519 => AuthResponse::Proof(password::ed25519(password, challenge)),
            Self::Native if password.is_empty() => AuthResponse::Proof(Vec::new()),
            _ if password.is_empty() => AuthResponse::Proof(EMPTY_PASSWORD.to_vec()),
            Self::Native => AuthResponse::Proof(password::native(password, challenge)),
            Self::CachingSha2 => AuthResponse::Proof(password::caching_sha2(password, challenge)),
            // Its server accepts the password itself only over TLS, not over a Unix socket.
            Self::Sha256 if context.is_encrypted => cleartext(context),
            Self::Sha256 => AuthResponse::KeyRequest(SHA256_KEY_REQUEST),
        })
    }

    /// The server requests more.
    pub(super) fn continue_with(
        self,
        continuation: &[u8],
        context: AuthContext<'_>,
    ) -> Result<AuthResponse, ProtocolError> {
        match (self, continuation) {
            (Self::CachingSha2, FAST_AUTH_SUCCESS) => Ok(AuthResponse::Nothing),
            (Self::CachingSha2, NOT_CACHED) if context.is_secret => Ok(cleartext(context)),
            (Self::CachingSha2, NOT_CACHED) => Ok(AuthResponse::KeyRequest(CACHING_KEY_REQUEST)),
            _ => Err(ProtocolError::Malformed("the server continues after the final proof")),
        }
    }
}

/// The password itself.
fn cleartext(context: AuthContext<'_>) -> AuthResponse {
    AuthResponse::Proof(password::cleartext(context.config.password_bytes()))
}

/// The password, encrypted with the server's key.
pub(super) fn encrypted(
    key: &PublicKey,
    challenge: &[u8],
    context: AuthContext<'_>,
) -> AuthResponse {
    let password = context.config.password_bytes();
    match password::encrypted(password, challenge, key, context.seed) {
        Some(proof) => AuthResponse::Proof(proof),
        None => AuthResponse::Refusal(
            "the password is too long for the server's public key: log in over TLS".into(),
        ),
    }
}
