//! The login, from the server's greeting to its acceptance: capabilities, encryption,
//! authentication.
//!
//! Sends the server no more than it asks for, and refuses methods that we do not support, with
//! their names. The password itself is sent only over a channel that nobody else can read, or
//! encrypted with the server's public key. A key that was received over an insecure channel is
//! trusted without proof, as by every client that was given none.

use super::capability::{CONNECT_ATTRS, CONNECT_WITH_DB, LOCAL_FILES, NEEDED, SSL, WELCOME};
use super::config::{Channel, Config, Opening};
use super::fields::Fields;
use super::greeting::{CHALLENGE_BYTES, Greeting};
use super::method::{self, AuthContext, AuthResponse, Method};
use super::packet::{self, ERROR};
use super::rsa::{PublicKey, SEED_BYTES};
use super::session_facts::SessionFacts;
use super::{capability, command, error_packet};
use crate::ProtocolError;
use crate::event::Outcome;
use dbdyno_model::{FailureClass, ServerError};

/// The first byte of the server's packet after a proof.
const OK: u8 = 0;
const MORE: u8 = 1;
const OTHER_METHOD: u8 = 0xfe;

/// The stage of the login.
#[derive(Debug)]
enum Stage {
    /// The server speaks first.
    AwaitingGreeting,
    /// The request for encryption has been sent. Continues when the owner has encrypted the
    /// channel.
    AwaitingTls(Greeting),
    /// A proof has been sent: next comes acceptance, refusal, a request for more, or for another
    /// method.
    Proving(Method),
    /// The server's public key comes next.
    AwaitingKey(Method),
    /// The server has accepted.
    Done,
}

impl Stage {
    fn name(&self) -> &'static str {
        match self {
            Self::AwaitingGreeting => "AwaitingGreeting",
            Self::AwaitingTls(_) => "AwaitingTls",
            Self::Proving(_) => "Proving",
            Self::AwaitingKey(_) => "AwaitingKey",
            Self::Done => "Done",
        }
    }
}

/// A login in progress.
#[derive(Debug)]
pub(super) struct Login {
    stage: Stage,
    channel: Channel,
    seed: [u8; SEED_BYTES],
    is_encrypted: bool,
    /// The capabilities that both sides have.
    capabilities: u32,
    /// The challenge for the proof.
    challenge: Vec<u8>,
    /// The number of the next packet.
    pub(super) sequence: u8,
}

impl Login {
    pub(super) fn new(opening: Opening) -> Self {
        let mut seed = [0; SEED_BYTES];
        seed.copy_from_slice(&opening.nonce[..SEED_BYTES]);
        Self {
            stage: Stage::AwaitingGreeting,
            channel: opening.channel,
            seed,
            is_encrypted: false,
            capabilities: 0,
            challenge: Vec::new(),
            sequence: 0,
        }
    }

    /// Whether the owner must encrypt the channel before the login continues.
    pub(super) fn awaits_tls(&self) -> bool {
        matches!(self.stage, Stage::AwaitingTls(_))
    }

    /// Whether both sides have agreed to end result sets without EOF packets.
    pub(super) fn deprecates_eof(&self) -> bool {
        self.capabilities & capability::DEPRECATE_EOF != 0
    }

    pub(super) fn on_packet(
        &mut self,
        body: &[u8],
        config: &Config,
        session: &mut SessionFacts,
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, ProtocolError> {
        let tag = *body.first().ok_or(ProtocolError::Malformed("an empty packet"))?;
        match (tag, &self.stage) {
            (ERROR, _) => error_packet::read(body).map(|error| Some(Outcome::Fatal(error))),
            (_, Stage::AwaitingGreeting) => self.on_greeting(body, config, session, out),
            (OK, Stage::Proving(_)) => {
                self.stage = Stage::Done;
                Ok(Some(Outcome::Ready))
            }
            (OTHER_METHOD, Stage::Proving(_) | Stage::AwaitingKey(_)) => {
                self.on_other_method(&body[1..], config, out)
            }
            (MORE, &Stage::Proving(method)) => {
                let context = self.auth_context(config);
                let answer = method.continue_with(&body[1..], context)?;
                Ok(self.send_answer(method, answer, out))
            }
            (MORE, &Stage::AwaitingKey(method)) => {
                let key = PublicKey::from_pem(&body[1..])
                    .ok_or(ProtocolError::Malformed("an invalid public key"))?;
                let context = self.auth_context(config);
                let answer = method::encrypted(&key, &self.challenge, context);
                Ok(self.send_answer(method, answer, out))
            }
            (tag, stage) => Err(ProtocolError::Unexpected { tag, state: stage.name() }),
        }
    }

    fn auth_context<'a>(&'a self, config: &'a Config) -> AuthContext<'a> {
        let is_encrypted = self.is_encrypted;
        let is_secret = is_encrypted || self.channel == Channel::Unix;
        AuthContext { config, is_encrypted, is_secret, seed: &self.seed }
    }

    fn on_greeting(
        &mut self,
        body: &[u8],
        config: &Config,
        session: &mut SessionFacts,
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, ProtocolError> {
        let greeting;
        (greeting, *session) = Greeting::read(body)?;
        if greeting.is_too_old() {
            return Ok(Some(refused("the server is too old: MySQL 5.5 or newer is needed")));
        }
        self.capabilities = greeting.common(wanted(config));
        match self.channel {
            Channel::WantsTls { .. } if session.tls_offered => {
                self.capabilities |= SSL;
                command::request_for_tls(self.capabilities, self.sequence, out);
                self.stage = Stage::AwaitingTls(greeting);
                Ok(Some(Outcome::StartTls))
            }
            Channel::WantsTls { required: true } => Ok(Some(Outcome::Fatal(no_tls()))),
            _ => self.log_in(&greeting, config, out),
        }
    }

    /// The channel is encrypted now. In any other stage this is a mistake of the caller and has no
    /// effect.
    pub(super) fn encrypted(&mut self, config: &Config, out: &mut Vec<u8>) {
        let Stage::AwaitingTls(greeting) = &self.stage else { return };
        let greeting = greeting.clone();
        self.is_encrypted = true;
        self.sequence = self.sequence.wrapping_add(1);
        // Every method works over such a channel, and the greeting has a complete challenge.
        let _ = self.log_in(&greeting, config, out);
    }

    /// Answers the greeting with a first proof. If we do not know the method, or its challenge does
    /// not fit into a greeting, the server requests the method again if necessary.
    fn log_in(
        &mut self,
        greeting: &Greeting,
        config: &Config,
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, ProtocolError> {
        self.challenge.clone_from(&greeting.challenge);
        let method = Method::named(&greeting.method)
            .filter(|method| *method != Method::Ed25519)
            .unwrap_or(Method::Native);
        let answer = method.begin(&self.challenge, self.auth_context(config))?;
        let proof = match self.encode_answer(method, answer) {
            Ok(bytes) => bytes.unwrap_or_default(),
            Err(refusal) => return Ok(Some(refusal)),
        };
        let login = command::Login { method: method.name(), proof: &proof, config };
        command::login(self.capabilities, self.sequence, login, out);
        self.sequence = self.sequence.wrapping_add(1);
        Ok(None)
    }

    /// The user's authentication method is not the server's default.
    fn on_other_method(
        &mut self,
        rest: &[u8],
        config: &Config,
        out: &mut Vec<u8>,
    ) -> Result<Option<Outcome>, ProtocolError> {
        let mut fields = Fields(rest);
        let name = fields.text_bytes();
        let Some(method) = Method::named(name) else { return Ok(Some(unknown_method(name))) };
        let answer = method.begin(fields.0, self.auth_context(config))?;
        self.challenge = fields.0[..CHALLENGE_BYTES].to_vec();
        Ok(self.send_answer(method, answer, out))
    }

    /// Sends what the method requires.
    fn send_answer(
        &mut self,
        method: Method,
        answer: AuthResponse,
        out: &mut Vec<u8>,
    ) -> Option<Outcome> {
        match self.encode_answer(method, answer) {
            Ok(None) => None,
            Ok(Some(bytes)) => {
                packet::write(out, self.sequence, |out| out.extend_from_slice(&bytes));
                self.sequence = self.sequence.wrapping_add(1);
                None
            }
            Err(refusal) => Some(refusal),
        }
    }

    /// The bytes of an answer, if there are any; sets the next stage.
    fn encode_answer(
        &mut self,
        method: Method,
        answer: AuthResponse,
    ) -> Result<Option<Vec<u8>>, Outcome> {
        match answer {
            AuthResponse::Proof(proof) => {
                self.stage = Stage::Proving(method);
                Ok(Some(proof))
            }
            AuthResponse::KeyRequest(request) => {
                self.stage = Stage::AwaitingKey(method);
                Ok(Some(vec![request]))
            }
            AuthResponse::Nothing => Ok(None),
            AuthResponse::Refusal(why) => Err(refused(&why)),
        }
    }
}

/// The capabilities that we would use.
fn wanted(config: &Config) -> u32 {
    let mut wanted = NEEDED | WELCOME;
    for (is_wanted, capability) in [
        (!config.database.is_empty(), CONNECT_WITH_DB),
        (!config.attributes.is_empty(), CONNECT_ATTRS),
        (config.local_infile, LOCAL_FILES),
    ] {
        wanted |= if is_wanted { capability } else { 0 };
    }
    wanted
}

fn unknown_method(name: &[u8]) -> Outcome {
    // The method from before 4.1 has no name in the protocol.
    let name = if name.is_empty() { b"mysql_old_password" } else { name };
    refused(&format!(
        "the server asks for the authentication method {}, which is not supported",
        String::from_utf8_lossy(name)
    ))
}

/// The code is that of all disagreements about encryption.
fn no_tls() -> ServerError {
    let message = "the server does not support TLS, but it was required";
    ServerError { code: "tls".into(), ..ServerError::connection_lost(message) }
}

fn refused(message: &str) -> Outcome {
    Outcome::Fatal(ServerError::new(FailureClass::Permission, "login", message))
}
