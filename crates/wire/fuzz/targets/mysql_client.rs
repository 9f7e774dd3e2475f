//! Any bytes from a server: events or an error, no panic, no more memory than was received.
//!
//! The first byte of the input chooses the query mode, the channel and the size of the pieces in
//! which the rest arrives; the client keeps sending requests meanwhile.

#![no_main]

use dbdyno_model::{Flow, Keep, PreparedId, QueryMode, Request, Statement, StatementId, Value};
use dbdyno_wire::mysql::{Channel, Config, Connection, Event, Opening};
use libfuzzer_sys::fuzz_target;
use std::sync::Arc;

const MODES: [QueryMode; 2] = [QueryMode::Prepared, QueryMode::Simple];
const CHANNELS: [Channel; 3] =
    [Channel::Unix, Channel::Plain, Channel::WantsTls { required: false }];

fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else { return };
    let mut client = Client::new(usize::from(choice));
    for piece in bytes.chunks(1 + usize::from(choice)) {
        if !client.take(piece) {
            break;
        }
    }
    assert!(client.connection.receive_space().len() <= (8 << 10) + 2 * data.len());
});

struct Client {
    connection: Connection,
    out: Vec<u8>,
    requests: usize,
}

impl Client {
    fn new(choice: usize) -> Self {
        let config = Config {
            user: "u".into(),
            database: "d".into(),
            password: Some("secret".into()),
            query_mode: MODES[choice % MODES.len()],
            attributes: vec![],
            local_infile: true,
            session_commands: vec!["set @a = 1".into()],
        };
        let statements = ["select $1", "update t set a = $1", "select 1"].map(statement);
        let mut connection = Connection::new(Arc::new(config), statements.into());
        let channel = CHANNELS[choice % CHANNELS.len()];
        let opening = Opening { channel, nonce: [7; 32] };
        let mut out = Vec::new();
        connection.start(opening, &mut out);
        Self { connection, out, requests: 0 }
    }

    /// Receives a piece and sends another request if one was answered; false when it is over.
    fn take(&mut self, piece: &[u8]) -> bool {
        assert_eq!(self.connection.feed(piece), piece.len());
        let (mut ready, mut answered, mut encrypts, mut loads) = (false, false, false, false);
        loop {
            match self.connection.poll(&mut self.out) {
                Ok(Some(Event::Ready(_))) => ready = true,
                Ok(Some(Event::StartTls)) => encrypts = true,
                Ok(Some(Event::RowsWanted)) => loads = true,
                Ok(Some(Event::Fatal(_))) | Err(_) => return false,
                Ok(Some(_)) => answered = true,
                Ok(None) => break,
            }
        }
        if encrypts {
            self.connection.encrypted(&mut self.out);
        }
        if loads {
            self.connection.rows(b"1\n", &mut self.out);
            self.connection.rows_done(&mut self.out);
        }
        if ready && !self.connection.prepare_all(&mut self.out) || answered {
            self.request_next();
        }
        self.out.clear();
        true
    }

    fn request_next(&mut self) {
        let statement = StatementId((self.requests % 3) as u32);
        let keep = [Keep::AllRows, Keep::None, Keep::LastRow, Keep::None][self.requests % 4];
        let flow = if self.requests % 5 < 2 { Flow::Queue } else { Flow::Wait };
        let parameters = &[Value::Int(7)][..];
        let (prepared, sql) = (PreparedId(0), "select ?");
        let request = match self.requests % 9 {
            4 => return self.load(statement),
            5 => Request::Text { statement, sql: "select 1; select 2", keep },
            6 => Request::Sync { statement, flow },
            7 => Request::Prepare { statement, prepared, sql },
            8 => Request::Execute { statement, prepared, sql, parameters, keep },
            _ => Request::Parameterized { statement, parameters, keep, flow },
        };
        self.connection.request(&request, &mut self.out);
        self.requests += 1;
    }

    fn load(&mut self, statement: StatementId) {
        self.connection.rows_begin(statement, "load data local infile 'x'", &mut self.out);
        self.requests += 1;
    }
}

fn statement(sql: &str) -> Statement {
    Statement { sql: sql.into(), parameters: 1, ..Statement::default() }
}
