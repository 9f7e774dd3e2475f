//! Where an agent's frames go: a reader that is slow, or the network to it, never keeps the load
//! waiting.
//!
//! What the reader has not taken yet is kept: in memory up to a bound, and what comes after that in
//! a file without a name, for a long load over a slow link must not take its machine's memory.

use dbdyno_engine::clock;
use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::{env, process};

/// Bytes of frames in memory that wait for the reader.
const MEMORY_MAX: usize = 16 << 20;
/// Each frame begins with its length.
const LENGTH_BYTES: u64 = 4;

/// Frames on their way out.
#[derive(Clone)]
pub(crate) struct Outlet {
    spool: Arc<Spool>,
    writer: Arc<Mutex<Option<JoinHandle<io::Result<()>>>>>,
}

impl Outlet {
    /// An outlet to this file, which a thread of its own writes.
    pub(crate) fn to(file: File) -> Self {
        Self::keeping(file, MEMORY_MAX, env::temp_dir())
    }

    /// What waits takes so much memory, and then space in this folder.
    fn keeping(file: File, memory_max: usize, folder: PathBuf) -> Self {
        let waiting = Mutex::new(Waiting::default());
        let spool = Arc::new(Spool { waiting, changed: Condvar::new(), memory_max, folder });
        let own = Arc::clone(&spool);
        let writer =
            thread::spawn(move || own.write_all(file).inspect_err(|_| own.lock().is_broken = true));
        Self { spool, writer: Arc::new(Mutex::new(Some(writer))) }
    }

    /// Sends a frame; an error means that nobody reads any more, or that it cannot be kept.
    pub(crate) fn send(&self, frame: &[u8]) -> io::Result<()> {
        self.spool.keep(frame)
    }

    /// Sends a frame if anybody reads, even if it should overtake others that are in the file.
    pub(crate) fn write(&self, frame: &[u8]) {
        if self.send(frame).is_err() {
            self.spool.insert(frame, Waiting::last);
        }
    }

    /// Sends a frame if anybody reads, before all that waits: it says what the clock says now.
    pub(crate) fn overtake(&self, frame: &[u8]) {
        self.spool.insert(frame, |_| 0);
    }

    /// Waits until all frames are written; an error means that some are not.
    pub(crate) fn close(&self) -> io::Result<()> {
        self.spool.lock().is_closed = true;
        self.spool.changed.notify_one();
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let written = writer.and_then(|writer| writer.join().ok());
        written.unwrap_or(Ok(()))
    }
}

/// Frames that the reader has not taken yet.
struct Spool {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    memory_max: usize,
    folder: PathBuf,
}

#[derive(Default)]
struct Waiting {
    /// The first ones.
    memory: VecDeque<Vec<u8>>,
    memory_bytes: usize,
    /// Those that come after them, if there are any.
    file: Option<File>,
    /// Where they are in the file.
    left: Range<u64>,
    is_closed: bool,
    is_broken: bool,
}

impl Spool {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, frame: &[u8]) -> io::Result<()> {
        let mut waiting = self.lock();
        if waiting.is_broken {
            return Err(ErrorKind::BrokenPipe.into());
        }
        let is_behind = waiting.left.start < waiting.left.end;
        if is_behind || waiting.memory_bytes + frame.len() > self.memory_max {
            waiting.keep_in_file(frame, &self.folder).map_err(|error| {
                let folder = self.folder.display();
                let text =
                    format!("what waits for a slow link cannot be kept in {folder}: {error}");
                io::Error::new(error.kind(), text)
            })?;
        } else {
            let last = waiting.last();
            waiting.insert(last, frame);
        }
        self.changed.notify_one();
        Ok(())
    }

    /// Keeps a frame in memory, however much is there.
    fn insert(&self, frame: &[u8], place: impl FnOnce(&Waiting) -> usize) {
        let mut waiting = self.lock();
        let place = place(&waiting);
        waiting.insert(place, frame);
        self.changed.notify_one();
    }

    /// Writes each frame once it is there, until the last.
    fn write_all(&self, mut file: File) -> io::Result<()> {
        while let Some(frame) = self.next()? {
            file.write_all(&frame)?;
        }
        Ok(())
    }

    /// The next frame to write, once there is one; none after the last.
    fn next(&self) -> io::Result<Option<Vec<u8>>> {
        let mut waiting = self.lock();
        loop {
            if let Some(frame) = waiting.take()? {
                return Ok(Some(frame));
            }
            if waiting.is_closed {
                return Ok(None);
            }
            waiting = self.changed.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Waiting {
    fn last(&self) -> usize {
        self.memory.len()
    }

    fn insert(&mut self, place: usize, frame: &[u8]) {
        self.memory_bytes += frame.len();
        self.memory.insert(place, frame.to_vec());
    }

    fn keep_in_file(&mut self, frame: &[u8], folder: &Path) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(without_name(folder)?);
        }
        let Some(file) = &self.file else { return Ok(()) };
        file.write_all_at(frame, self.left.end)?;
        self.left.end += frame.len() as u64;
        Ok(())
    }

    fn take(&mut self) -> io::Result<Option<Vec<u8>>> {
        if let Some(frame) = self.memory.pop_front() {
            self.memory_bytes -= frame.len();
            return Ok(Some(frame));
        }
        if self.left.is_empty() {
            return Ok(None);
        }
        let frame = self.read_from_file()?;
        self.left.start += frame.len() as u64;
        if self.left.is_empty() {
            (self.file, self.left) = (None, 0..0);
        }
        Ok(Some(frame))
    }

    fn read_from_file(&self) -> io::Result<Vec<u8>> {
        let file = self.file.as_ref().ok_or(ErrorKind::NotFound)?;
        let mut length = [0; LENGTH_BYTES as usize];
        file.read_exact_at(&mut length, self.left.start)?;
        let bytes = LENGTH_BYTES + u64::from(u32::from_le_bytes(length));
        let mut frame = vec![0; bytes as usize];
        file.read_exact_at(&mut frame, self.left.start)?;
        Ok(frame)
    }
}

/// A file that nobody else can open, and of which nothing is left, however this process ends.
fn without_name(folder: &Path) -> io::Result<File> {
    let path = folder.join(format!("dbdyno-frames-{}-{}", process::id(), clock::now().0));
    let file =
        OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
    fs::remove_file(path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::Outlet;
    use std::env;
    use std::fs::File;
    use std::io::{ErrorKind, Read};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::path::Path;

    fn frame(number: u32) -> Vec<u8> {
        let body = number.to_le_bytes().repeat(1000);
        [&(body.len() as u32).to_le_bytes()[..], &body].concat()
    }

    fn outlet(memory_max: usize, folder: &Path) -> (Outlet, UnixStream) {
        let (own, reader) = UnixStream::pair().unwrap();
        let file = File::from(OwnedFd::from(own));
        (Outlet::keeping(file, memory_max, folder.to_owned()), reader)
    }

    #[test]
    fn a_reader_that_takes_nothing_is_not_waited_for_and_then_gets_all_in_order() {
        // More than the kernel keeps, and in memory there is room for ten.
        let (outlet, mut reader) = outlet(40_040, &env::temp_dir());
        for number in 0..1000 {
            outlet.send(&frame(number)).unwrap();
        }
        let waiting = outlet.spool.lock();
        assert!(waiting.memory_bytes <= 40_040, "{}", waiting.memory_bytes);
        assert!(waiting.left.end > 1_000_000, "{:?}", waiting.left);
        drop(waiting);
        let reading = std::thread::spawn(move || {
            let mut all = Vec::new();
            reader.read_to_end(&mut all).map(|_| all)
        });
        outlet.close().unwrap();
        assert!(outlet.spool.lock().file.is_none(), "its space is free again");
        drop(outlet);
        let expected: Vec<u8> = (0..1000).flat_map(frame).collect();
        assert!(reading.join().unwrap().unwrap() == expected);
    }

    #[test]
    fn what_cannot_be_kept_is_an_error_that_can_be_told() {
        let (outlet, mut reader) = outlet(0, Path::new("/no/such/folder"));
        let refused = outlet.send(&frame(1)).unwrap_err().to_string();
        assert!(refused.contains("cannot be kept in /no/such/folder: No such file"), "{refused}");
        outlet.write(&frame(2));
        let mut told = vec![0; frame(2).len()];
        reader.read_exact(&mut told).unwrap();
        assert_eq!(told, frame(2));
    }

    #[test]
    fn without_a_reader_nothing_is_kept() {
        let (outlet, reader) = outlet(1 << 20, &env::temp_dir());
        drop(reader);
        while outlet.send(&frame(1)).is_ok() {}
        outlet.close().unwrap_err();
    }

    #[test]
    fn what_cannot_be_read_again_is_an_error() {
        let (outlet, mut reader) = outlet(0, &env::temp_dir());
        for number in 0..1000 {
            outlet.send(&frame(number)).unwrap();
        }
        outlet.spool.lock().file.as_ref().unwrap().set_len(1).unwrap();
        let reading = std::thread::spawn(move || reader.read_to_end(&mut Vec::new()));
        assert_eq!(outlet.close().unwrap_err().kind(), ErrorKind::UnexpectedEof);
        drop(outlet);
        reading.join().unwrap().unwrap();
    }
}
