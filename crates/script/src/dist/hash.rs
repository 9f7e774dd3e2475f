//! Hashes of one 64-bit number, bit for bit those of pgbench.

/// The prime and the start of FNV-1a with 64 bits (Fowler, Noll, Vo).
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;
const FNV_START: u64 = 0xcbf2_9ce4_8422_2325;

/// The multiplier and the shift of `MurmurHash64A` (Appleby).
const MURMUR_FACTOR: u64 = 0xc6a4_a793_5bd1_e995;
const MURMUR_SHIFT: u32 = 47;

/// FNV-1a over the number's eight octets, the lowest first.
pub fn fnv1a(number: i64, seed: i64) -> i64 {
    let start = FNV_START ^ seed as u64;
    let fold = |hash: u64, octet: u8| (hash ^ u64::from(octet)).wrapping_mul(FNV_PRIME);
    number.to_le_bytes().into_iter().fold(start, fold) as i64
}

/// `MurmurHash64A` of the number's eight octets.
pub(crate) fn murmur2(number: i64, seed: i64) -> i64 {
    let start = seed as u64 ^ MURMUR_FACTOR.wrapping_mul(size_of::<i64>() as u64);
    let block = scatter((number as u64).wrapping_mul(MURMUR_FACTOR));
    let mixed = (start ^ block).wrapping_mul(MURMUR_FACTOR);
    let last = scatter(mixed);
    (last ^ (last >> MURMUR_SHIFT)) as i64
}

/// Brings the high bits down and multiplies.
fn scatter(bits: u64) -> u64 {
    (bits ^ (bits >> MURMUR_SHIFT)).wrapping_mul(MURMUR_FACTOR)
}
