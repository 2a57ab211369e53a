//! Code that moved, in repositories made by git itself and in languages the labelled data has not: the finding must be
//! found again under other words, and a copy or an unrelated block must not be taken for it.

use super::data::{git, run};
use std::path::Path;
use tribunal_core::finding::{Claim, Severity};
use tribunal_findings::track::pair::{How, Scorer};
use tribunal_findings::track::{Change, Comparison, Side, compare};

/// One finding before and after: file, a part of its line, words.
type Cited<'a> = (&'a str, &'a str, &'a str);

#[derive(Clone, Copy)]
struct Case {
    name: &'static str,
    before: &'static [(&'static str, &'static str)],
    after: &'static [(&'static str, &'static str)],
    was: Cited<'static>,
    is: Cited<'static>,
}

const PYTHON: &str = "import os\n\n\ndef read_all(paths):\n    found = []\n    for path in paths:\n        handle = open(path)\n        found.append(handle.read())\n    return found\n\n\ndef total(rows):\n    return sum(row.price for row in rows)\n";
const PYTHON_KEPT: &str =
    "from reading import read_all\n\n\ndef total(rows):\n    return sum(row.price for row in rows)\n";
const PYTHON_MOVED: &str = "class Reader:\n    def read_all(self, paths):\n        found = []\n        for path in paths:\n            handle = open(path)\n            found.append(handle.read())\n        return found\n";

const JS: &str = "export function total(rows) {\n  return rows.length;\n}\n\nexport async function send(url, body) {\n  const answer = await fetch(url, { method: \"POST\", body });\n  const text = await answer.text();\n  return JSON.parse(text);\n}\n";
const JS_KEPT: &str = "export function total(rows) {\n  return rows.length;\n}\n";
const JS_MOVED: &str = "// Talking to the server.\nexport async function send(url, body) {\n  const answer = await fetch(url, { method: \"POST\", body });\n  const text = await answer.text();\n  return JSON.parse(text);\n}\n";

const GO: &str = "package store\n\nimport \"os\"\n\ntype Store struct{ dir string }\n\nfunc (s *Store) Get(key string) []byte {\n\tdata, _ := os.ReadFile(s.dir + \"/\" + key)\n\treturn data\n}\n\nfunc (s *Store) Put(key string, data []byte) error {\n\treturn os.WriteFile(s.dir+\"/\"+key, data, 0o644)\n}\n";
const GO_MOVED: &str = "package store\n\nimport \"os\"\n\ntype Store struct{ dir string }\n\nfunc (s *Store) Put(key string, data []byte) error {\n\treturn os.WriteFile(s.dir+\"/\"+key, data, 0o644)\n}\n\nfunc (s *Store) Len() int {\n\treturn 0\n}\n\nfunc (s *Store) Get(key string) []byte {\n\tdata, _ := os.ReadFile(s.dir + \"/\" + key)\n\treturn data\n}\n";

const SHELL: &str = "#!/usr/bin/env bash\nset -eo pipefail\n\nbuild() {\n  make all\n}\n\ndeploy() {\n  local image=$(docker images -q app)\n  docker run -d $image\n  trap \"rm -rf $TMP\" EXIT\n}\n\nbuild\ndeploy\n";
const SHELL_KEPT: &str = "#!/usr/bin/env bash\nset -eo pipefail\nsource ./deploy.sh\n\nbuild() {\n  make all\n}\n\nbuild\ndeploy\n";
const SHELL_MOVED: &str = "deploy() {\n  local image=$(docker images -q app)\n  docker run -d $image\n  trap \"rm -rf $TMP\" EXIT\n}\n";

const MARKDOWN: &str = "# Guide\n\nHow it works.\n\n## Setup\n\nRun the installer as root.\nIt asks for the password twice.\n\n## Use\n\nCall `serve` and open the page.\n";
const MARKDOWN_KEPT: &str = "# Guide\n\nHow it works.\n\n## Use\n\nCall `serve` and open the page.\n";
const MARKDOWN_MOVED: &str =
    "# Installing\n\n### Setup\n\nRun the installer as root.\nIt asks for the password twice.\n";

const CASES: &[Case] = &[
    Case {
        name: "python: into a class of another file, indented anew",
        before: &[("shop.py", PYTHON)],
        after: &[("shop.py", PYTHON_KEPT), ("reading.py", PYTHON_MOVED)],
        was: ("shop.py", "open(path)", "File handles are never closed"),
        is: ("reading.py", "open(path)", "`open` without a with statement leaks descriptors"),
    },
    Case {
        name: "javascript: to a new file",
        before: &[("src/all.js", JS)],
        after: &[("src/all.js", JS_KEPT), ("src/net.js", JS_MOVED)],
        was: ("src/all.js", "await fetch", "The status of the answer is not looked at"),
        is: ("src/net.js", "await fetch", "An HTTP error goes unnoticed: `ok` is never checked"),
    },
    Case {
        name: "go: further down in its file",
        before: &[("store.go", GO)],
        after: &[("store.go", GO_MOVED)],
        was: ("store.go", "os.ReadFile", "The error of ReadFile is dropped"),
        is: ("store.go", "os.ReadFile", "Swallows a failed read, callers get nil"),
    },
    Case {
        name: "shell: to a new file",
        before: &[("run.sh", SHELL)],
        after: &[("run.sh", SHELL_KEPT), ("deploy.sh", SHELL_MOVED)],
        was: ("run.sh", "docker run", "An unquoted variable splits on spaces"),
        is: ("deploy.sh", "docker run", "Quote `$image`"),
    },
    Case {
        name: "markdown: a section to another document",
        before: &[("GUIDE.md", MARKDOWN)],
        after: &[("GUIDE.md", MARKDOWN_KEPT), ("INSTALL.md", MARKDOWN_MOVED)],
        was: ("GUIDE.md", "as root", "Nobody should need root for this"),
        is: ("INSTALL.md", "as root", "Why must the installer have all rights?"),
    },
];

fn write(dir: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let file = dir.join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
}

/// Two commits, and the comparison of two findings over them.
fn compared(case: &Case, beside: &[Cited<'_>]) -> Comparison {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().as_os_str();
    let git_at = |args: &[&str]| {
        let mut all = vec!["-C".as_ref(), path, "-c".as_ref(), "user.name=T".as_ref(), "-c".as_ref()];
        all.push("user.email=t@localhost".as_ref());
        all.extend(args.iter().map(std::ffi::OsStr::new));
        run("git", &all).unwrap()
    };
    git_at(&["init", "-q", "-b", "main"]);
    write(dir.path(), case.before);
    git_at(&["add", "-A"]);
    git_at(&["commit", "-q", "-m", "before"]);
    write(dir.path(), case.after);
    git_at(&["add", "-A"]);
    git_at(&["commit", "-q", "-m", "after"]);
    let repo = dir.path().join(".git");
    let change = Change::from_unified(&git(&repo, &["diff", "-M", "-U0", "HEAD~1", "HEAD"]).unwrap());
    let read = |side: Side, path: &str| {
        let revision = if side == Side::Before { "HEAD~1" } else { "HEAD" };
        git(&repo, &["show", &format!("{revision}:{path}")]).ok()
    };
    let claim = |files: &[(&str, &str)], (file, part, words): Cited<'_>| {
        let text = files.iter().find(|(path, _)| *path == file).unwrap().1;
        let line = text.lines().position(|line| line.contains(part)).unwrap() as u32 + 1;
        Claim::new(Severity::Warning, words).at(file, Some(line))
    };
    let before = claim(case.before, case.was);
    let after: Vec<Claim> =
        std::iter::once(&case.is).chain(beside).map(|cited| claim(case.after, *cited)).collect();
    compare(&[&before], &after.iter().collect::<Vec<_>>(), &change, &read, &Scorer::default())
}

#[test]
fn moved_code_keeps_its_findings_in_any_language() {
    for case in CASES {
        let found = compared(case, &[]);
        assert_eq!(found.pairs.len(), 1, "{}: {found:#?}", case.name);
        let crossed = case.was.0 != case.is.0;
        assert_eq!(found.pairs[0].0.how == How::Moved, crossed, "{}: {found:#?}", case.name);
    }
}

#[test]
fn what_only_looks_moved_is_not() {
    let other = ("reading.py", "class Reader", "The class has no docstring");
    let found = compared(&Case { is: other, ..CASES[0] }, &[]);
    assert!(found.pairs.is_empty(), "another line of the file it moved to: {found:#?}");
}

#[test]
fn a_finding_goes_where_its_code_went_though_another_is_left_behind() {
    let left = ("shop.py", "sum(", "Rounding is lost in `sum`");
    let found = compared(&CASES[0], &[left]);
    assert_eq!(found.pairs.len(), 1, "{found:#?}");
    assert_eq!((found.pairs[0].0.after, found.fresh[0].0), (0, 1), "{found:#?}");
}
