//! A few threads for work that takes time: git calls, checks, reading an agent's output. Nothing here decides; a job
//! reports through the channel it was given.
//!
//! There is no async runtime: the engine waits at one place only, and `docs/design/threads.md` says why threads are
//! enough.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};
use tribunal_process::lock;

type Job = Box<dyn FnOnce() + Send>;

/// The queue of a pool, cheap to clone.
#[derive(Clone)]
pub(crate) struct Jobs(Sender<Option<Job>>);

impl Jobs {
    /// Queues a job. Jobs begin in the order in which they were queued.
    pub(crate) fn run(&self, job: impl FnOnce() + Send + 'static) {
        // Sending only fails when the threads are gone, and then nobody waits for the job.
        let _ = self.0.send(Some(Box::new(job)));
    }
}

/// The threads of a pool. Dropping it finishes what is queued.
pub(crate) struct Pool {
    jobs: Jobs,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    /// Starts a pool with this many threads.
    pub(crate) fn new(name: &str, threads: usize) -> std::io::Result<Pool> {
        let (jobs, queue) = channel::<Option<Job>>();
        let queue = Arc::new(Mutex::new(queue));
        let start = |n| {
            let queue = Arc::clone(&queue);
            Builder::new().name(format!("{name}-{n}")).spawn(move || work(&queue))
        };
        let threads = (0..threads).map(start).collect::<Result<Vec<_>, _>>()?;
        Ok(Pool { jobs: Jobs(jobs), threads })
    }

    /// A handle to the queue.
    pub(crate) fn jobs(&self) -> Jobs {
        self.jobs.clone()
    }

    /// Finishes what is queued and ends the threads.
    pub(crate) fn finish(&mut self) {
        // One end mark for each thread, behind all jobs: a thread takes exactly one and ends.
        for _ in &self.threads {
            let _ = self.jobs.0.send(None);
        }
        for thread in self.threads.drain(..) {
            // A panic was already reported by the panic hook.
            let _ = thread.join();
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.finish();
    }
}

fn work(queue: &Mutex<Receiver<Option<Job>>>) {
    loop {
        // The lock is released before the job runs, at the end of this statement. A panic elsewhere does not stop the
        // queue.
        let next = lock(queue).recv();
        match next {
            Ok(Some(job)) => job(),
            Ok(None) | Err(_) => return,
        }
    }
}
