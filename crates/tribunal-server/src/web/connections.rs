//! Who is connected: strangers, who have not shown a session yet, and people who have. Each kind has its own number of
//! places, so that strangers, however many and however slow, cannot take the places of a person.
//!
//! A person arrives as a stranger, too. So a newcomer is never turned away; the stranger who has been connected longest
//! is disconnected instead.

use std::collections::VecDeque;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use tribunal_core::defence::{Defence, stands};
use tribunal_process::lock;

/// The number of strangers who can be connected at once.
const STRANGERS_MAX: usize = 256;
/// The number of connections of signed-in people. A browser has about six for pages and one for each open stream.
const KNOWN_MAX: usize = 256;

/// All connections of a server, counted by kind.
///
/// Strangers are kept in order of arrival because the first one has to give way. For signed-in people a count is
/// enough: none of them gives way to another.
#[derive(Default)]
pub(super) struct Connections {
    strangers: Mutex<VecDeque<Arc<TcpStream>>>,
    known: AtomicUsize,
}

impl Connections {
    /// Gives a newcomer a place. If all places are taken, the stranger who came first is disconnected.
    pub(super) fn admit(self: &Arc<Self>, stream: TcpStream) -> Option<Admitted> {
        let stream = Arc::new(stream);
        let mut strangers = self.strangers();
        if strangers.len() >= STRANGERS_MAX {
            // With the defence switched off, newcomers are refused, and a test shows that strangers then lock everybody
            // out.
            if !stands(Defence::StrangersGiveWay) {
                return None;
            }
            if let Some(first) = strangers.pop_front() {
                // The thread of that connection finds it closed, and ends.
                let _ = first.shutdown(Shutdown::Both);
            }
        }
        strangers.push_back(Arc::clone(&stream));
        Some(Admitted { all: Arc::clone(self), stream, known: false })
    }

    fn strangers(&self) -> MutexGuard<'_, VecDeque<Arc<TcpStream>>> {
        lock(&self.strangers)
    }
}

/// A connection with its place, which is given back when this value is dropped.
pub(super) struct Admitted {
    all: Arc<Connections>,
    stream: Arc<TcpStream>,
    known: bool,
}

impl Admitted {
    /// The connection to read from and write to.
    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Moves the connection from the strangers to the signed-in people; false if they already have too many.
    pub(super) fn is_known(&mut self) -> bool {
        if self.known {
            return true;
        }
        let room = |open: usize| (open < KNOWN_MAX).then_some(open + 1);
        self.known = self.all.known.fetch_update(Ordering::Relaxed, Ordering::Relaxed, room).is_ok();
        // Leave the queue at once: whoever is still in it can be disconnected for the next newcomer.
        if self.known {
            self.leave_strangers();
        }
        self.known
    }

    fn leave_strangers(&self) {
        self.all.strangers().retain(|stream| !Arc::ptr_eq(stream, &self.stream));
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        match self.known {
            true => _ = self.all.known.fetch_sub(1, Ordering::Relaxed),
            false => self.leave_strangers(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    fn pair(listener: &TcpListener) -> (TcpStream, TcpStream) {
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    #[test]
    fn the_first_stranger_gives_way_and_who_is_known_stays() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let all = Arc::new(Connections::default());
        let come = || {
            let (client, server) = pair(&listener);
            (client, all.admit(server).unwrap())
        };
        let (mut person, mut known) = come();
        assert!(known.is_known());
        let mut strangers: Vec<_> = (0..STRANGERS_MAX).map(|_| come()).collect();
        assert_eq!(all.strangers().len(), STRANGERS_MAX);
        let newcomer = come();
        assert_eq!(all.strangers().len(), STRANGERS_MAX);
        assert_eq!(strangers[0].0.read(&mut [0]).unwrap(), 0, "the first one was sent away");
        for still in [&mut strangers[1].0, &mut person] {
            still.set_nonblocking(true).unwrap();
            assert!(still.read(&mut [0]).is_err(), "the others were not");
        }
        drop((strangers, newcomer, known));
        assert_eq!((all.strangers().len(), all.known.load(Ordering::Relaxed)), (0, 0));
    }

    #[test]
    fn a_person_has_many_places_but_not_without_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let all = Arc::new(Connections::default());
        let mut open = Vec::new();
        for n in 0..=KNOWN_MAX {
            let (client, server) = pair(&listener);
            let mut admitted = all.admit(server).unwrap();
            assert_eq!(admitted.is_known(), n < KNOWN_MAX);
            open.push((client, admitted));
        }
    }
}
