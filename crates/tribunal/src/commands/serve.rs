//! `tribunal serve`: runs, findings and the inbox in a browser. On the loopback alone, for who has the link; it reads
//! journals, leaves letters, and starts no process.

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

/// Serves until a signal comes.
pub fn run(globals: &Globals, args: &Serve) -> Result<Done, Failure> {
    let place = Place::here()?;
    let listener = listen(args.port)?;
    let guard = Guard::new(listener.local_addr()?.port())?;
    let (stop, signal) = signals()?;
    tell(globals, &guard.link())?;
    let pages = Arc::new(Pages::new(place, globals.quiet));
    let reader = Arc::clone(&pages);
    // Who asks before it is read waits for it; without the thread it is read when somebody asks.
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

/// On this machine alone, on another port each time: whoever listens where a server was, is that server for a browser
/// that comes back. A port that was asked for is that one or none.
fn listen(port: Option<u16>) -> Result<TcpListener, Failure> {
    let port = port.unwrap_or(0);
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(|error| {
        Failure::work(format!("cannot listen on port {port} of 127.0.0.1: {error}"))
            .hint("name another with --port")
    })
}

/// Readable when a signal has come, and which.
fn signals() -> Result<(UnixStream, Arc<AtomicUsize>), Failure> {
    let (stop, bell) = UnixStream::pair()?;
    let which = Arc::new(AtomicUsize::new(0));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        let number = usize::try_from(signal).unwrap_or(0);
        // First the number, then the bell: handlers are called in the order they were given.
        signal_hook::flag::register_usize(signal, Arc::clone(&which), number)?;
        signal_hook::low_level::pipe::register(signal, bell.try_clone()?)?;
    }
    Ok((stop, which))
}
