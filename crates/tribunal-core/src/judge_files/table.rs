//! The files that runners read beside the code, by name: a table, so that one more runner is one more line.
//!
//! All lines count for every project, because a script may call any runner. The first line that matches decides, so a
//! line with `*` stands after those it would shadow.

use super::manifest::Parts;

/// Makefiles, in the order in which make looks for them.
const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];

/// What a file of some name judges. A name may begin or end with `*`; one with a `/` is the end of a path.
const CONFIGURES: &[(&str, Parts)] = &[
    // Targets of the project's own.
    ("GNUmakefile", Parts::Whole),
    ("makefile", Parts::Whole),
    ("Makefile", Parts::Whole),
    ("*.mk", Parts::Whole),
    ("justfile", Parts::Whole),
    ("Justfile", Parts::Whole),
    ("JUSTFILE", Parts::Whole),
    (".justfile", Parts::Whole),
    ("*.just", Parts::Whole),
    ("Taskfile*", Parts::Whole),
    ("taskfile*", Parts::Whole),
    // The shell and the versions of tools.
    (".env", Parts::Whole),
    (".env.test", Parts::Whole),
    (".envrc", Parts::Whole),
    (".tool-versions", Parts::Whole),
    ("mise.toml", Parts::Whole),
    (".mise.toml", Parts::Whole),
    // Rust.
    ("Cargo.toml", Parts::Toml(CARGO)),
    (".cargo/config.toml", Parts::Whole),
    (".cargo/config", Parts::Whole),
    ("rust-toolchain", Parts::Whole),
    ("rust-toolchain.toml", Parts::Whole),
    (".config/nextest.toml", Parts::Whole),
    // Go.
    ("go.mod", Parts::Lines(&["go ", "toolchain ", "replace ", "exclude ", "godebug ", "tool ", "ignore "])),
    ("go.work", Parts::Whole),
    ("go.env", Parts::Whole),
    // JavaScript and TypeScript.
    ("package.json", Parts::Json(PACKAGE)),
    (".npmrc", Parts::Whole),
    (".yarnrc", Parts::Whole),
    (".yarnrc.yml", Parts::Whole),
    (".pnpmfile.cjs", Parts::Whole),
    ("pnpm-workspace.yaml", Parts::Whole),
    (".pnp.cjs", Parts::Whole),
    (".pnp.loader.mjs", Parts::Whole),
    ("jest.config.*", Parts::Whole),
    ("jest.setup.*", Parts::Whole),
    ("jest.preset.*", Parts::Whole),
    ("vitest.*", Parts::Whole),
    ("vite.config.*", Parts::Whole),
    (".mocharc*", Parts::Whole),
    ("mocha.opts", Parts::Whole),
    ("ava.config.*", Parts::Whole),
    ("karma.conf.*", Parts::Whole),
    ("jasmine.json", Parts::Whole),
    ("playwright.config.*", Parts::Whole),
    ("cypress.config.*", Parts::Whole),
    ("babel.config.*", Parts::Whole),
    (".babelrc*", Parts::Whole),
    (".swcrc", Parts::Whole),
    ("tsconfig*", Parts::Whole),
    (".nycrc*", Parts::Whole),
    ("nx.json", Parts::Whole),
    ("turbo.json", Parts::Whole),
    ("lerna.json", Parts::Whole),
    ("bunfig.toml", Parts::Whole),
    ("deno.json", Parts::Whole),
    ("deno.jsonc", Parts::Whole),
    // Python.
    ("conftest.py", Parts::Whole),
    ("pytest.ini", Parts::Whole),
    (".pytest.ini", Parts::Whole),
    ("pytest.toml", Parts::Whole),
    ("tox.ini", Parts::Whole),
    ("tox.toml", Parts::Whole),
    ("setup.cfg", Parts::Whole),
    ("pyproject.toml", Parts::Toml(PYPROJECT)),
    ("noxfile.py", Parts::Whole),
    (".coveragerc", Parts::Whole),
    ("*.pth", Parts::Whole),
    // Compiled files are taken without a look at their source, and an entry point names a plugin.
    ("*.pyc", Parts::Whole),
    ("entry_points.txt", Parts::Whole),
    (".python-version", Parts::Whole),
    // The virtual machine of Java.
    ("build.gradle", Parts::Block("dependencies {", "}")),
    ("build.gradle.kts", Parts::Block("dependencies {", "}")),
    ("settings.gradle", Parts::Whole),
    ("settings.gradle.kts", Parts::Whole),
    ("gradle.properties", Parts::Whole),
    ("gradlew", Parts::Whole),
    ("gradle-wrapper.jar", Parts::Whole),
    ("gradle-wrapper.properties", Parts::Whole),
    ("*.gradle", Parts::Whole),
    ("pom.xml", Parts::Block("<dependencies>", "</dependencies>")),
    ("mvnw", Parts::Whole),
    (".mvn/maven.config", Parts::Whole),
    (".mvn/jvm.config", Parts::Whole),
    (".mvn/extensions.xml", Parts::Whole),
    ("maven-wrapper.properties", Parts::Whole),
    ("junit-platform.properties", Parts::Whole),
    ("build.sbt", Parts::Whole),
    ("*.sbt", Parts::Whole),
    // Others.
    ("*.runsettings", Parts::Whole),
    ("Directory.Build.*", Parts::Whole),
    ("*.csproj", Parts::Whole),
    ("*.fsproj", Parts::Whole),
    ("*.sln", Parts::Whole),
    ("global.json", Parts::Whole),
    ("Package.swift", Parts::Whole),
    ("build.zig", Parts::Whole),
    ("stack.yaml", Parts::Whole),
    ("cabal.project", Parts::Whole),
    ("mix.exs", Parts::Whole),
    ("test_helper.exs", Parts::Whole),
    ("CMakeLists.txt", Parts::Whole),
    ("CTestTestfile.cmake", Parts::Whole),
    ("CTestCustom.cmake", Parts::Whole),
    ("meson.build", Parts::Whole),
    ("dart_test.yaml", Parts::Whole),
    ("Rakefile", Parts::Whole),
    ("*.rake", Parts::Whole),
    (".rspec", Parts::Whole),
    ("spec_helper.rb", Parts::Whole),
    ("rails_helper.rb", Parts::Whole),
    ("test_helper.rb", Parts::Whole),
    ("phpunit.xml", Parts::Whole),
    ("phpunit.xml.dist", Parts::Whole),
    ("phpunit.dist.xml", Parts::Whole),
    ("Pest.php", Parts::Whole),
    ("composer.json", Parts::Json(PACKAGE)),
    (".proverc", Parts::Whole),
    ("dune-project", Parts::Whole),
    ("dune-workspace", Parts::Whole),
    ("project.clj", Parts::Whole),
    ("manage.py", Parts::Whole),
];

/// The parts of a Cargo.toml that judge nothing: dependencies, and what is said about the package.
const CARGO: &[&str] = &[
    "dependencies",
    "dev-dependencies",
    "build-dependencies",
    "target.*.dependencies",
    "target.*.dev-dependencies",
    "target.*.build-dependencies",
    "workspace.dependencies",
    "workspace.members",
    "features",
    "badges",
    "package.version",
    "package.description",
    "package.authors",
    "package.license",
    "package.keywords",
    "package.categories",
    "package.readme",
    "package.repository",
    "package.homepage",
    "package.documentation",
];

/// The same for a pyproject.toml.
const PYPROJECT: &[&str] = &[
    "project.version",
    "project.description",
    "project.dependencies",
    "project.optional-dependencies",
    "project.authors",
    "project.license",
    "project.keywords",
    "project.classifiers",
    "project.readme",
    "project.urls",
    "dependency-groups",
    "tool.poetry.version",
    "tool.poetry.dependencies",
    "tool.poetry.group",
];

/// The same for a package.json or a composer.json.
const PACKAGE: &[&str] = &[
    "version",
    "description",
    "keywords",
    "author",
    "authors",
    "contributors",
    "license",
    "repository",
    "bugs",
    "homepage",
    "funding",
    "files",
    "dependencies",
    "devDependencies",
    "peerDependencies",
    "optionalDependencies",
    "require",
    "require-dev",
];

/// Functions by which a file of tests steers its own runner: in which files, and how the line begins.
const MARKS: [(&str, &str); 5] = [
    ("_test.go", "func TestMain("),
    (".py", "def load_tests("),
    (".py", "load_tests ="),
    (".py", "load_tests="),
    (".py", "def pytest_"),
];

/// Modules that Python finds in the folder it is started in before its own. An unknown name is the project's own.
const PYTHON: &str = "__future__ _pytest _thread abc argparse ast asyncio atexit base64 bisect builtins bz2 calendar \
    code codecs collections colorsys configparser contextlib contextvars copy copyreg coverage csv ctypes dataclasses \
    datetime decimal difflib dis doctest email encodings enum errno exceptiongroup faulthandler filecmp fnmatch fractions \
    functools gc genericpath getopt getpass gettext glob gzip hashlib heapq hmac html http importlib inspect io iniconfig \
    ipaddress itertools json keyword linecache locale logging lzma marshal math mimetypes mock multiprocessing nose \
    ntpath numbers opcode operator optparse os packaging pathlib pdb pickle pkgutil platform pluggy posixpath pprint \
    profile py pygments pytest queue quopri random re reprlib resource runpy sched secrets select selectors shelve \
    shlex shutil signal site sitecustomize socket socketserver sqlite3 sre_compile ssl stat statistics string \
    stringprep struct subprocess symtable sys sysconfig tarfile tempfile textwrap threading time timeit token tokenize \
    tomllib trace traceback tracemalloc types typing unicodedata unittest urllib usercustomize uuid warnings weakref \
    xdist xml xmlrpc zipfile zipimport zlib zoneinfo";

/// Modules that tests in Perl load. Other names below `Test` are often the project's own.
const PERL: &[&str] = &[
    "App/Prove.pm",
    "Carp.pm",
    "Cwd.pm",
    "Data/Dumper.pm",
    "Exporter.pm",
    "File/Basename.pm",
    "File/Spec.pm",
    "File/Temp.pm",
    "List/Util.pm",
    "POSIX.pm",
    "Scalar/Util.pm",
    "TAP/",
    "Test.pm",
    "Test/Builder.pm",
    "Test/Builder/",
    "Test/Class.pm",
    "Test/Deep.pm",
    "Test/Differences.pm",
    "Test/Exception.pm",
    "Test/Fatal.pm",
    "Test/Harness.pm",
    "Test/More.pm",
    "Test/Most.pm",
    "Test/Simple.pm",
    "Test/Warn.pm",
    "Test2/",
    "base.pm",
    "constant.pm",
    "feature.pm",
    "lib.pm",
    "overload.pm",
    "parent.pm",
    "strict.pm",
    "utf8.pm",
    "vars.pm",
    "warnings.pm",
];

/// Folders that tests in Perl put before those of Perl itself: `prove -l`, `use lib "t/lib"`.
const PERL_ROOTS: [&str; 6] = ["", "lib/", "blib/lib/", "t/", "t/lib/", "local/lib/perl5/"];

/// Folders that runners search before everything else when they look for a module.
const PYTHON_ROOTS: [&str; 5] = ["", "src/", "lib/", "test/", "tests/"];

/// What a file judges by its name; none if it is not known.
pub(super) fn parts_of(path: &str) -> Option<Parts> {
    CONFIGURES.iter().find(|(pattern, _)| matches(pattern, path)).map(|(_, parts)| *parts)
}

/// Whether a file is one that make reads by itself.
pub(super) fn is_makefile(path: &str) -> bool {
    MAKEFILES.contains(&path.rsplit('/').next().unwrap_or(path))
}

/// Whether pytest takes fixtures from a file.
pub(super) fn has_fixtures(path: &str) -> bool {
    path.rsplit('/').next() == Some("conftest.py")
}

/// Whether a file defines targets or scripts that a runner runs by name.
pub(super) fn defines_targets(path: &str) -> bool {
    const ROOT: [&str; 6] =
        ["justfile", "Justfile", ".justfile", "Taskfile.yml", "package.json", "composer.json"];
    is_makefile(path) || path.ends_with(".mk") || ROOT.contains(&path)
}

/// How functions begin by which a file of this name may steer its runner.
pub(super) fn marks_in(path: &str) -> Option<&'static [(&'static str, &'static str)]> {
    MARKS.iter().any(|(end, _)| path.ends_with(end)).then_some(&MARKS)
}

/// Whether a file that the base does not have stands where a runner looks before it looks at its own.
///
/// A new `json.py` beside the tests is imported instead of Python's own module. Nothing in the change looks like a
/// change of the judge then.
pub(super) fn shadows(path: &str) -> bool {
    // Node looks there before it looks anywhere else.
    if path.split('/').any(|part| part == "node_modules") || path.starts_with(".bin/") {
        return true;
    }
    let is_perl = |rest: &str| {
        PERL.iter()
            .any(|module| if module.ends_with('/') { rest.starts_with(module) } else { rest == *module })
    };
    if path.ends_with(".pm") && PERL_ROOTS.iter().filter_map(|root| path.strip_prefix(root)).any(is_perl) {
        return true;
    }
    PYTHON_ROOTS.iter().filter_map(|root| path.strip_prefix(root)).any(|rest| {
        let first = rest.split('/').next().unwrap_or(rest);
        let module = match rest.contains('/') {
            // A package is a folder; a folder without Python in it shadows nothing.
            true if rest.ends_with(".py") || rest.ends_with(".so") => first,
            true => return false,
            false => match first.split_once('.') {
                Some((stem, end)) if end == "py" || end == "pyc" || end.ends_with("so") => stem,
                _ => return false,
            },
        };
        PYTHON.split_whitespace().any(|known| known == module)
    })
}

/// Whether a path has such a name.
fn matches(pattern: &str, path: &str) -> bool {
    if pattern.contains('/') {
        return path == pattern || path.strip_suffix(pattern).is_some_and(|before| before.ends_with('/'));
    }
    let name = path.rsplit('/').next().unwrap_or(path);
    match (pattern.strip_prefix('*'), pattern.strip_suffix('*')) {
        // `*` stands for at least one character: `.mk` alone is not a makefile.
        (Some(end), _) => name.len() > end.len() && name.ends_with(end),
        (None, Some(start)) => name.starts_with(start),
        (None, None) => name == pattern,
    }
}
