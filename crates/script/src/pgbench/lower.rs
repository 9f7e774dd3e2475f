//! Compiles a script's commands to instructions.
//!
//! Blocks become jumps and pipelines become the flow of their queries, so neither has to be tracked
//! while running. Errors in their structure are therefore found here.

use super::Options;
use super::copy::{Copy, row_parts};
use super::meta::Meta;
use super::names::Names;
use super::program::{Body, Chunk, CopyBody, Instruction, Operation, Query};
use super::read::{Action, Command, Sql};
use super::source::{Flaw, Source};
use super::sql::Kind;
use super::template::{Template, numbered, template};
use crate::problem::{Problem, Severity};
use dbdyno_model::{ConnectionId, Flow, QueryMode, Script, Statement, StatementId};
use std::collections::HashSet;
use std::ops::Range;

/// The maximum number of parameters in PostgreSQL's protocol.
const PARAMETERS_MAX: usize = 65_535;

/// What lowering needs besides the script, and adds to.
pub(super) struct Context<'a> {
    pub(super) mode: QueryMode,
    pub(super) options: &'a Options,
    pub(super) names: &'a mut Names,
    pub(super) statements: &'a mut Vec<Statement>,
}

/// Lowers script number `script`: its instructions, and its problems. `planned` says how its
/// commands are sent.
pub(super) fn lower(
    script: u32,
    planned: &Script,
    source: &Source<'_>,
    commands: Vec<Command>,
    context: &mut Context<'_>,
) -> (Vec<Instruction>, Vec<Problem>) {
    let mut lowering = Lowering {
        script,
        planned,
        source,
        context,
        command: 0,
        span: 0..0,
        code: Vec::new(),
        blocks: Vec::new(),
        pipeline: None,
        problems: Vec::new(),
        warned: HashSet::new(),
    };
    for (index, command) in commands.into_iter().enumerate() {
        lowering.command = index as u32;
        lowering.span = command.span;
        lowering.action(command.action);
    }
    lowering.check_closed();
    (lowering.code, lowering.problems)
}

struct Lowering<'a, 's, 'c> {
    script: u32,
    planned: &'a Script,
    source: &'a Source<'s>,
    context: &'a mut Context<'c>,
    /// The command being lowered, and its position.
    command: u32,
    span: Range<usize>,
    code: Vec<Instruction>,
    /// The blocks that are open.
    blocks: Vec<Block>,
    /// Where the open pipeline began.
    pipeline: Option<Range<usize>>,
    problems: Vec<Problem>,
    /// Texts that a warning was issued for.
    warned: HashSet<&'a str>,
}

/// An `\if` without its `\endif` yet.
struct Block {
    opened: Range<usize>,
    has_else: bool,
    /// The test of the current branch, whose jump target is the next branch.
    test: Option<usize>,
    /// Jumps at the ends of branches, whose target is the end of the block.
    exits: Vec<usize>,
    /// The pipeline that was open before: every branch must leave it unchanged.
    pipeline: Option<Range<usize>>,
}

impl Lowering<'_, '_, '_> {
    fn emit(&mut self, operation: Operation) {
        let line = self.source.line(self.span.start);
        self.code.push(Instruction { command: self.command, line, operation });
    }

    fn report(&mut self, severity: Severity, flaw: Flaw) {
        self.problems.push(self.source.problem(severity, flaw));
    }

    /// Warns once for each text: a name that is never set is often mentioned many times.
    fn warn(&mut self, flaw: Flaw) {
        if self.warned.insert(&self.source.text[flaw.span.clone()]) {
            self.report(Severity::Warning, flaw);
        }
    }

    /// An error of the whole command.
    fn error(&mut self, message: &str) {
        self.report(Severity::Error, Flaw::new(self.span.clone(), message));
    }

    fn action(&mut self, action: Action) {
        match action {
            Action::Sql(sql) => self.sql(&sql),
            Action::Meta(Meta::Set(slot, expression)) => {
                self.emit(Operation::Set(slot, expression));
            }
            Action::Meta(Meta::SetText(slot, pattern)) => {
                self.emit(Operation::SetText(slot, pattern));
            }
            Action::Meta(Meta::If(condition)) => {
                self.open_block();
                self.emit(Operation::Unless(condition, 0));
            }
            Action::Meta(Meta::Elif(condition)) => {
                if self.next_branch() {
                    self.emit(Operation::Unless(condition, 0));
                }
            }
            Action::Meta(Meta::Else) => self.otherwise(),
            Action::Meta(Meta::Endif) => self.close_block(),
            Action::Meta(Meta::Sleep(sleep)) => self.emit(Operation::Sleep(sleep)),
            Action::Meta(Meta::Shell(words, target)) => {
                if !self.context.options.allow_shell {
                    self.error("shell commands run only with --allow-shell");
                }
                self.emit(Operation::Shell(words, target));
            }
            Action::Meta(Meta::StartPipeline) => self.open_pipeline(),
            Action::Meta(Meta::SyncPipeline) => self.sync(Flow::Queue),
            Action::Meta(Meta::EndPipeline) => {
                self.sync(Flow::Wait);
                self.pipeline = None;
            }
            Action::Meta(Meta::Store(_)) => unreachable!("reading joins it to its SQL command"),
        }
    }

    fn sql(&mut self, sql: &Sql) {
        if self.context.mode != QueryMode::Simple {
            self.check_not_combined(sql);
        }
        let mut template =
            template(self.source.text, &sql.pieces, self.context.mode, self.context.names);
        for warning in template.warnings.drain(..) {
            self.warn(warning);
        }
        if sql.store.is_some() && self.pipeline.is_some() {
            self.error("rows cannot be stored inside a pipeline: their answer comes later");
        }
        let (statement, body) = match &sql.copy {
            Some(copy) => self.copy(sql, copy, template.chunks),
            None => self.body(sql, template),
        };
        self.emit(Operation::Query(Query { statement, body, store: sql.store }));
    }

    /// The extended protocol takes one statement at a time.
    fn check_not_combined(&mut self, sql: &Sql) {
        let text = self.source.text;
        let is_combined = |span: &Range<usize>| {
            text[span.clone()] == *"\\;" && !text[span.end..sql.span.end].trim().is_empty()
        };
        let mut escapes = sql.pieces.iter().filter(|piece| piece.kind == Kind::Escaped);
        if let Some(piece) = escapes.find(|piece| is_combined(&piece.span)) {
            let message = "statements can be combined only with -M simple";
            self.report(Severity::Error, Flaw::new(piece.span.clone(), message));
        }
    }

    /// Adds the command to the table of statements; returns how its values are sent.
    fn body(&mut self, sql: &Sql, template: Template) -> (StatementId, Body) {
        let Template { chunks, obstacle, .. } = template;
        let flow = if self.pipeline.is_some() { Flow::Queue } else { Flow::Wait };
        let is_simple = self.context.mode == QueryMode::Simple;
        let planned = self.planned.as_text.get(&self.command).cloned();
        let as_text = planned.or(obstacle).filter(|_| !is_simple);
        if is_simple || as_text.is_some() {
            let text = self.source.text[sql.span.clone()].into();
            return (self.statement(text, 0, as_text), Body::Text(chunks, flow));
        }
        let (sql, slots) = numbered(chunks);
        if slots.len() > PARAMETERS_MAX {
            self.error("a statement cannot have more than 65535 parameters");
        }
        let statement = self.statement(sql, slots.len() as u32, None);
        let types = self.planned.parameter_types.get(&self.command);
        if let (Some(added), Some(types)) = (self.context.statements.last_mut(), types) {
            added.parameter_types.clone_from(types);
        }
        (statement, Body::Parameters(slots, flow))
    }

    /// Adds a COPY from or to the client to the table; returns it with its rows.
    fn copy(&mut self, sql: &Sql, copy: &Copy, chunks: Vec<Chunk>) -> (StatementId, Body) {
        if !self.context.options.has_copy {
            self.error("COPY from or to the client exists in PostgreSQL's protocol only");
        }
        if self.pipeline.is_some() {
            self.error("COPY cannot be a part of a pipeline: end the pipeline before it");
        }
        let text = self.source.text;
        let (rows, warnings) = row_parts(text, sql.rows.clone(), &copy.format, self.context.names);
        for warning in warnings {
            self.warn(warning);
        }
        let has_values = chunks.iter().any(|chunk| !matches!(chunk, Chunk::Literal(_)));
        let obstacle = has_values && self.context.mode != QueryMode::Simple;
        let as_text = obstacle.then(|| "COPY takes no parameters".into());
        let statement = self.statement(text[sql.span.clone()].into(), 0, as_text);
        if let Some(added) = self.context.statements.last_mut() {
            added.copy = Some(copy.direction);
        }
        let (direction, format) = (copy.direction, copy.format.clone());
        (statement, Body::Copy(CopyBody { sql: chunks, direction, format, rows }))
    }

    /// Adds a statement of the command being lowered to the table.
    fn statement(&mut self, sql: String, parameters: u32, as_text: Option<String>) -> StatementId {
        let id = StatementId(self.context.statements.len() as u32);
        self.context.statements.push(Statement {
            script: self.script,
            index: self.command,
            line: self.source.line(self.span.start),
            source: self.source.text[self.span.clone()].into(),
            sql,
            parameters,
            parameter_types: Vec::new(),
            as_text,
            copy: None,
            connection: ConnectionId::FIRST,
            server: 0,
        });
        id
    }

    fn open_block(&mut self) {
        self.blocks.push(Block {
            opened: self.span.clone(),
            has_else: false,
            test: Some(self.code.len()),
            exits: Vec::new(),
            pipeline: self.pipeline.clone(),
        });
    }

    /// Ends the current branch and begins another; false without a block, or after its `\else`.
    fn next_branch(&mut self) -> bool {
        if !self.is_in_branch() {
            return false;
        }
        let exit = self.code.len();
        self.emit(Operation::Jump(0));
        self.end_branch();
        if let Some(block) = self.blocks.last_mut() {
            block.exits.push(exit);
            block.test = Some(self.code.len());
        }
        true
    }

    fn is_in_branch(&mut self) -> bool {
        let message = match self.blocks.last() {
            None => "this has no matching \\if",
            Some(block) if block.has_else => "the block already has an \\else",
            Some(_) => return true,
        };
        self.error(message);
        false
    }

    fn otherwise(&mut self) {
        if self.next_branch()
            && let Some(block) = self.blocks.last_mut()
        {
            block.has_else = true;
            block.test = None;
        }
    }

    /// Sets the branch's test to jump to its end, and restores the pipeline to what it was before
    /// the block.
    fn end_branch(&mut self) {
        let here = self.code.len();
        let Some(block) = self.blocks.last_mut() else { return };
        if let Some(test) = block.test.take() {
            aim(&mut self.code[test], here);
        }
        let before = block.pipeline.clone();
        if before != self.pipeline {
            self.error("a pipeline must begin and end in the same branch");
            self.pipeline = before;
        }
    }

    fn close_block(&mut self) {
        self.end_branch();
        let here = self.code.len();
        match self.blocks.pop() {
            Some(block) => {
                block.exits.into_iter().for_each(|exit| aim(&mut self.code[exit], here));
            }
            None => self.error("this has no matching \\if"),
        }
    }

    fn open_pipeline(&mut self) {
        if self.context.mode == QueryMode::Simple {
            self.error("pipelines need -M extended or -M prepared");
        }
        if self.pipeline.is_some() {
            self.error("a pipeline is already open");
        }
        self.pipeline = Some(self.span.clone());
    }

    fn sync(&mut self, flow: Flow) {
        if self.pipeline.is_none() {
            return self.error("no pipeline is open");
        }
        let statement = self.statement(String::new(), 0, None);
        self.emit(Operation::Sync(statement, flow));
    }

    fn check_closed(&mut self) {
        let opened: Vec<_> = self.blocks.drain(..).map(|block| block.opened).collect();
        for span in opened {
            self.report(Severity::Error, Flaw::new(span, "this block has no \\endif"));
        }
        if let Some(span) = self.pipeline.take() {
            self.report(Severity::Error, Flaw::new(span, "this pipeline has no \\endpipeline"));
        }
    }
}

/// Sets an instruction's jump target.
fn aim(instruction: &mut Instruction, target: usize) {
    if let Operation::Unless(_, to) | Operation::Jump(to) = &mut instruction.operation {
        *to = target;
    }
}
