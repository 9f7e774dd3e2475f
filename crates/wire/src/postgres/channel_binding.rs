//! The binding of a login to its encrypted channel: `tls-server-end-point` (RFC 5929).
//!
//! It is a hash of the server's certificate, computed with the hash function of the certificate's
//! own signature, or with SHA-256 where that is MD5 or SHA-1. Of the certificate only the signature
//! algorithm's name is read.

use crate::der::{OBJECT_IDENTIFIER, SEQUENCE, element};
use sha2::{Digest, Sha256, Sha384, Sha512};

/// The first field of the parameters of RSASSA-PSS: its hash function.
const PSS_HASH: u8 = 0xa0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

/// Object identifiers (their encoded bytes) of signatures and, for PSS, of hash functions.
const HASHES: &[(&[u8], Hash)] = &[
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x04", Hash::Sha256), // md5WithRSAEncryption
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x05", Hash::Sha256), // sha1WithRSAEncryption
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b", Hash::Sha256), // sha256WithRSAEncryption
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0c", Hash::Sha384), // sha384WithRSAEncryption
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0d", Hash::Sha512), // sha512WithRSAEncryption
    (b"\x2a\x86\x48\xce\x3d\x04\x01", Hash::Sha256),         // ecdsa-with-SHA1
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x02", Hash::Sha256),     // ecdsa-with-SHA256
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x03", Hash::Sha384),     // ecdsa-with-SHA384
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x04", Hash::Sha512),     // ecdsa-with-SHA512
    (b"\x2b\x0e\x03\x02\x1a", Hash::Sha256),                 // sha1
    (b"\x60\x86\x48\x01\x65\x03\x04\x02\x01", Hash::Sha256), // sha256
    (b"\x60\x86\x48\x01\x65\x03\x04\x02\x02", Hash::Sha384), // sha384
    (b"\x60\x86\x48\x01\x65\x03\x04\x02\x03", Hash::Sha512), // sha512
];

const RSASSA_PSS: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0a";

/// The channel binding of a server with this certificate (DER). None if its signature algorithm
/// does not use a single hash function, such as Ed25519.
pub fn tls_server_end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    Some(match signature_hash(certificate)? {
        Hash::Sha256 => Sha256::digest(certificate).to_vec(),
        Hash::Sha384 => Sha384::digest(certificate).to_vec(),
        Hash::Sha512 => Sha512::digest(certificate).to_vec(),
    })
}

fn signature_hash(certificate: &[u8]) -> Option<Hash> {
    let (fields, _) = element(certificate, SEQUENCE)?;
    let (_to_be_signed, fields) = element(fields, SEQUENCE)?;
    let (algorithm, _) = element(fields, SEQUENCE)?;
    let (identifier, parameters) = element(algorithm, OBJECT_IDENTIFIER)?;
    if identifier == RSASSA_PSS { pss_hash(parameters) } else { hash_of(identifier) }
}

/// The PSS parameters contain the hash function; the default is SHA-1.
fn pss_hash(parameters: &[u8]) -> Option<Hash> {
    let (fields, _) = element(parameters, SEQUENCE)?;
    let Some((hash, _)) = element(fields, PSS_HASH) else { return Some(Hash::Sha256) };
    let (algorithm, _) = element(hash, SEQUENCE)?;
    hash_of(element(algorithm, OBJECT_IDENTIFIER)?.0)
}

fn hash_of(identifier: &[u8]) -> Option<Hash> {
    HASHES.iter().find(|(known, _)| *known == identifier).map(|&(_, hash)| hash)
}

#[cfg(test)]
mod tests {
    use super::{OBJECT_IDENTIFIER, PSS_HASH, RSASSA_PSS, SEQUENCE, tls_server_end_point};

    fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
        let contents = parts.concat();
        [&[tag, contents.len() as u8][..], &contents].concat()
    }

    fn certificate(algorithm: &[u8]) -> Vec<u8> {
        let body = der(SEQUENCE, &[b"body"]);
        der(SEQUENCE, &[&body, &der(SEQUENCE, &[algorithm])])
    }

    fn named(identifier: &[u8]) -> Vec<u8> {
        der(OBJECT_IDENTIFIER, &[identifier])
    }

    fn binding_bytes(algorithm: &[u8]) -> Option<usize> {
        tls_server_end_point(&certificate(algorithm)).map(|hash| hash.len())
    }

    #[test]
    fn the_signature_names_the_hash() {
        assert_eq!(binding_bytes(&named(b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x05")), Some(32));
        assert_eq!(binding_bytes(&named(b"\x2a\x86\x48\xce\x3d\x04\x03\x03")), Some(48));
        assert_eq!(binding_bytes(&named(b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0d")), Some(64));
        assert_eq!(binding_bytes(&named(b"\x2b\x65\x70")), None, "Ed25519");
    }

    #[test]
    fn pss_names_it_in_its_parameters() {
        let sha512 = der(SEQUENCE, &[&named(b"\x60\x86\x48\x01\x65\x03\x04\x02\x03")]);
        let explicit = der(SEQUENCE, &[&der(PSS_HASH, &[&sha512])]);
        let silent = der(SEQUENCE, &[]);
        let pss = named(RSASSA_PSS);
        assert_eq!(binding_bytes(&[&pss[..], &explicit].concat()), Some(64));
        assert_eq!(binding_bytes(&[&pss[..], &silent].concat()), Some(32));
    }

    #[test]
    fn no_certificate_no_binding() {
        let whole = certificate(&named(b"\x2a\x86\x48\xce\x3d\x04\x03\x02"));
        for end in 0..whole.len() {
            assert_eq!(tls_server_end_point(&whole[..end]), None);
        }
        assert_eq!(tls_server_end_point(b"\x30\x84\xff\xff\xff\xff"), None);
    }
}
