//! What the rules for a launch come to, on homes made for it.

use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};
use tribunal_process::Mount;

fn put(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "text").unwrap();
}

/// What a command sees of a home with these files, when PATH names these folders of it.
fn seen(files: &[&str], path: &[&str]) -> (tempfile::TempDir, Mounts) {
    let folder = tempfile::tempdir().unwrap();
    let mounts = sandbox_in(folder.path(), files, path, None, |_| {}).unwrap();
    (folder, mounts)
}

/// The same of a program, after this was done in the folder with home and tree.
fn sandbox_in(
    folder: &Path,
    files: &[&str],
    path: &[&str],
    program: Option<&str>,
    deed: impl FnOnce(&Path),
) -> Result<Mounts, String> {
    let root = folder.canonicalize().unwrap();
    let home = root.join("home");
    files.iter().for_each(|file| put(&home.join(file)));
    let (own, tree) = (root.join("own"), root.join("check/tree"));
    fs::create_dir_all(&tree).unwrap();
    deed(&root);
    let adapters = Adapters::default();
    let environment = BTreeMap::from([("HOME".to_owned(), home.clone().into_os_string())]);
    let readable = [home.join("readable").display().to_string()];
    let writable = [root.join("writable").display().to_string()];
    let host = SandboxHost {
        sandbox: Sandbox::Raised,
        environment: &environment,
        adapters: &adapters,
        readable: &readable,
        writable: &writable,
        keys: &[home.join("readable/keys/sign"), home.join("readable/rings"), home.clone()],
        git_settings: &[],
        own_binary: Path::new("/usr/bin/env"),
        project: None,
        within: &root,
        scratches: None,
    };
    let bins = std::env::join_paths(path.iter().map(|bin| home.join(bin))).unwrap();
    let env = [("PATH".into(), bins)];
    let spec = SandboxSpec {
        tree: &tree,
        write: true,
        own: &own,
        more: Vec::new(),
        row: None,
        env: &env,
        program: program.map(OsStr::new),
    };
    host.mounts(&spec).map(Option::unwrap)
}

#[test]
fn a_tree_that_was_moved_away_is_refused() {
    type Deed<'a> = &'a dyn Fn(&Path);
    let away = |root: &Path, what: &str| fs::rename(root.join(what), root.join("was")).unwrap();
    let deeds: [(&str, Deed<'_>, bool); 5] = [
        ("nothing", &|_| {}, true),
        (
            "a link to the home",
            &|root| {
                away(root, "check/tree");
                symlink(root.join("home"), root.join("check/tree")).unwrap();
            },
            false,
        ),
        (
            "a link to itself, elsewhere",
            &|root| {
                away(root, "check/tree");
                symlink(root.join("was"), root.join("check/tree")).unwrap();
            },
            false,
        ),
        (
            "a link above it",
            &|root| {
                away(root, "check");
                symlink(root.join("was"), root.join("check")).unwrap();
            },
            false,
        ),
        (
            "a file",
            &|root| {
                away(root, "check/tree");
                fs::write(root.join("check/tree"), "").unwrap();
            },
            false,
        ),
    ];
    for (name, deed, fits) in deeds {
        let folder = tempfile::tempdir().unwrap();
        let mounts = sandbox_in(folder.path(), &["x"], &[], None, deed);
        assert_eq!(mounts.is_ok(), fits, "{name}: {mounts:?}");
    }
}

#[test]
fn a_program_that_an_agent_linked_shows_nothing() {
    let script = |path: &Path| {
        put(path);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    };
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let link = |root: &Path, at: &str| {
        let at = root.join(at);
        fs::create_dir_all(at.parent().unwrap()).unwrap();
        symlink(root.join("others/run"), at).unwrap();
    };
    script(&root.join("others/run"));
    let writable = root.join("writable/run").display().to_string();
    let given = root.join("given/run").display().to_string();
    for (program, at, shows) in [
        ("./run", "check/tree/run", false),
        ("bin/run", "check/tree/bin/run", false),
        (writable.as_str(), "writable/run", false),
        (given.as_str(), "given/run", true),
    ] {
        let mounts = sandbox_in(&root, &["x"], &[], Some(program), |root| link(root, at)).unwrap();
        assert_eq!(shown(&mounts, &root.join("others/run")), shows, "{program}");
    }
}

/// Whether a path is seen from inside, by the nearest rule.
fn shown(mounts: &Mounts, path: &Path) -> bool {
    let rules: BTreeMap<&Path, bool> = mounts
        .0
        .iter()
        .map(|mount| match mount {
            Mount::Hide(path) => (path.as_path(), false),
            Mount::Show { from, to, .. } => (to.as_path(), from == to),
        })
        .collect();
    path.ancestors().find_map(|above| rules.get(above).copied()).unwrap_or(true)
}

/// Which of these files of a home are seen, when PATH names these folders of it.
fn saw<'a>(files: &[&'a str], path: &[&str]) -> Vec<&'a str> {
    let (folder, mounts) = seen(files, path);
    let home = folder.path().canonicalize().unwrap().join("home");
    files.iter().copied().filter(|file| shown(&mounts, &home.join(file))).collect()
}

#[test]
fn a_home_is_empty_but_for_programs_and_what_is_named() {
    let files =
        ["notes", ".bashrc", ".config/app", ".cache/x", "src/p/.env", "readable/x", "readable/.tribunal/key"];
    assert_eq!(saw(&files, &[]), ["readable/x"]);
}

#[test]
fn a_folder_of_programs_shows_no_secret_beside_it() {
    let files = [
        ".cargo/bin/cargo",
        ".cargo/registry/x",
        ".cargo/credentials.toml",
        ".cargo/config.toml",
        ".ssh/id",
        ".ssh/bin/x",
        "tool/bin/x",
        "tool/lib/y",
        "project/bin/x",
        "project/.env",
        "project/src",
    ];
    let always = [".cargo/bin/cargo", ".cargo/registry/x", ".cargo/config.toml"];
    let check = |path: &[&str], more: &[&str]| {
        assert_eq!(saw(&files, path), [&always[..], more].concat(), "{path:?}");
    };
    check(&[], &[]);
    check(&[".cargo/bin", "tool/bin"], &["tool/bin/x", "tool/lib/y"]);
    check(&[".cargo"], &[]);
    check(&[".ssh"], &[]);
    check(&[".ssh/bin"], &[]);
    check(&["."], &[]);
    check(&["project/bin"], &["project/bin/x"]);
}

#[test]
fn a_folder_of_programs_hides_secrets_by_their_names() {
    let files = [
        "bin/run",
        "bin/.env.local",
        "bin/token.txt",
        "bin/keys/id_ed25519",
        "tool/bin/x",
        "tool/credentials.json",
        "tool/etc/secrets.yml",
        "tool/etc/settings.yml",
        "tool/lib/deep/token.js",
    ];
    let shown = ["bin/run", "tool/bin/x", "tool/etc/settings.yml", "tool/lib/deep/token.js"];
    assert_eq!(saw(&files, &["bin", "tool/bin"]), shown);
}

/// People keep projects beside the programs that they installed: `~/go/src` beside `~/go/bin`.
#[test]
fn a_project_beside_programs_is_not_shown_with_them() {
    let files = [
        "go/bin/tool",
        "go/pkg/mod/m/x.go",
        "go/src/a/x.go",
        "go/src/a/.git/config",
        "go/src/a/.tribunal/journal",
        "conda/bin/python",
        "conda/bin/deep/p/.tribunal/journal",
        "conda/conda-meta/history",
        "conda/envs/e/bin/python",
        "conda/lib/python3/os.py",
        "conda/lib/python3/p/.git/config",
        "conda/lib/python3/p/.tribunal/journal",
        "conda/pyvenv.cfg",
        "conda/work/p/notes",
        "conda/work/p/.tribunal/journal",
        "go1.22/bin/go",
        "go1.22/src/runtime/runtime.go",
        "miniconda3/bin/python",
        "miniconda3/work/.tribunal/journal",
        ".nvm/versions/node/v22/bin/node",
        ".nvm/versions/node/v22/lib/node_modules/npm/x.js",
        ".pyenv/shims/python",
        ".pyenv/versions/3/bin/python",
        ".pyenv/.git/config",
        "inst/run",
        "inst/deep/p/.tribunal/journal",
        "inst/deep/p/.git/config",
    ];
    let bins = ["go/bin", "conda/bin", "go1.22/bin", "miniconda3/bin", ".pyenv/shims", "inst"];
    let shown = [
        "go/bin/tool",
        "go/pkg/mod/m/x.go",
        "conda/bin/python",
        "conda/conda-meta/history",
        "conda/envs/e/bin/python",
        "conda/lib/python3/os.py",
        "conda/pyvenv.cfg",
        "go1.22/bin/go",
        "go1.22/src/runtime/runtime.go",
        "miniconda3/bin/python",
        ".nvm/versions/node/v22/bin/node",
        ".nvm/versions/node/v22/lib/node_modules/npm/x.js",
        ".pyenv/shims/python",
        ".pyenv/versions/3/bin/python",
        ".pyenv/.git/config",
        "inst/run",
    ];
    assert_eq!(saw(&files, &bins), shown);
}

/// A link beside programs leads to a secret elsewhere, or is named as one.
#[test]
fn a_link_to_a_secret_beside_programs_shows_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap().join("home");
    let files = ["private/.env", "private/plain", "private/run"];
    let mounts = sandbox_in(folder.path(), &files, &["bin"], None, |_| {
        fs::create_dir_all(home.join("bin")).unwrap();
        symlink("../private/.env", home.join("bin/settings")).unwrap();
        symlink("../private/plain", home.join("bin/token")).unwrap();
        symlink("../private/run", home.join("bin/run")).unwrap();
    });
    let mounts = mounts.unwrap();
    let saw: Vec<&str> = files.into_iter().filter(|file| shown(&mounts, &home.join(file))).collect();
    assert_eq!(saw, ["private/run"]);
}

/// A link beside programs to a folder leads to anything: documents, other projects with their journals, the whole home.
#[test]
fn a_link_to_a_folder_beside_programs_shows_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap().join("home");
    let files =
        ["documents/letter", "src/other/.tribunal/runs/r/journal.db", "src/other/main.rs", "tool/run"];
    let mounts = sandbox_in(folder.path(), &files, &["bin"], None, |root| {
        fs::create_dir_all(home.join("bin")).unwrap();
        symlink("../documents", home.join("bin/documents")).unwrap();
        symlink("../src", home.join("bin/src")).unwrap();
        symlink(root.join("home"), home.join("bin/home")).unwrap();
        symlink("../tool/run", home.join("bin/run")).unwrap();
    });
    let mounts = mounts.unwrap();
    let saw: Vec<&str> = files.into_iter().filter(|file| shown(&mounts, &home.join(file))).collect();
    assert_eq!(saw, ["tool/run"]);
}

/// A folder of scripts lies among projects, or projects lie in it.
#[test]
fn a_folder_of_programs_shows_no_project_of_tribunal() {
    let files = [
        "dev/bin/run",
        "dev/one/.git/config",
        "dev/one/config/password",
        "scripts/run",
        "scripts/lib/sh",
        "scripts/a/b/c/.tribunal/runs/r/journal.db",
        "tool/bin/x",
        "tool/lib/y",
        "tool/share/deep/er/.tribunal/key",
        "go/bin/x",
        "go/src/p/main.go",
    ];
    let shown = ["dev/bin/run", "scripts/run", "scripts/lib/sh", "tool/bin/x", "tool/lib/y", "go/bin/x"];
    assert_eq!(saw(&files, &["dev/bin", "scripts", "tool/bin", "go/bin"]), shown);
}

#[test]
fn a_link_of_a_program_shows_what_it_leads_to_and_its_interpreter() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let home = root.join("home");
    let files = [
        "opt/v2/run",
        "opt/v2/other",
        "env/bin/python",
        "env/lib/site",
        "env/pyvenv.cfg",
        "lib/node_modules/cli/bin.js",
    ];
    let mounts = sandbox_in(&root, &files, &["bin"], None, |_| {
        fs::create_dir_all(home.join("bin")).unwrap();
        symlink("../opt/v2/run", home.join("opt/current")).unwrap();
        symlink("../opt/current", home.join("bin/tool")).unwrap();
        fs::write(home.join("bin/script"), format!("#!{}/env/bin/python -u\n", home.display())).unwrap();
        symlink("../lib/node_modules/cli/bin.js", home.join("bin/cli")).unwrap();
    });
    let mounts = mounts.unwrap();
    let saw: Vec<&str> = files.into_iter().filter(|file| shown(&mounts, &home.join(file))).collect();
    assert_eq!(
        saw,
        ["opt/v2/run", "env/bin/python", "env/lib/site", "env/pyvenv.cfg", "lib/node_modules/cli/bin.js"]
    );
    let step = home.join("opt/current");
    assert!(
        mounts.0.iter().any(|mount| mount.place() == step),
        "the link on the way has its name: {mounts:?}"
    );
}

#[test]
fn settings_of_a_tool_that_hold_a_token_are_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().canonicalize().unwrap().join("home");
    let mounts = sandbox_in(folder.path(), &[".cargo/bin/cargo"], &[".cargo/bin"], None, |_| {
        fs::write(home.join(".cargo/config.toml"), "[registry]\ntoken = \"x\"\n").unwrap();
    });
    assert!(!shown(&mounts.unwrap(), &home.join(".cargo/config.toml")));
}

#[test]
fn no_signing_key_is_seen_wherever_it_lies() {
    assert_eq!(
        saw(&["readable/keys/sign", "readable/keys/other", "readable/rings/private"], &[]),
        ["readable/keys/other"]
    );
}

/// A folder that is opened by the name of a link is seen by both names, and no project in it by either.
#[test]
fn a_project_behind_a_link_is_hidden_by_every_name() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let mounts = sandbox_in(&root, &["x"], &[], None, |root| {
        put(&root.join("elsewhere/p/.tribunal/key"));
        symlink(root.join("elsewhere"), root.join("home/readable")).unwrap();
    });
    let mounts = mounts.unwrap();
    assert!(mounts.0.iter().any(|mount| mount.place() == root.join("home/readable")), "{mounts:?}");
    for at in ["elsewhere/p/.tribunal", "home/readable/p/.tribunal"] {
        assert!(mounts.0.contains(&Mount::Hide(root.join(at))), "{at}: {mounts:?}");
    }
}
