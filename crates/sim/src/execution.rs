//! An execution that only sends requests, and records what it drew.

use dbdyno_model::{ConnectionId, Keep, Request, StatementId, Stream};
use dbdyno_script::{Execution, Fault, Resume, Step};
use std::sync::{Arc, Mutex};

/// What executions drew: one (first draw, script) for each transaction begun.
pub type Drawn = Arc<Mutex<Vec<(u64, usize)>>>;

/// Sends `requests` requests in each transaction.
pub struct Asking {
    requests: u32,
    left: u32,
    drawn: Drawn,
}

impl Asking {
    /// An execution that sends `requests` requests per transaction and records its draws in `drawn`.
    pub fn boxed(requests: u32, drawn: &Drawn) -> Box<dyn Execution> {
        Box::new(Self { requests, left: 0, drawn: Arc::clone(drawn) })
    }
}

impl Execution for Asking {
    fn can_move(&self) -> bool {
        true
    }

    fn begin(&mut self, script: usize, mut chance: Stream) {
        self.left = self.requests;
        self.drawn.lock().expect("no test thread panicked").push((chance.next_u64(), script));
    }

    fn restart(&mut self) {
        self.left = self.requests;
    }

    fn resume(&mut self, _: Resume<'_>) -> Result<Step<'_>, Fault> {
        if self.left == 0 {
            return Ok(Step::Done);
        }
        self.left -= 1;
        Ok(Step::Request(
            ConnectionId::FIRST,
            Request::Text { statement: StatementId(0), sql: "select", keep: Keep::None },
        ))
    }
}
