//! How much one key of TLS 1.2 may encrypt: as much as rustls allows, but counted in blocks.
//!
//! TLS 1.3 renews its keys. TLS 1.2 cannot, and a connection has to end before AES-GCM has encrypted
//! too much with one. The bound is on blocks of 16 bytes; rustls counts records, takes each for one
//! of the largest size, and drops what is written after 2^24 of them: for small requests a hundred
//! times too early, minutes into a run. (OpenSSL, and so every other client, has no bound at all.)

use rustls::crypto::{CryptoProvider, ring};
use rustls::{CipherSuiteCommon, SupportedCipherSuite, Tls12CipherSuite};
use std::sync::LazyLock;

const BLOCK_BYTES: usize = 16;
const RECORD_BYTES_MAX: usize = 1 << 14;
/// What is counted for a record besides its text: see [`CipherSuiteCommon::confidentiality_limit`],
/// by section 5.1.1 of draft-irtf-cfrg-aead-limits-08.
const BLOCKS_OF_A_RECORD: usize = 2;

/// rustls's suites, of which those of TLS 1.2 do not count their records. They live as long as the
/// process, as rustls requires.
static SUITES: LazyLock<Vec<SupportedCipherSuite>> =
    LazyLock::new(|| ring::DEFAULT_CIPHER_SUITES.iter().copied().map(without_limit).collect());

/// Cryptography for sessions whose blocks are counted by their owner.
pub(super) fn provider() -> CryptoProvider {
    CryptoProvider { cipher_suites: SUITES.clone(), ..ring::default_provider() }
}

fn without_limit(suite: SupportedCipherSuite) -> SupportedCipherSuite {
    let SupportedCipherSuite::Tls12(suite) = suite else { return suite };
    let common = CipherSuiteCommon { confidentiality_limit: u64::MAX, ..suite.common };
    SupportedCipherSuite::Tls12(Box::leak(Box::new(Tls12CipherSuite { common, ..*suite })))
}

/// The blocks that a key may encrypt: those of as many of the largest records as rustls allows, which
/// are 256 GiB with AES-GCM, or 1.9 billion requests of 100 bytes.
pub(super) fn blocks_max(suite: SupportedCipherSuite) -> u64 {
    let known = ring::DEFAULT_CIPHER_SUITES.iter().find(|known| **known == suite);
    match known {
        Some(SupportedCipherSuite::Tls12(suite)) => {
            suite.common.confidentiality_limit.saturating_mul(blocks(RECORD_BYTES_MAX))
        }
        _ => u64::MAX,
    }
}

/// The blocks that encrypting this many bytes takes.
pub(super) fn blocks(bytes: usize) -> u64 {
    let records = bytes.div_ceil(RECORD_BYTES_MAX);
    (bytes.div_ceil(BLOCK_BYTES) + records * BLOCKS_OF_A_RECORD) as u64
}

#[cfg(test)]
mod tests {
    use super::{RECORD_BYTES_MAX, SUITES, blocks, blocks_max, ring};
    use rustls::SupportedCipherSuite;

    #[test]
    fn what_rustls_limits_is_counted_here_instead() {
        for (ours, theirs) in SUITES.iter().zip(ring::DEFAULT_CIPHER_SUITES) {
            assert_eq!(ours.suite(), theirs.suite());
            match (ours, theirs) {
                (SupportedCipherSuite::Tls12(ours), SupportedCipherSuite::Tls12(theirs)) => {
                    assert_eq!(ours.common.confidentiality_limit, u64::MAX);
                    let is_limited = theirs.common.confidentiality_limit < u64::MAX;
                    assert_eq!(blocks_max((*ours).into()) < u64::MAX, is_limited);
                }
                _ => assert_eq!(blocks_max(*ours), u64::MAX),
            }
        }
    }

    #[test]
    fn as_many_of_the_largest_records_as_rustls_allows() {
        let suite = ring::cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256;
        assert_eq!(blocks_max(suite), blocks(RECORD_BYTES_MAX) << 24);
    }

    #[test]
    fn a_partial_block_and_a_partial_record_count_as_whole_ones() {
        assert_eq!([0, 1, 16, 17].map(blocks), [0, 3, 3, 4]);
        assert_eq!(blocks(RECORD_BYTES_MAX + 1), blocks(RECORD_BYTES_MAX) + blocks(1));
    }
}
