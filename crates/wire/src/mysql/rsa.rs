//! Encrypts a password with the server's public key: RSA with OAEP, SHA-1 and no label, as MySQL
//! requires (RFC 8017, section 7.1).
//!
//! Only encryption with a public key, of a secret that is sent once: the uncritical part of RSA.
//! The key comes from the server, so its size is limited.

use crate::der::{self, BIT_STRING, INTEGER, SEQUENCE};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use num_bigint::BigUint;
use sha1::{Digest, Sha1};

const HASH_BYTES: usize = 20;

/// Size of the random seed of an encryption.
pub(super) const SEED_BYTES: usize = HASH_BYTES;

/// Keys of 1024 to 16384 bits.
const MODULUS_BYTES: std::ops::RangeInclusive<usize> = 128..=2048;

/// Larger than any exponent in use; the work grows with it.
const EXPONENT_BYTES_MAX: usize = 4;

const PEM_BEGIN: &str = "-----BEGIN PUBLIC KEY-----";
const PEM_END: &str = "-----END PUBLIC KEY-----";

/// A server's public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PublicKey {
    modulus: BigUint,
    modulus_bytes: usize,
    exponent: BigUint,
}

impl PublicKey {
    /// Reads a key in PEM, as servers send it and keep it in `public_key.pem`.
    pub(super) fn from_pem(pem: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(pem).ok()?;
        let (_, body) = text.split_once(PEM_BEGIN)?;
        let (body, _) = body.split_once(PEM_END)?;
        let base64: String = body.split_ascii_whitespace().collect();
        Self::from_der(&STANDARD.decode(base64).ok()?)
    }

    fn from_der(bytes: &[u8]) -> Option<Self> {
        let (info, _) = der::element(bytes, SEQUENCE)?;
        let (_algorithm, info) = der::element(info, SEQUENCE)?;
        let (bits, _) = der::element(info, BIT_STRING)?;
        let (numbers, _) = der::element(bits.strip_prefix(b"\0")?, SEQUENCE)?;
        let (modulus, rest) = der::element(numbers, INTEGER)?;
        let (exponent, _) = der::element(rest, INTEGER)?;
        let (modulus, exponent) = (without_zeros(modulus), without_zeros(exponent));
        let is_usable = MODULUS_BYTES.contains(&modulus.len())
            && (1..=EXPONENT_BYTES_MAX).contains(&exponent.len());
        is_usable.then(|| Self {
            modulus: BigUint::from_bytes_be(modulus),
            modulus_bytes: modulus.len(),
            exponent: BigUint::from_bytes_be(exponent),
        })
    }

    /// None if the message is too long for the key.
    pub(super) fn encrypt(&self, message: &[u8], seed: &[u8; SEED_BYTES]) -> Option<Vec<u8>> {
        let padded = self.padded(message, seed)?;
        let number = BigUint::from_bytes_be(&padded).modpow(&self.exponent, &self.modulus);
        let digits = number.to_bytes_be();
        let mut encrypted = vec![0; self.modulus_bytes - digits.len()];
        encrypted.extend_from_slice(&digits);
        Some(encrypted)
    }

    /// A zero byte, the masked seed, and the masked block: hash of the empty label, zeros, a one,
    /// the message.
    fn padded(&self, message: &[u8], seed: &[u8; SEED_BYTES]) -> Option<Vec<u8>> {
        let block_bytes = self.modulus_bytes - 1 - HASH_BYTES;
        let zeros = block_bytes.checked_sub(HASH_BYTES + 1 + message.len())?;
        let mut block = Sha1::digest(b"").to_vec();
        block.resize(HASH_BYTES + zeros, 0);
        block.push(1);
        block.extend_from_slice(message);
        hide(&mut block, seed);
        let mut seed = *seed;
        hide(&mut seed, &block);
        Some([&[0], &seed[..], &block].concat())
    }
}

/// XORs bytes with the mask generated from a seed (MGF1).
fn hide(bytes: &mut [u8], seed: &[u8]) {
    for (number, part) in (0_u32..).zip(bytes.chunks_mut(HASH_BYTES)) {
        let mask = Sha1::new().chain_update(seed).chain_update(number.to_be_bytes()).finalize();
        part.iter_mut().zip(mask).for_each(|(byte, mask)| *byte ^= mask);
    }
}

/// DER prepends a zero byte to a number whose first bit is one.
fn without_zeros(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|&&byte| byte == 0).count();
    &number[zeros..]
}

#[cfg(test)]
mod tests {
    use super::{PublicKey, SEED_BYTES};
    use mysql_common::crypto::rsa::{Pkcs1OaepPadding, PublicKey as TheirKey, Rng};

    const KEY: &str = include_str!("../../tests/mysql/rsa_public.pem");

    /// Returns fixed bytes.
    struct Fixed;

    impl Rng for Fixed {
        type Error = std::convert::Infallible;

        fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
            bytes.fill(7);
            Ok(())
        }
    }

    #[test]
    fn an_independent_client_encrypts_the_same() {
        let reference = TheirKey::from_pem(KEY).expect("a good key");
        let own = PublicKey::from_pem(KEY.as_bytes()).expect("a good key");
        for message in [&b"secret\0"[..], b"\0", &[0xab; 86]] {
            let expected = reference.encrypt_block(message, Pkcs1OaepPadding::new(Fixed));
            let expected = expected.expect("it fits");
            assert_eq!(own.encrypt(message, &[7; SEED_BYTES]), Some(expected));
        }
    }

    #[test]
    fn a_message_up_to_the_keys_room_is_taken() {
        let key = PublicKey::from_pem(KEY.as_bytes()).expect("a good key");
        let room = 128 - 42;
        assert_eq!(key.encrypt(&vec![1; room], &[7; SEED_BYTES]).expect("it fits").len(), 128);
        assert_eq!(key.encrypt(&vec![1; room + 1], &[7; SEED_BYTES]), None);
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let key = KEY.as_bytes();
        for end in 0..key.len() - 2 {
            assert_eq!(PublicKey::from_pem(&key[..end]), None);
        }
        let whole = PublicKey::from_pem(key);
        for at in 0..key.len() {
            let mut spoilt = key.to_vec();
            spoilt[at] ^= 4;
            let _ = PublicKey::from_pem(&spoilt).map(|key| key.encrypt(b"x", &[7; SEED_BYTES]));
        }
        assert!(whole.is_some());
    }
}
