//! The server's greeting.

use super::capability::{self, LONG_PASSWORD};
use super::fields::Fields;
use super::session_facts::SessionFacts;
use crate::ProtocolError;

/// The only version since 3.21.
const PROTOCOL_VERSION: u8 = 10;

/// Size of the challenge of all older authentication methods.
pub(super) const CHALLENGE_BYTES: usize = 20;

/// The server's first packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Greeting {
    pub(super) capabilities: u32,
    /// The challenge for the proof of the password.
    pub(super) challenge: Vec<u8>,
    /// The server's default authentication method.
    pub(super) method: Vec<u8>,
}

impl Greeting {
    pub(super) fn read(body: &[u8]) -> Result<(Self, SessionFacts), ProtocolError> {
        let mut fields = Fields(body);
        if fields.u8()? != PROTOCOL_VERSION {
            return Err(ProtocolError::Malformed("the greeting of another protocol"));
        }
        let version = String::from_utf8_lossy(fields.text_bytes()).into_owned();
        let connection_id = fields.u32()?;
        let first_part = fields.bytes(8)?;
        fields.u8()?;
        let low = fields.u16()?;
        fields.bytes(3)?; // collation and status
        let capabilities = u32::from(low) | u32::from(fields.u16()?) << 16;
        let challenge_bytes = fields.u8()?;
        fields.bytes(10)?;
        let second_part = fields.bytes(usize::from(challenge_bytes).saturating_sub(8).max(13))?;
        let mut challenge = [first_part, second_part].concat();
        challenge.truncate(CHALLENGE_BYTES);
        let method = fields.text_bytes().to_vec();
        let session =
            SessionFacts::new(connection_id, &version, capabilities & capability::SSL != 0);
        Ok((Self { capabilities, challenge, method }, session))
    }

    /// Whether it lacks capabilities that we require.
    pub(super) fn is_too_old(&self) -> bool {
        self.capabilities & capability::NEEDED != capability::NEEDED
    }

    /// The capabilities that both sides have.
    pub(super) fn common(&self, wanted: u32) -> u32 {
        // MariaDB does not send the first bit, but supports it.
        wanted & (self.capabilities | LONG_PASSWORD)
    }
}

#[cfg(test)]
mod tests {
    use super::Greeting;

    #[test]
    fn a_greeting_cut_short_is_malformed() {
        let whole =
            b"\x0a5.5.5-10.11.19-MariaDB\0\x07\0\0\0abcdefgh\0\xfe\xff\x2d\x02\0\xff\x81\x15\
            \0\0\0\0\0\0\x1d\0\0\0ABCDEFGHIJKL\0mysql_native_password\0";
        let (greeting, session) = Greeting::read(whole).expect("whole");
        assert_eq!(greeting.challenge, b"abcdefghABCDEFGHIJKL");
        assert_eq!(greeting.method, b"mysql_native_password");
        assert_eq!(greeting.capabilities, 0x81ff_fffe);
        assert_eq!(session.connection_id, 7);
        let fixed = whole.len() - b"mysql_native_password\0".len();
        for end in 0..fixed {
            assert!(Greeting::read(&whole[..end]).is_err(), "{end}");
        }
        assert!(Greeting::read(b"\x09old").is_err());
    }
}
