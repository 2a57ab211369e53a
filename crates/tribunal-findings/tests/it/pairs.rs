//! Pairing over real edits: moves, renames, splits, new indentation, edits in place. Diffs are made here, by lines.

use tribunal_core::finding::{Claim, Severity};
use tribunal_findings::track::compare::{Comparison, Fresh, Gone};
use tribunal_findings::track::pair::{How, Scorer};
use tribunal_findings::track::{Change, FileChange, Hunk, Side, compare};

/// Hunks between two texts by the longest common subsequence of lines.
fn hunks(old: &str, new: &str) -> Vec<Hunk> {
    let (a, b): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let mut longest = vec![vec![0u32; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            longest[i][j] = if a[i] == b[j] {
                longest[i + 1][j + 1] + 1
            } else {
                longest[i + 1][j].max(longest[i][j + 1])
            };
        }
    }
    let mut found: Vec<Hunk> = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            (i, j) = (i + 1, j + 1);
            continue;
        }
        let (from_i, from_j) = (i, j);
        while (i < a.len() || j < b.len()) && !(i < a.len() && j < b.len() && a[i] == b[j]) {
            if j == b.len() || (i < a.len() && longest[i + 1][j] >= longest[i][j + 1]) {
                i += 1
            } else {
                j += 1
            }
        }
        let n = |x: usize| x as u32;
        found.push(Hunk {
            old_start: n(from_i) + 1,
            old_len: n(i - from_i),
            new_start: n(from_j) + 1,
            new_len: n(j - from_j),
        });
    }
    found
}

type Tree<'a> = &'a [(&'a str, &'a str)];

struct Trees<'a> {
    before: Tree<'a>,
    after: Tree<'a>,
    renames: &'a [(&'a str, &'a str)],
}

impl Trees<'_> {
    fn change(&self) -> Change {
        let find = |tree: Tree<'_>, path: &str| {
            tree.iter().find(|(p, _)| *p == path).map(|(_, text)| text.to_string())
        };
        let mut files = Vec::new();
        for (old, text) in self.before {
            let new = self.renames.iter().find(|(from, _)| from == old).map_or(*old, |(_, to)| *to);
            match find(self.after, new) {
                Some(now) => files.push(FileChange {
                    old: Some(old.to_string()),
                    new: Some(new.into()),
                    hunks: hunks(text, &now),
                }),
                None => {
                    files.push(FileChange { old: Some(old.to_string()), new: None, hunks: hunks(text, "") })
                }
            }
        }
        for (new, text) in self.after {
            let known =
                self.before.iter().any(|(old, _)| old == new) || self.renames.iter().any(|(_, to)| to == new);
            if !known {
                files.push(FileChange { old: None, new: Some(new.to_string()), hunks: hunks("", text) });
            }
        }
        Change::new(files.into_iter().filter(|f| f.old != f.new || !f.hunks.is_empty()).collect())
    }

    fn compare(&self, before: &[Claim], after: &[Claim]) -> Comparison {
        let read = |side: Side, path: &str| {
            let tree = if side == Side::Before { self.before } else { self.after };
            tree.iter().find(|(p, _)| *p == path).map(|(_, text)| text.to_string())
        };
        let (a, b): (Vec<&Claim>, Vec<&Claim>) = (before.iter().collect(), after.iter().collect());
        compare(&a, &b, &self.change(), &read, &Scorer::default())
    }
}

fn line_of(text: &str, needle: &str) -> u32 {
    text.lines().position(|line| line.contains(needle)).expect("the line is there") as u32 + 1
}

fn at(file: &str, text: &str, needle: &str, words: &str) -> Claim {
    Claim::new(Severity::Warning, words).at(file, Some(line_of(text, needle)))
}

const STORE: &str = "import os\n\n\nclass Store:\n    def __init__(self, root):\n        self.root = root\n        self.cache = {}\n\n    def load(self, key):\n        path = os.path.join(self.root, key)\n        data = open(path).read()\n        self.cache[key] = data\n        return data\n\n    def drop(self, key):\n        del self.cache[key]\n        os.remove(os.path.join(self.root, key))\n\n\ndef main(argv):\n    store = Store(argv[1])\n    print(store.load(argv[2]))\n";

fn only_pair(found: &Comparison) -> How {
    assert_eq!((found.pairs.len(), found.gone.len(), found.fresh.len()), (1, 0, 0), "{found:#?}");
    found.pairs[0].0.how
}

#[test]
fn a_method_moved_within_its_file() {
    let load = STORE.split("    def load").nth(1).unwrap().split("\n\n").next().unwrap();
    let block = format!("    def load{load}\n\n");
    let moved = STORE.replace(&block, "").replace("\n\ndef main", &format!("\n{block}\n\ndef main"));
    assert_ne!(moved, STORE);
    let trees = Trees { before: &[("s.py", STORE)], after: &[("s.py", &moved)], renames: &[] };
    let before = [at("s.py", STORE, "open(path)", "`open` is never closed in `load`")];
    let after = [at("s.py", &moved, "open(path)", "The file handle leaks: `open` without a with statement")];
    only_pair(&trees.compare(&before, &after));
}

#[test]
fn code_moved_to_a_new_file() {
    let (kept, gone) = STORE.split_once("\n\ndef main").unwrap();
    let other = format!("from store import Store\n\n\ndef main{gone}");
    let trees = Trees {
        before: &[("store.py", STORE)],
        after: &[("store.py", kept), ("main.py", &other)],
        renames: &[],
    };
    let before = [at("store.py", STORE, "argv[1]", "`argv` is read without checking its length")];
    let after = [at("main.py", &other, "argv[1]", "No check of the length of `argv` before it is indexed")];
    assert_eq!(only_pair(&trees.compare(&before, &after)), How::Moved);
}

#[test]
fn a_renamed_file() {
    let edited = STORE.replace("import os\n", "import os\nimport sys\n");
    let trees = Trees {
        before: &[("a/store.py", STORE)],
        after: &[("b/store.py", &edited)],
        renames: &[("a/store.py", "b/store.py")],
    };
    let before = [at("a/store.py", STORE, "del self", "`drop` fails on an unknown key")];
    let after = [at("b/store.py", &edited, "del self", "KeyError in `drop` when the key is not cached")];
    only_pair(&trees.compare(&before, &after));
}

#[test]
fn a_block_with_new_indentation() {
    let edited = STORE.replace(
        "        data = open(path).read()\n        self.cache[key] = data\n        return data\n",
        "        if os.path.exists(path):\n            data = open(path).read()\n            self.cache[key] = data\n            return data\n        return None\n",
    );
    let trees = Trees { before: &[("s.py", STORE)], after: &[("s.py", &edited)], renames: &[] };
    let before = [at("s.py", STORE, "open(path)", "`open` is never closed in `load`")];
    let after = [at("s.py", &edited, "open(path)", "The file handle leaks: `open` without a with statement")];
    only_pair(&trees.compare(&before, &after));
}

#[test]
fn a_finding_split_from_its_neighbour_keeps_its_own() {
    let edited = STORE.replace("        del self.cache[key]\n", "        self.cache.pop(key, None)\n");
    let trees = Trees { before: &[("s.py", STORE)], after: &[("s.py", &edited)], renames: &[] };
    let before = [
        at("s.py", STORE, "del self", "`drop` raises KeyError on an unknown key"),
        at("s.py", STORE, "os.remove", "`os.remove` fails when the file is already gone"),
    ];
    let after = [at("s.py", &edited, "os.remove", "A missing file makes `os.remove` raise")];
    let found = trees.compare(&before, &after);
    assert_eq!(found.pairs.len(), 1, "{found:#?}");
    assert_eq!((found.pairs[0].0.before, found.gone[0]), (1, (0, Gone::Resolved)));
}

#[test]
fn a_deleted_file_resolves_and_untouched_code_does_not() {
    let trees =
        Trees { before: &[("s.py", STORE), ("t.py", STORE)], after: &[("t.py", STORE)], renames: &[] };
    let before =
        [at("s.py", STORE, "del self", "`drop` fails"), at("t.py", STORE, "open(path)", "`open` leaks")];
    let after = [at("t.py", STORE, "print(", "prints to stdout from a library")];
    let found = trees.compare(&before, &after);
    assert!(found.pairs.is_empty(), "{found:#?}");
    assert_eq!(found.gone, [(0, Gone::Resolved), (1, Gone::NotReported)]);
    assert_eq!(found.fresh, [(0, Fresh::Late)]);
}

#[test]
fn rules_that_differ_are_never_one_finding() {
    let trees = Trees { before: &[("s.py", STORE)], after: &[("s.py", STORE)], renames: &[] };
    let mut before = at("s.py", STORE, "open(path)", "open-file without context handler");
    let mut after = at("s.py", STORE, "open(path)", "unspecified encoding");
    (before.rule, after.rule) = (Some("SIM115".into()), Some("PLW1514".into()));
    let found = trees.compare(&[before], &[after]);
    assert!(found.pairs.is_empty(), "{found:#?}");
}

#[test]
fn the_pairing_is_one_to_one_whatever_comes_in() {
    let trees = Trees { before: &[("s.py", STORE)], after: &[("s.py", STORE)], renames: &[] };
    let many = |n: u32| -> Vec<Claim> {
        (0..n).map(|i| Claim::new(Severity::Warning, "same words").at("s.py", Some(i % 30))).collect()
    };
    let found = trees.compare(&many(60), &many(45));
    assert_eq!(found.pairs.len() + found.gone.len(), 60);
    assert_eq!(found.pairs.len() + found.fresh.len(), 45);
}
