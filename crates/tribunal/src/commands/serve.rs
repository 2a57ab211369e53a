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
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tribunal_engine::gates::read_plain;
use tribunal_engine::real::state::state_folder;
use tribunal_server::web::{self, Guard, Key};

/// The port where nobody says another.
const PORT: u16 = 4517;

/// Serves until a signal comes.
pub fn run(globals: &Globals, args: &Serve) -> Result<Done, Failure> {
    let place = Place::here()?;
    let root = place.root.canonicalize()?.display().to_string();
    let listener = listen(args.port)?;
    let guard = Guard::new(key()?, &root, listener.local_addr()?.port())?;
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

/// On this machine alone. A port that was asked for is that one or none.
fn listen(port: Option<u16>) -> Result<TcpListener, Failure> {
    let bind = |port: u16| TcpListener::bind((Ipv4Addr::LOCALHOST, port));
    let bound = match port {
        Some(port) => bind(port),
        None => bind(PORT).or_else(|_| bind(0)),
    };
    bound.map_err(|error| {
        Failure::work(format!("cannot listen on port {} of 127.0.0.1: {error}", port.unwrap_or(PORT)))
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

/// The user's key: kept in their home, which agents do not see, so that a browser stays signed in when the server is
/// started again. Where it cannot be kept there is a new one each time.
fn key() -> Result<Key, Failure> {
    let Some(path) = key_path() else { return Ok(Key::random()?) };
    if let Some(key) = kept(&path) {
        return Ok(key);
    }
    let key = Key::random()?;
    let keep = || {
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        let mut file = std::fs::File::options().write(true).create_new(true).mode(0o600).open(&path)?;
        file.write_all(key.to_words().as_bytes())
    };
    match keep() {
        Ok(()) => Ok(key),
        // Another server may have been quicker; else this one lasts as long as the server.
        Err(_) => Ok(kept(&path).unwrap_or(key)),
    }
}

fn kept(path: &Path) -> Option<Key> {
    let bytes = read_plain(path).ok()?;
    Key::kept(&String::from_utf8_lossy(&bytes))
}

fn key_path() -> Option<PathBuf> {
    state_folder().map(|state| state.join("serve.key"))
}
