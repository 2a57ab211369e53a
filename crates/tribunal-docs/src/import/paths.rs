//! Files and folders that prose names.
//!
//! A path is a name with a known ending, a folder with its final slash, or a name below a folder that holds sources.
//! Addresses, routes, methods and names such as `Node.js` are not paths. Lists decide, because prose is full of words
//! that look the same.

use super::Names;

/// Endings of files that plans name. It is a list, because `logger.warn` and `asyncio.sleep` look the same.
const ENDINGS: &[&str] = &[
    "adoc",
    "astro",
    "asm",
    "bash",
    "bat",
    "bazel",
    "bib",
    "bicep",
    "bzl",
    "c",
    "cc",
    "cfg",
    "cjs",
    "clj",
    "cljs",
    "cmake",
    "cmd",
    "conf",
    "cpp",
    "cs",
    "cshtml",
    "csproj",
    "css",
    "csv",
    "cts",
    "cu",
    "cxx",
    "dart",
    "diff",
    "Dockerfile",
    "docx",
    "edn",
    "eex",
    "ejs",
    "el",
    "elm",
    "eml",
    "erb",
    "erl",
    "ex",
    "exs",
    "feature",
    "fish",
    "frag",
    "fs",
    "fsproj",
    "gd",
    "geojson",
    "gif",
    "glsl",
    "go",
    "gql",
    "gradle",
    "graphql",
    "graphqls",
    "groovy",
    "h",
    "haml",
    "hbs",
    "hcl",
    "heex",
    "hh",
    "hpp",
    "hs",
    "htm",
    "html",
    "hxx",
    "ico",
    "iml",
    "ini",
    "ino",
    "ipynb",
    "iss",
    "j2",
    "java",
    "jinja",
    "jinja2",
    "jl",
    "jpeg",
    "jpg",
    "js",
    "json",
    "json5",
    "jsonc",
    "jsonl",
    "jsx",
    "kt",
    "kts",
    "less",
    "lisp",
    "asd",
    "liquid",
    "lua",
    "m4",
    "make",
    "md",
    "mdx",
    "metal",
    "mjs",
    "mk",
    "ml",
    "mli",
    "mm",
    "mp3",
    "mp4",
    "mts",
    "ndjson",
    "nim",
    "nix",
    "nuspec",
    "onnx",
    "parquet",
    "patch",
    "pdf",
    "php",
    "pl",
    "plist",
    "png",
    "po",
    "pom",
    "prisma",
    "proj",
    "properties",
    "props",
    "proto",
    "ps1",
    "psd1",
    "psm1",
    "pug",
    "py",
    "pyi",
    "pyx",
    "qml",
    "r",
    "razor",
    "rb",
    "resx",
    "rmd",
    "rs",
    "rst",
    "sass",
    "sbt",
    "scala",
    "scss",
    "sh",
    "sln",
    "slnx",
    "sol",
    "sqlite",
    "sqlite3",
    "sql",
    "styl",
    "sum",
    "svelte",
    "svg",
    "swift",
    "tape",
    "targets",
    "tcss",
    "tex",
    "tf",
    "tfvars",
    "thrift",
    "toml",
    "tpl",
    "tres",
    "ts",
    "tscn",
    "tsv",
    "tsx",
    "ttf",
    "twig",
    "txt",
    "ui",
    "vb",
    "vbs",
    "vert",
    "vim",
    "vue",
    "wasm",
    "wat",
    "wav",
    "webp",
    "wgsl",
    "woff",
    "woff2",
    "wsdl",
    "wxs",
    "xaml",
    "xcconfig",
    "xcodeproj",
    "xhtml",
    "xlsx",
    "xml",
    "xsd",
    "xsl",
    "yaml",
    "yml",
    "zig",
    "zip",
    "zsh",
];

/// Endings that are just as often the end of an expression. A folder before them, or a `*`, settles it.
const DOUBTFUL_ENDINGS: &[&str] = &[
    "bin", "config", "dat", "data", "db", "env", "example", "gz", "local", "lock", "log", "map", "mod",
    "snap", "spec", "tmp",
];

/// Whole names that are files.
const NAMES: &[&str] = &[
    ".babelrc",
    ".dockerignore",
    ".editorconfig",
    ".env",
    ".eslintignore",
    ".eslintrc",
    ".gitattributes",
    ".gitignore",
    ".gitmodules",
    ".helmignore",
    ".npmignore",
    ".npmrc",
    ".nvmrc",
    ".prettierignore",
    ".prettierrc",
    ".python-version",
    ".ruby-version",
    ".tool-versions",
    "Cargo.lock",
    "CODEOWNERS",
    "composer.lock",
    "Containerfile",
    "Dockerfile",
    "Gemfile",
    "Gemfile.lock",
    "go.mod",
    "go.sum",
    "go.work",
    "Jenkinsfile",
    "justfile",
    "LICENSE",
    "Makefile",
    "mix.lock",
    "Pipfile",
    "poetry.lock",
    "Procfile",
    "pubspec.lock",
    "Rakefile",
    "uv.lock",
    "Vagrantfile",
    "yarn.lock",
];

/// Names of programs and frameworks that look like files.
const NO_FILES: &[&str] = &[
    "alpine.js",
    "angular.js",
    "backbone.js",
    "chart.js",
    "d3.js",
    "day.js",
    "discord.js",
    "ember.js",
    "express.js",
    "fastify.js",
    "hono.js",
    "koa.js",
    "leaflet.js",
    "moment.js",
    "nest.js",
    "next.js",
    "node.js",
    "nuxt.js",
    "p5.js",
    "phaser.js",
    "pixi.js",
    "qwik.js",
    "react.js",
    "solid.js",
    "svelte.js",
    "tensorflow.js",
    "three.js",
    "tone.js",
    "transformers.js",
    "vue.js",
    "web3.js",
    "ethers.js",
    "socket.js",
    "editor.js",
    "monaco.js",
    "pdf.js",
    "video.js",
    "wavesurfer.js",
];

/// Folders whose contents are named without an ending, as in `internal/store`.
const SOURCE_FOLDERS: &[&str] = &[".github", "apps", "cmd", "crates", "internal", "packages", "pkg", "src"];

/// More such folders, but only where the text marks code: `docs/tests` is prose as well.
const MARKED_FOLDERS: &[&str] = &["docs", "lib", "libs", "scripts", "test", "tests"];

/// Adds the paths that a line names, in order, to those found before.
pub(super) fn add_paths(line: &str, found: &mut Names) {
    let mut code = false;
    for part in line.split_inclusive('`') {
        let closed = part.ends_with('`');
        let span = part.strip_suffix('`').unwrap_or(part);
        // An address is left out whole, since its path is not one of the project.
        for word in span.split_whitespace().filter(|word| !word.contains("://")) {
            // A backtick that never closes marks nothing.
            add_word(word, code && closed, found);
        }
        // Backticks alternate between prose and code.
        code = closed && !code;
    }
}

/// Finds the candidates in a word and examines each.
fn add_word(word: &str, code: bool, found: &mut Names) {
    let mut rest = word;
    let mut before = None;
    while let Some(first) = rest.chars().next() {
        let end = candidate(rest, code);
        let (token, after) = rest.split_at(end.max(first.len_utf8()));
        // `$value/$type` and `this/那个` are not folders.
        let glued =
            after.starts_with(|c: char| c.is_alphabetic() || matches!(c, '@' | '$' | '<' | '{' | '[' | '%'));
        if end > 0 && before != Some('$') {
            add_token(token, code, glued, found);
        }
        (before, rest) = (token.chars().next_back(), after);
    }
}

/// How many bytes at the beginning of a text may be a path; 0 if none can begin here. `app/[id]/*.ts` and `{a,b}.json`
/// are paths, `**bold**` and `[link]` are not.
fn candidate(text: &str, code: bool) -> usize {
    let (mut before, mut in_brackets, mut in_braces) = (None, false, false);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let next = chars.peek().map(|(_, next)| *next);
        let fits = match c {
            '[' => code || before == Some('/'),
            ']' => in_brackets,
            '{' => code,
            '}' | ',' => in_braces,
            '*' => {
                code || matches!(before, Some('/' | '.' | '_' | '-'))
                    || (before.is_none() && next == Some('.'))
            }
            '<' | '>' => code,
            '/' | '.' | '_' | '-' | '+' | '~' => true,
            c => c.is_ascii_alphanumeric() || (code && c.is_alphanumeric()),
        };
        if !fits {
            return at;
        }
        in_brackets = c == '[' || (in_brackets && c != ']');
        in_braces = c == '{' || (in_braces && c != '}');
        before = Some(c);
    }
    text.len()
}

/// Adds one candidate. `a.h/b.h` names two files.
fn add_token(token: &str, code: bool, glued: bool, found: &mut Names) {
    let token = token.trim_end_matches(['.', '_', '-', '~', '+']);
    let (mut path, mut name) = (0, 0);
    for (slash, _) in token.match_indices('/') {
        let is_last = slash + 1 == token.len();
        // A file cannot have anything below it, so the slash separates two of them.
        if !is_last && is_source_file(&token[name..slash]) {
            found.add(&token[path..slash]);
            path = slash + 1;
        }
        name = slash + 1;
    }
    let token = &token[path..];
    // The folder first: `src/app.d/` ends like a folder although its name has a dot.
    if is_folder(token, glued) {
        found.add(token.trim_end_matches('*'));
    } else if is_file(token) || is_source(token, code) {
        found.add(token);
    }
}

fn is_in(list: &[&str], word: &str) -> bool {
    list.iter().any(|one| one.eq_ignore_ascii_case(word))
}

fn is_file(token: &str) -> bool {
    let (folder, name) = token.rsplit_once('/').unwrap_or(("", token));
    // `...` stands for something left out, except in a route such as `[...slug]`.
    let whole = !token.contains("//") && (!token.contains("...") || token.contains("[..."));
    whole && is_file_name(name, !folder.is_empty()) && (name.len() < token.len() || !is_in(NO_FILES, name))
}

fn is_file_name(name: &str, in_folder: bool) -> bool {
    if NAMES.contains(&name) || name.starts_with(".env.") {
        return true;
    }
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    let named =
        stem.ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '*' | ']' | '}' | '>'));
    // `config.data` alone may be an expression; `etc/config.data` is a file.
    let settled = in_folder || stem.contains('*');
    named && (is_in(ENDINGS, ending) || (settled && is_in(DOUBTFUL_ENDINGS, ending)))
}

/// Whether a name is a file beyond doubt, even in front of a slash: `Company.Data/` and `next.js/` are folders.
fn is_source_file(name: &str) -> bool {
    let Some((stem, ending)) = name.rsplit_once('.') else { return false };
    stem.ends_with(|c: char| c.is_alphanumeric() || c == '_') && ENDINGS.contains(&ending) && ending != "js"
}

/// Whether a token is a folder below the project, by its final slash. Glued to a letter it is half of `this/that`.
fn is_folder(token: &str, glued: bool) -> bool {
    // `src/*` and `src/**` stand for everything in it.
    let Some(names) =
        token.trim_end_matches('*').strip_suffix('/').map(|names| names.strip_prefix("./").unwrap_or(names))
    else {
        return false;
    };
    let named =
        |name: &str| name.len() > 1 && name.contains(|c: char| c.is_alphabetic()) && !name.starts_with('~');
    !glued
        && names.split('/').any(named)
        && names.split('/').all(|name| !name.is_empty() && name != "~" && !name.contains('+'))
}

fn is_source(token: &str, code: bool) -> bool {
    let mut names = token.strip_prefix("./").unwrap_or(token).split('/');
    let root = names.next().unwrap_or("");
    let below: Vec<&str> = names.collect();
    let rooted = SOURCE_FOLDERS.contains(&root) || (code && MARKED_FOLDERS.contains(&root));
    // The root folder alone is a word like any other.
    rooted && !below.is_empty() && below.iter().all(|name| name.contains(char::is_alphanumeric))
}

#[cfg(test)]
mod tests {
    #[test]
    fn paths_and_what_looks_like_them() {
        let check = |line: &str, expect: &[&str]| {
            let mut found = super::Names::default();
            super::add_paths(line, &mut found);
            assert_eq!(found.list, expect, "{line}");
        };
        check("Add `src/a.rs` and tests/b_test.py.", &["src/a.rs", "tests/b_test.py"]);
        check("Write README.md, then docs/ (all)", &["README.md", "docs/"]);
        check("`src/main.rs:39-43`, server.py::call", &["src/main.rs", "server.py"]);
        check("`app/[id]/page.tsx` and `*.go`", &["app/[id]/page.tsx", "*.go"]);
        check("_Leverage: src/task.ts_", &["src/task.ts"]);
        check("Move internal/store into `tests/unit`", &["internal/store", "tests/unit"]);
        check("src/a.h/b.h", &["src/a.h", "b.h"]);
        check("環境environment.lispに追加", &["environment.lisp"]);
        check(".gitignore, .env.example and Dockerfile", &[".gitignore", ".env.example", "Dockerfile"]);
        check("Node.js, async/await, w/ and/or, 1/2, console.log, process.env", &[]);
        check("see https://example.org/a.md and /api/v1/todos/", &[]);
        check("読み込み/API/サーバ", &[]);
        check(
            "app/blog/[...slug].vue, **docs/a.md** and test_*.py",
            &["app/blog/[...slug].vue", "docs/a.md", "test_*.py"],
        );
        check(
            "`maps/{en,de}.json`, `src/shared/*`, Company.Data/Model.cs",
            &["maps/{en,de}.json", "src/shared/", "Company.Data/Model.cs"],
        );
        check("the license of `$value/$type`, shift+/", &[]);
        check("`unclosed and src/a.rs", &["src/a.rs"]);
        check("", &[]);
    }
}
