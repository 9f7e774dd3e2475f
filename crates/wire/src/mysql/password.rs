//! The cryptography of each authentication method, without the exchange.

use super::rsa::{self, PublicKey};
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use ed25519_dalek::{SECRET_KEY_LENGTH, VerifyingKey};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

/// mysql_native_password: the hash of the password, XORed with what only a server that has the hash
/// of the hash can compute.
pub(super) fn native(password: &[u8], challenge: &[u8]) -> Vec<u8> {
    let hash = Sha1::digest(password);
    let mask = Sha1::new().chain_update(challenge).chain_update(Sha1::digest(hash)).finalize();
    xored(&hash, &mask)
}

/// caching_sha2_password's fast path: the same idea, with the challenge at the end.
pub(super) fn caching_sha2(password: &[u8], challenge: &[u8]) -> Vec<u8> {
    let hash = Sha256::digest(password);
    let mask = Sha256::new().chain_update(Sha256::digest(hash)).chain_update(challenge).finalize();
    xored(&hash, &mask)
}

/// MariaDB's client_ed25519: a signature of the challenge. The password takes the place of a random
/// key.
pub(super) fn ed25519(password: &[u8], challenge: &[u8]) -> Vec<u8> {
    let secret = ExpandedSecretKey::from_bytes(&Sha512::digest(password).into());
    let public = VerifyingKey::from(&secret);
    raw_sign::<Sha512>(&secret, challenge, &public).to_bytes().to_vec()
}

/// Size of the challenge of client_ed25519.
pub(super) const ED25519_CHALLENGE_BYTES: usize = SECRET_KEY_LENGTH;

/// The password itself, for a channel that nobody else can read.
pub(super) fn cleartext(password: &[u8]) -> Vec<u8> {
    [password, b"\0"].concat()
}

/// The password for a channel that others can read. None if it is too long for the key.
pub(super) fn encrypted(
    password: &[u8],
    challenge: &[u8],
    key: &PublicKey,
    seed: &[u8; rsa::SEED_BYTES],
) -> Option<Vec<u8>> {
    let mask: Vec<u8> = challenge.iter().copied().cycle().take(password.len() + 1).collect();
    key.encrypt(&xored(&cleartext(password), &mask), seed)
}

fn xored(one: &[u8], other: &[u8]) -> Vec<u8> {
    one.iter().zip(other).map(|(one, other)| one ^ other).collect()
}

#[cfg(test)]
mod tests {
    use super::{caching_sha2, ed25519, native};
    use mysql_common::auth::plugins::{
        ChallengeResponsePlugin, Context, Response, caching_sha2_password::CachingSha2Password,
        client_ed25519::ClientEd25519, mysql_native_password::MysqlNativePassword,
    };

    /// The arguments of the other client.
    struct Login<'a>(&'a [u8], &'a [u8]);

    impl Context for Login<'_> {
        fn pass(&self) -> &[u8] {
            self.0
        }
        fn is_ipc_transport(&self) -> bool {
            false
        }
        fn is_tls_transport(&self) -> bool {
            false
        }
        fn scramble(&self) -> &[u8] {
            self.1
        }
        fn server_key_pem(&self) -> Option<&[u8]> {
            None
        }
    }

    fn reference(
        mut method: impl ChallengeResponsePlugin,
        password: &[u8],
        challenge: &[u8],
    ) -> Vec<u8> {
        match method.run(Login(password, challenge), challenge).expect("a good challenge") {
            Response::Next { packet } | Response::Last { packet } => packet.expect("a proof"),
        }
    }

    #[test]
    fn proofs_are_what_an_independent_client_makes_of_them() {
        let short: Vec<u8> = (60..80).collect();
        let long: Vec<u8> = (60..92).collect();
        let very_long = "a password of many bytes ".repeat(20);
        for password in ["secret", "h\u{e4}user", "x", &very_long] {
            let password = password.as_bytes();
            let expected = reference(MysqlNativePassword::default(), password, &short);
            assert_eq!(native(password, &short), expected);
            let expected = reference(CachingSha2Password::default(), password, &short);
            assert_eq!(caching_sha2(password, &short), expected);
            let expected = reference(ClientEd25519::default(), password, &long);
            assert_eq!(ed25519(password, &long), expected);
        }
    }
}
