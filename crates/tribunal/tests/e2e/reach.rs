//! What a launch can reach, listed from inside: places it reads and writes, sockets, listeners, processes. Each is named by
//! its class, so the list is the same on every machine, and one that is new stands in it by its own path. The list of
//! each role is written down here: whoever opens something must change it in sight.

use crate::show::Show;
use crate::stage::program::Ended;
use crate::stage::scenes::{APPROVES, dev_also, reviewer_does};
use crate::stage::{Res, Stage};
use std::collections::BTreeSet;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::path::{Path, PathBuf};

/// Lists mounts, top folders, the home, sockets, and what there is of other processes.
const SCRIPT: &str = r##"
awk '{ split($6, o, ","); type = $0; sub(/.* - /, "", type); sub(/ .*/, "", type); print "mount\t" o[1] "\t" type "\t" $4 "\t" $5 }' /proc/self/mountinfo
for f in /* /.[!.]*; do if test -d "$f"; then test -n "$(ls -A "$f" 2> /dev/null)"; else test -s "$f"; fi && printf 'top\t%s\n' "$f"; done
find "$(cat bin/home)" -mindepth 1 -maxdepth 1 | sed 's/^/home\t/'
awk '{ print $5 }' /proc/self/mountinfo | sort -u | while read -r m; do m=$(printf '%b' "$m"); find "$m" -xdev -maxdepth 6 -type s 2> /dev/null | sed 's/^/socket\t/'; done
read -r port name < bin/known
awk '{ print $2 " " $4 }' /proc/net/tcp | grep -q ":$port 0A" && printf 'network\tlisteners of the machine\n'
python3 -c "import socket, sys; socket.socket(socket.AF_UNIX).connect(chr(0) + sys.argv[1])" "$name" 2> /dev/null && printf 'network\tabstract sockets of the machine\n'
for p in /proc/[0-9]*; do tr '\0' ' ' < $p/cmdline 2> /dev/null | grep -q "$name" && ! grep -q reach $p/cmdline && printf 'process\tof the machine\n'; done
test -w /proc/sys/kernel/core_pattern && printf 'kernel\tsettings can be changed\n'
python3 -c "import ctypes, os, sys; c = ctypes.CDLL(None, use_errno=True); c.syscall({'x86_64': 250, 'aarch64': 219}[os.uname().machine], -1, 0, 0, 0, 0); sys.exit(ctypes.get_errno() == 1)" 2> /dev/null && printf 'kernel\tkeys can be asked for\n'
for j in "$(cat bin/project)"/.tribunal/runs/*/journal.db; do test -r "$j" && printf 'yours\tthe journal can be read\n'; done
test -w "$(cat bin/home)/../keys/key" && printf 'yours\tother files can be written\n'
kill -0 1 2> /dev/null && printf 'process\tinit can be signalled\n'
head -c 1 /proc/1/environ > /dev/null 2>&1 && printf 'process\tinit can be traced\n'
true
"##;

/// The roles, by the files that hold what they listed.
pub struct Lists {
    pub builder: BTreeSet<String>,
    pub reviewer: BTreeSet<String>,
    pub check: BTreeSet<String>,
    pub tool: BTreeSet<String>,
}

impl Lists {
    /// Every role with its list.
    pub fn all(&self) -> [(&'static str, &BTreeSet<String>); 4] {
        [
            ("builder", &self.builder),
            ("reviewer", &self.reviewer),
            ("check", &self.check),
            ("tool", &self.tool),
        ]
    }
}

/// A tool that lists what it reaches, and finds nothing.
const TOOL: &str = "[tools.reach]\nfiles = [\"*.txt\"]\nprograms = [\"sh\"]\n\
                    check = [\"sh\", \"bin/reach.sh\"]\nform = \"lines\"\nproof = [\"mount\"]\n";

/// Plays a run and a review whose launches list what they reach.
fn lists(settings: &'static str) -> Lists {
    let mut scene = Reach::set(settings);
    scene.play()
}

/// A scene whose launches list what they reach, with what they are to find where it is open.
pub struct Reach {
    pub show: Show,
    _listener: TcpListener,
    _abstract: UnixListener,
}

impl Reach {
    pub fn set(settings: &'static str) -> Reach {
        let builder = "{ run = [\"sh\", \"-c\", \"sh bin/reach.sh > '{ROOT}/scene/builder'\"] }, \
                   { write = \"bin/one.sh\", text = \"sh bin/reach.sh\\n\" },";
        let reviewer = "{ run = [\"sh\", \"-c\", \"sh bin/reach.sh > '{ROOT}/scene/reviewer'\"] },";
        let script = format!("{}{}", dev_also(builder), reviewer_does(&format!("{reviewer} {APPROVES}")));
        let mut show = Show::on_this_machine(settings, &script);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let name = format!("tribunal-known-{}-{port}", std::process::id());
        let of_name = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let known = format!("{port:04X} {name}\n");
        let home = show.stage.home().display().to_string();
        let project = show.stage.project().display().to_string();
        let settings = format!("{settings}{TOOL}");
        show.user_commits(&[
            ("bin/reach.sh", SCRIPT),
            ("bin/known", &known),
            ("bin/home", &home),
            ("bin/project", &project),
            ("tribunal.toml", &settings),
        ]);
        std::fs::create_dir_all(show.stage.root().join("keys")).unwrap();
        std::fs::write(show.stage.root().join("keys/key"), "key").unwrap();
        Reach { show, _listener: listener, _abstract: of_name }
    }

    /// Gives a command; every law is watched where this test is its user.
    #[track_caller]
    pub fn give(&mut self, args: &[&str], code: Option<i32>) -> Ended {
        let ended = match self.show.stage.program().around.is_empty() {
            true => self.show.tribunal(args),
            false => self.show.stage.program().run(args, &[]).unwrap(),
        };
        assert!(code.is_none() || ended.code == code, "{args:?}: {}", ended.said());
        ended
    }

    /// Plays a run, then a review by the tool: what each role reached.
    pub fn play(&mut self) -> Lists {
        self.give(&["run"], Some(0));
        let show = &mut self.show;
        let read = |path: PathBuf| std::fs::read_to_string(path).unwrap();
        let places = Places::of(show);
        let scene = |role: &str| places.classes(&read(show.stage.root().join("scene").join(role)));
        let (builder, reviewer) = (scene("builder"), scene("reviewer"));
        let check = places.classes(&listed(show).unwrap());
        if show.stage.program().around.is_empty() {
            show.user_acts(stage_a_change);
        } else {
            stage_a_change(&show.stage).unwrap();
        }
        let run = show.run();
        let review = ["review", "--staged", "--panel", "reach", "--set", "agents.default=\"\""];
        let said = self.give(&review, None).said();
        let show = &self.show;
        assert_ne!(show.run(), run, "{said}");
        let tool = places.classes(&listed(show).unwrap_or_else(|| panic!("{said}")));
        Lists { builder, reviewer, check, tool }
    }
}

/// The user stages something for the tool to look at.
fn stage_a_change(stage: &Stage) -> Res<()> {
    stage.write("NOTES.txt", "Notes.\nolder first:\n")?;
    stage.git(&["add", "NOTES.txt"]).map(drop)
}

/// What a command of the newest run listed.
fn listed(show: &Show) -> Option<String> {
    let launches = show.stage.run_dir(&show.run()).join("launches");
    let outputs = std::fs::read_dir(launches).unwrap().map(|entry| entry.unwrap().path().join("stdout"));
    let texts = outputs.map(|path| std::fs::read_to_string(path).unwrap_or_default());
    texts.filter(|text| text.starts_with("mount\t")).last()
}

/// Where things are on this machine, for naming them by class.
struct Places {
    root: PathBuf,
    home: PathBuf,
    project: PathBuf,
    program: PathBuf,
    path: Vec<PathBuf>,
}

impl Places {
    fn of(show: &Show) -> Places {
        let path = std::env::var_os("PATH").unwrap();
        let path = std::env::split_paths(&path).filter_map(|folder| folder.canonicalize().ok());
        Places {
            root: show.stage.root().canonicalize().unwrap(),
            home: show.stage.home().canonicalize().unwrap(),
            project: show.stage.project().canonicalize().unwrap(),
            program: show.stage.program().binary.canonicalize().unwrap(),
            path: path.collect(),
        }
    }

    fn classes(&self, text: &str) -> BTreeSet<String> {
        text.lines().filter_map(|line| self.class(&line.split('\t').collect::<Vec<_>>())).collect()
    }

    fn class(&self, words: &[&str]) -> Option<String> {
        match words {
            // A folder that covers what is there, and a file of nothing, show nothing. A part of a folder in memory does.
            ["mount", _, "tmpfs", "/", _] | ["mount", _, _, "/null", _] => None,
            ["mount", mode, _, _, at] => {
                let verb = if *mode == "rw" { "writes" } else { "reads" };
                Some(format!("{verb} {}", self.place(&plain(at))))
            }
            ["top", at] => self.top(Path::new(at)),
            ["home", at] => Some(format!("home holds {}", self.place(Path::new(at)))),
            [kind, at] => Some(format!("{kind}: {}", self.place(Path::new(at)))),
            other => Some(other.join(" ")),
        }
    }

    fn place(&self, at: &Path) -> String {
        let runs = self.project.join(".tribunal/runs");
        let below = |place: &Path| at.starts_with(place);
        let text = at.display().to_string();
        match () {
            () if at == Path::new("/") => "the machine".into(),
            () if ["/proc", "/sys", "/dev"].iter().any(|kernel| below(Path::new(kernel))) => "kernel".into(),
            () if at == Path::new("/tmp") || at == Path::new("/var/tmp") => "its temporary files".into(),
            () if at == self.home => "its home".into(),
            () if below(&self.project.join(".git/objects")) => "objects of the repository".into(),
            () if below(&runs) && text.ends_with("/report.sock") => "its report socket".into(),
            () if below(&runs) && text.ends_with("/report.jsonl") => "its report".into(),
            () if below(&runs) && text.ends_with("/scratch") => "its scratch folder".into(),
            () if below(&runs) && text.ends_with("/tmp") => "its temporary files".into(),
            () if below(&runs) && text.contains("/launches/") => "its own folder".into(),
            () if below(&runs) => "its tree".into(),
            () if below(&self.root.join("scene")) => "the scene of the test".into(),
            () if at == self.program => "tribunal itself".into(),
            () if self.is_of_programs(at) => "programs on PATH".into(),
            () if below(Path::new("/var")) || below(Path::new("/run")) || below(Path::new("/etc")) => {
                "what names of hosts and users need".into()
            }
            () => text.replace(&self.root.display().to_string(), "{ROOT}"),
        }
    }

    /// A folder on PATH, or one of the tool that it belongs to, in whatever home that is.
    fn is_of_programs(&self, at: &Path) -> bool {
        let tool = |folder: &PathBuf| {
            let top = folder
                .ancestors()
                .find(|above| above.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')));
            top.is_some_and(|top| at.starts_with(top))
        };
        self.path.iter().any(|folder| at.starts_with(folder) || tool(folder))
    }

    fn top(&self, at: &Path) -> Option<String> {
        const MACHINE: [&str; 10] = ["bin", "dev", "etc", "gnu", "nix", "proc", "sbin", "snap", "sys", "usr"];
        let name = at.file_name()?.to_string_lossy().into_owned();
        let leads =
            [&self.root, &self.program].into_iter().chain(&self.path).any(|place| place.starts_with(at));
        let known = MACHINE.contains(&name.as_str()) || name.starts_with("lib") || leads;
        (!known && !["/run", "/var"].contains(&at.to_str()?)).then(|| format!("top folder {}", at.display()))
    }
}

/// A path as mountinfo writes it: some bytes are octal.
fn plain(text: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, more)) = rest.split_first() {
        let code = rest.get(1..4).filter(|_| *first == b'\\').and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 8).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[4..];
            }
            None => {
                bytes.push(*first);
                rest = more;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

pub const STRICT: &str =
    "[plan]\nreview = \"never\"\n[agents]\nwritable = []\n[gates]\noff = [\"contract_compliance\"]\n";
/// What every launch reaches.
const EVERYBODY: [&str; 7] = [
    "reads its own folder",
    "reads objects of the repository",
    "reads the machine",
    "reads tribunal itself",
    "writes its home",
    "writes its scratch folder",
    "writes its temporary files",
];

/// What differs from what everybody reaches. What this machine may have or not is left out.
fn more(list: &BTreeSet<String>) -> (Vec<&str>, Vec<&str>) {
    let mut perhaps = vec!["kernel", "programs on PATH", "what names of hosts and users need"];
    if !scopes_sockets() {
        perhaps.extend(["abstract sockets of the machine", "init can be signalled"]);
    }
    let told = list.iter().filter(|line| !perhaps.iter().any(|end| line.ends_with(end))).map(String::as_str);
    let told: BTreeSet<&str> = told.collect();
    let everybody = BTreeSet::from(EVERYBODY);
    (told.difference(&everybody).copied().collect(), everybody.difference(&told).copied().collect())
}

/// Whether the kernel can keep sockets without a file and signals inside a launch: since Linux 6.12.
fn scopes_sockets() -> bool {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(12))
}

#[test]
fn what_each_role_reaches_is_what_is_written_here() {
    let lists = lists(STRICT);
    let of_agents =
        ["network: listeners of the machine", "writes its report", "writes the scene of the test"];
    let expect = |more: &[&'static str]| {
        let mut more: Vec<&str> = more.to_vec();
        more.sort_unstable();
        (more, Vec::<&str>::new())
    };
    assert_eq!(more(&lists.builder), expect(&[&of_agents[..], &["writes its tree"]].concat()));
    assert_eq!(more(&lists.reviewer), expect(&[&of_agents[..], &["reads its tree"]].concat()));
    assert_eq!(more(&lists.check), expect(&["writes its tree"]));
    // The script that it is started with lies in the tree: over it stands that of the base, to be read.
    assert_eq!(more(&lists.tool), expect(&["reads its tree", "writes its tree"]));
}

/// The test above sees a hole: a folder with a key that somebody opened by mistake.
#[test]
fn a_place_that_is_opened_stands_in_the_list() {
    const OPEN: &str = "[plan]\nreview = \"never\"\n[agents]\nwritable = []\nreadable = [\"~/../keys\"]\n\
                        [gates]\noff = [\"contract_compliance\"]\n";
    let lists = lists(OPEN);
    for (role, list) in lists.all() {
        assert!(list.contains("reads {ROOT}/keys"), "{role}: {list:?}");
    }
}

/// A check that fails over a file which the user has says which key shows it; with the key it passes.
#[test]
fn a_check_that_misses_a_hidden_file_names_the_key() {
    const OPEN: &str = "[plan]\nreview = \"never\"\n[agents]\nwritable = []\nreadable = [\"~/lib\"]\n";
    let script = dev_also(r##"{ write = "bin/one.sh", text = "cat '{HOME}/lib/table' > /dev/null\n" },"##);
    for (settings, code) in [(STRICT, 4), (OPEN, 0)] {
        let mut show = Show::on_this_machine(settings, &script);
        let lib = show.stage.home().join("lib");
        std::fs::create_dir_all(&lib).unwrap();
        std::fs::write(lib.join("table"), "").unwrap();
        let ended = show.expect(&["run"], code);
        let said = format!("{}{}", ended.said(), show.tribunal(&["report", "--json"]).stdout);
        let told =
            said.contains("is there for you and not in the sandbox") && said.contains("agents.readable");
        assert_eq!(told, code != 0, "{said}");
    }
}
