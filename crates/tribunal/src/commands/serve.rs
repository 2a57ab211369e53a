//! `tribunal serve`: runs, findings and the inbox in a browser. It listens on the loopback address alone, for whoever
//! has the link.
//!
//! It reads journals, puts answers into mailboxes, and starts no process: a request from a browser must not be able to
//! run anything. The design page on the browser has the reasons.

use crate::args::{Globals, Serve};
use crate::exit::Done;
use crate::failure::Failure;
use crate::out;
use crate::place::Place;
use crate::web::Pages;
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tribunal_server::web::{self, Guard};

/// Serves until a signal arrives.
pub fn run(globals: &Globals, args: &Serve) -> Result<Done, Failure> {
    let place = Place::here()?;
    let listener = listen(args.port)?;
    let guard = Guard::new(listener.local_addr()?.port())?;
    // Before the link is printed: whoever reads the link may send a signal at once.
    let (stop, signal) = signals()?;
    tell(globals, &guard.link())?;
    let pages = Arc::new(Pages::new(place, globals.quiet));
    let reader = Arc::clone(&pages);
    // A request that comes earlier waits for the read. Without the thread, runs are read on the first request.
    let _ = std::thread::Builder::new().name("warm".to_owned()).spawn(move || reader.warm());
    web::serve(&listener, guard, pages, &stop)?;
    let signal = i32::try_from(signal.load(Ordering::SeqCst)).unwrap_or(0);
    Ok(if signal == 0 { Done::Passed } else { Done::Signal(signal) })
}

fn tell(globals: &Globals, link: &str) -> Result<(), Failure> {
    if globals.json {
        return out::json(&json!({ "link": link }));
    }
    if !globals.quiet {
        out::say("open this link in a browser on this machine; it works once, and Ctrl-C ends the server");
    }
    out::data(link)
}

/// Listens on this machine alone, by default on another port each time.
///
/// Whoever listens on a port after the server is that server for a browser that comes back, so a changing port is the
/// safer default. A port that was asked for is never replaced by another.
fn listen(port: Option<u16>) -> Result<TcpListener, Failure> {
    let port = port.unwrap_or(0);
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
        Failure::work(format!("cannot listen on port {port} of 127.0.0.1: {error}"))
            .hint("name another with --port")
    })
}

/// A stream that becomes readable when a signal arrives, and the number of that signal.
fn signals() -> Result<(UnixStream, Arc<AtomicUsize>), Failure> {
    let (stop, bell) = UnixStream::pair()?;
    let which = Arc::new(AtomicUsize::new(0));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let number = usize::try_from(signal).unwrap_or(0);
        // The number before the stream: handlers run in the order of registration, and whoever wakes reads the number.
        signal_hook::flag::register_usize(signal, Arc::clone(&which), number)?;
        signal_hook::low_level::pipe::register(signal, bell.try_clone()?)?;
    }
    Ok((stop, which))
}
