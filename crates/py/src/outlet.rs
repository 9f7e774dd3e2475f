//! Where an agent's frames go: a reader that is slow, or the network to it, never keeps the load
//! waiting.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::{self, JoinHandle};

/// Frames on their way out; what the reader has not taken yet is kept.
#[derive(Clone)]
pub(crate) struct Outlet {
    frames: Sender<Vec<u8>>,
    is_broken: Arc<AtomicBool>,
    writer: Arc<Mutex<Option<JoinHandle<()>>>>,
}

impl Outlet {
    /// An outlet to this file, which a thread of its own writes.
    pub(crate) fn to(mut file: File) -> Self {
        let (frames, waiting) = channel::<Vec<u8>>();
        let is_broken = Arc::new(AtomicBool::new(false));
        let broken = Arc::clone(&is_broken);
        let writer = thread::spawn(move || {
            // An empty one is the last.
            for frame in waiting.iter().take_while(|frame| !frame.is_empty()) {
                if file.write_all(&frame).is_err() {
                    broken.store(true, Ordering::SeqCst);
                    return;
                }
            }
        });
        Self { frames, is_broken, writer: Arc::new(Mutex::new(Some(writer))) }
    }

    /// Sends a frame; an error means that nobody reads any more.
    pub(crate) fn send(&self, frame: &[u8]) -> io::Result<()> {
        if self.is_broken.load(Ordering::SeqCst) || self.frames.send(frame.to_vec()).is_err() {
            return Err(ErrorKind::BrokenPipe.into());
        }
        Ok(())
    }

    /// Sends a frame, if anybody reads.
    pub(crate) fn write(&self, frame: &[u8]) {
        let _ = self.send(frame);
    }

    /// Waits until all frames are written.
    pub(crate) fn close(&self) {
        let _ = self.frames.send(Vec::new());
        if let Ok(mut writer) = self.writer.lock()
            && let Some(writer) = writer.take()
        {
            let _ = writer.join();
        }
    }
}
