//! The login, from the startup message to the first `ReadyForQuery`: versions, authentication, the
//! session's parameters.
//!
//! Sends the server no more than it asks for, and refuses methods that we do not support, with
//! their names.

use super::config::{Channel, Config, Opening, Version};
use super::diagnostic::Diagnostic;
use super::encode;
use super::message::{Fields, Message};
use super::scram::{Binding, ClientFirst, ServerSignature};
use super::session_facts::SessionFacts;
use crate::ProtocolError;
use crate::event::Outcome;
use dbdyno_model::{FailureClass, ServerError};
use md5::{Digest, Md5};

/// The stage of the login.
#[derive(Debug)]
enum Stage {
    /// The startup message has been sent. The server may offer an older version, request
    /// authentication, accept without it, or refuse.
    StartupSent,
    /// A password, plain or hashed, has been sent: next comes acceptance or refusal.
    PasswordSent,
    /// SCRAM's first message has been sent: the challenge comes next.
    Challenging(ClientFirst),
    /// SCRAM's proof has been sent: the server's own proof comes next.
    Proving(ServerSignature),
    /// The server has proven itself: its acceptance comes next.
    Proven,
    /// Logged in. Parameters and the cancel key follow, and `ReadyForQuery` at the end.
    Settling,
}

impl Stage {
    fn name(&self) -> &'static str {
        match self {
            Self::StartupSent => "StartupSent",
            Self::PasswordSent => "PasswordSent",
            Self::Challenging(_) => "Challenging",
            Self::Proving(_) => "Proving",
            Self::Proven => "Proven",
            Self::Settling => "Settling",
        }
    }
}

/// A login in progress.
#[derive(Debug)]
pub(super) struct Login {
    stage: Stage,
    opening: Opening,
}

impl Login {
    /// Writes the startup message.
    pub(super) fn start(opening: Opening, config: &Config, out: &mut Vec<u8>) -> Self {
        let own = [
            ("user", config.user.as_str()),
            ("database", &config.database),
            ("client_encoding", "UTF8"),
        ];
        let further = config.parameters.iter().map(|(name, value)| (&name[..], &value[..]));
        encode::startup(opening.version.code(), own.into_iter().chain(further), out);
        Self { stage: Stage::StartupSent, opening }
    }

    /// Whether a newer version than the oldest was asked for, and nothing has been answered.
    pub(super) fn awaits_version(&self) -> bool {
        matches!(self.stage, Stage::StartupSent) && self.opening.version > Version::V3_0
    }

    pub(super) fn on_message(
        &mut self,
        message: Message<'_>,
        config: &Config,
        session: &mut SessionFacts,
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, ProtocolError> {
        match (message.tag, &self.stage) {
            (b'R', _) => self.on_authentication(message.body, config, out),
            (b'E', _) => self.on_error(message.body).map(Some),
            (b'N', _) => Ok(Some(Outcome::Notice(Diagnostic::parse(message.body)?))),
            (b'v', Stage::StartupSent) => self.on_version(message.body).map(|()| None),
            (b'S', Stage::Settling) => session.set_parameter(message.body).map(|()| None),
            (b'K', Stage::Settling) => session.set_key(message.body).map(|()| None),
            (b'Z', Stage::Settling) => {
                session.version = self.opening.version;
                Ok(Some(Outcome::Ready))
            }
            (tag, stage) => Err(ProtocolError::Unexpected { tag, state: stage.name() }),
        }
    }

    /// The server offers an older version than requested, as its full number or its minor number
    /// only; it is accepted.
    fn on_version(&mut self, body: &[u8]) -> Result<(), ProtocolError> {
        let mut fields = Fields(body);
        let minor = fields.u32()? & 0xffff;
        if fields.u32()? != 0 {
            return Err(ProtocolError::Malformed("a refusal of options that were not requested"));
        }
        if minor > self.opening.version.minor() {
            return Err(ProtocolError::Malformed("an offer of a newer version than requested"));
        }
        if minor < self.opening.version.minor() {
            self.opening.version = Version::V3_0;
        }
        Ok(())
    }

    fn on_error(&self, body: &[u8]) -> Result<Outcome, ProtocolError> {
        let error = ServerError::from(Diagnostic::parse(body)?);
        let about_version =
            self.awaits_version() && matches!(error.code.as_str(), "08P01" | "0A000");
        Ok(if about_version { Outcome::VersionRefused(error) } else { Outcome::Fatal(error) })
    }

    fn on_authentication(
        &mut self,
        body: &[u8],
        config: &Config,
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, ProtocolError> {
        let mut fields = Fields(body);
        let method = fields.u32()?;
        match (method, &self.stage) {
            (0, Stage::StartupSent | Stage::PasswordSent | Stage::Proven) => {
                self.stage = Stage::Settling;
                Ok(None)
            }
            (11, Stage::Challenging(client_first)) => {
                // Without a password the login would have ended earlier.
                let password = config.password.as_deref().unwrap_or_default();
                let (message, server_signature) = client_first.answer(fields.0, password)?;
                encode::sasl_response(&message, out);
                self.stage = Stage::Proving(server_signature);
                Ok(None)
            }
            (12, Stage::Proving(server_signature)) => {
                server_signature.check(fields.0)?;
                self.stage = Stage::Proven;
                Ok(None)
            }
            (_, Stage::StartupSent) => self.on_demand(method, fields, config, out),
            (_, stage) => Err(ProtocolError::Unexpected { tag: b'R', state: stage.name() }),
        }
    }

    /// The server requests authentication.
    fn on_demand(
        &mut self,
        method: u32,
        mut fields: Fields<'_>,
        config: &Config,
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, ProtocolError> {
        if !matches!(method, 3 | 5 | 10) {
            return Ok(Some(refused(format!(
                "the server asks for {}, which is not supported",
                method_name(method)
            ))));
        }
        let Some(password) = config.password.as_deref().filter(|word| !word.is_empty()) else {
            return Ok(Some(no_password()));
        };
        match method {
            3 => encode::password(password, out),
            5 => encode::password(&md5_hash(&config.user, password, fields.bytes(4)?), out),
            _ => return self.on_mechanisms(fields, out),
        }
        self.stage = Stage::PasswordSent;
        Ok(None)
    }

    /// The server offers SASL mechanisms; the best one that fits the channel is chosen.
    fn on_mechanisms(
        &mut self,
        mut fields: Fields<'_>,
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, ProtocolError> {
        let mut offered = Vec::new();
        loop {
            match fields.text_bytes()? {
                b"" => break,
                name => offered.push(name),
            }
        }
        let binding = match choose(&offered, &self.opening.channel) {
            Ok(binding) => binding,
            Err(why) => return Ok(Some(refused(why))),
        };
        let client_first = ClientFirst::new(binding, &self.opening.nonce);
        encode::sasl_initial(client_first.mechanism(), &client_first.message(), out);
        self.stage = Stage::Challenging(client_first);
        Ok(None)
    }
}

/// As libpq chooses with `channel_binding=prefer`.
fn choose(offered: &[&[u8]], channel: &Channel) -> Result<Binding, String> {
    let plus = offered.contains(&&b"SCRAM-SHA-256-PLUS"[..]);
    let plain = offered.contains(&&b"SCRAM-SHA-256"[..]);
    match channel {
        Channel::Plain if plus => {
            Err("the server offers SCRAM-SHA-256-PLUS over an unencrypted connection".into())
        }
        Channel::Encrypted { server_end_point: Some(binding) } if plus => {
            Ok(Binding::ServerEndPoint(binding.clone()))
        }
        Channel::Encrypted { server_end_point: Some(_) } if plain => Ok(Binding::NotOffered),
        _ if plain => Ok(Binding::Unsupported),
        _ => {
            let names = String::from_utf8_lossy(&offered.join(&b", "[..])).into_owned();
            Err(format!(
                "none of the SASL mechanisms that the server offers ({names}) is supported"
            ))
        }
    }
}

fn md5_hash(user: &str, password: &str, salt: &[u8]) -> String {
    let inner = Md5::new().chain_update(password).chain_update(user).finalize();
    format!("md5{}", hex(&Md5::new().chain_update(hex(&inner)).chain_update(salt).finalize()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(hex_digit).collect()
}

fn hex_digit(digit: u8) -> char {
    char::from(b"0123456789abcdef"[usize::from(digit & 15)])
}

fn method_name(method: u32) -> String {
    match method {
        2 => "Kerberos V5".into(),
        6 => "SCM credentials".into(),
        7 => "GSSAPI".into(),
        9 => "SSPI".into(),
        other => format!("authentication method {other}"),
    }
}

fn no_password() -> Outcome {
    refused(
        "the server asks for a password and none is given: put it into the URL, into the \
         environment variable PGPASSWORD, or into the password file"
            .into(),
    )
}

fn refused(message: String) -> Outcome {
    Outcome::Fatal(ServerError::new(FailureClass::Permission, "login", message))
}

#[cfg(test)]
mod tests {
    use super::{Binding, Channel, choose, md5_hash};
    use postgres_protocol::authentication;

    #[test]
    fn md5_is_what_an_independent_client_makes_of_it() {
        let reference = authentication::md5_hash(b"md5_user", b"password", *b"\x2a\x3d\x8f\xe0");
        assert_eq!(md5_hash("md5_user", "password", b"\x2a\x3d\x8f\xe0"), reference);
    }

    #[test]
    fn the_best_mechanism_that_fits_the_channel_is_taken() {
        const PLAIN: &[u8] = b"SCRAM-SHA-256";
        const PLUS: &[u8] = b"SCRAM-SHA-256-PLUS";
        let bound = Channel::Encrypted { server_end_point: Some(vec![1]) };
        let unbound = Channel::Encrypted { server_end_point: None };
        for (offered, channel, expected) in [
            (&[PLUS, PLAIN][..], &bound, Some(Binding::ServerEndPoint(vec![1]))),
            (&[PLUS, PLAIN], &unbound, Some(Binding::Unsupported)),
            (&[PLAIN], &bound, Some(Binding::NotOffered)),
            (&[PLAIN], &Channel::Plain, Some(Binding::Unsupported)),
            (&[PLUS, PLAIN], &Channel::Plain, None),
            (&[b"OAUTHBEARER"], &bound, None),
            (&[], &bound, None),
        ] {
            assert_eq!(choose(offered, channel).ok(), expected, "{offered:?} {channel:?}");
        }
    }
}
