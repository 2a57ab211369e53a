//! Toolchains that are known by their manifest: compiled languages first, then Ruby, PHP, Perl and shell.
//!
//! The commands have the options that make them run unattended, without a daemon or a prompt, and name each test where
//! the tool can.

use super::{Candidate, Files, FoundCommand, Toolchain, needs_more};
use serde_json::Value;

/// How many files below the root are read to see whether they define tests.
const READ_MAX: usize = 40;

/// The compiled toolchains, in the order in which one is chosen where nothing covers them all.
pub(super) fn candidates(files: &Files<'_>, notes: &mut Vec<String>) -> Vec<Candidate> {
    let found = [
        cargo(files),
        go(files, notes),
        jvm(files),
        dotnet(files, notes),
        swift(files),
        zig(files),
        haskell(files),
        elixir(files),
        native(files),
        dart(files),
    ];
    found.into_iter().flatten().chain(plain(files)).collect()
}

/// The toolchains without a compiler.
pub(super) fn scripted(files: &Files<'_>, notes: &mut Vec<String>) -> Vec<Candidate> {
    [ruby(files), php(files, notes), perl(files), shell(files)].into_iter().flatten().collect()
}

fn cargo(files: &Files<'_>) -> Option<Candidate> {
    let text = files.text("Cargo.toml")?;
    let has = |table: &str| text.lines().any(|line| line.trim() == table);
    // In the root package of a workspace, cargo tests that package alone unless it is told otherwise.
    let all = if has("[workspace]") && has("[package]") { " --workspace" } else { "" };
    Some(
        Candidate::of(Toolchain::Cargo)
            .test(&format!("cargo test --no-fail-fast{all}"), "Cargo.toml")
            .builds(),
    )
}

fn go(files: &Files<'_>, notes: &mut Vec<String>) -> Option<Candidate> {
    if files.has("go.mod") {
        return Some(Candidate::of(Toolchain::Go).test("go test -json ./...", "go.mod").builds());
    }
    // Said instead of guessed: a command that tests nothing would look green.
    if files.has("go.work") {
        notes.push(
            "go.work: `go test ./...` tests no module where the root is none; `checks.test` can name them"
                .to_owned(),
        );
    }
    None
}

fn jvm(files: &Files<'_>) -> Option<Candidate> {
    const GRADLE: [&str; 4] = ["build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"];
    let of = || Candidate::of(Toolchain::Jvm).builds();
    if let Some(name) = files.first(&GRADLE) {
        // The wrapper fixes the version that the project was written for.
        let program = if files.has("gradlew") { "./gradlew" } else { "gradle" };
        return Some(of().test(&format!("{program} test --no-daemon --console=plain"), name));
    }
    if files.has("pom.xml") {
        let program = if files.has("mvnw") { "./mvnw" } else { "mvn" };
        return Some(of().test(&format!("{program} -B test"), "pom.xml"));
    }
    files.has("build.sbt").then(|| of().test("sbt -batch test", "build.sbt"))
}

fn dotnet(files: &Files<'_>, notes: &mut Vec<String>) -> Option<Candidate> {
    let ends = |ends: &[&str]| -> Vec<&str> {
        files.root.iter().copied().filter(|name| ends.iter().any(|end| name.ends_with(end))).collect()
    };
    let (solutions, projects) = (ends(&[".sln", ".slnx"]), ends(&[".csproj", ".fsproj", ".vbproj"]));
    let file = match (&solutions[..], &projects[..]) {
        ([one], _) | ([], [one]) => *one,
        ([], []) => return None,
        // Choosing one of several would be a guess.
        _ => {
            notes.push(
                "there are several .NET solutions or projects in the root; `checks.test` can name one"
                    .to_owned(),
            );
            return None;
        }
    };
    let mut candidate = Candidate::of(Toolchain::Dotnet).builds();
    // A name with a space is one argument.
    let argv = ["dotnet", "test", file, "--nologo"].map(str::to_owned).to_vec();
    candidate.test = Some(FoundCommand { argv, found: file.to_owned(), ..FoundCommand::default() });
    Some(candidate)
}

fn swift(files: &Files<'_>) -> Option<Candidate> {
    files.text("Package.swift")?;
    let of = Candidate::of(Toolchain::Swift);
    match files.any(|path| path.starts_with("Tests/") && path.ends_with(".swift")) {
        Some(_) => Some(of.test("swift test", "Package.swift").builds()),
        None => Some(of.build("swift build", "Package.swift")),
    }
}

fn zig(files: &Files<'_>) -> Option<Candidate> {
    let text = files.text("build.zig")?;
    let of = Candidate::of(Toolchain::Zig).build("zig build", "build.zig");
    Some(match text.contains("step(\"test\"") {
        true => of.test("zig build test --summary all", "step `test` of build.zig"),
        false => of,
    })
}

fn haskell(files: &Files<'_>) -> Option<Candidate> {
    let cabal = files.ending(".cabal");
    let has_suite = cabal.and_then(|name| files.text(name)).is_some_and(|text| text.contains("test-suite "));
    // A project of several packages may have its suites below the root.
    let packages = || files.any(|path| path.ends_with(".cabal") && path.contains('/')).is_some();
    let hpack =
        files.text("package.yaml").is_some_and(|text| text.lines().any(|line| line.starts_with("tests:")));
    let tested = has_suite || hpack || packages();
    let of = Candidate::of(Toolchain::Haskell);
    if files.has("stack.yaml") {
        let of = of.build("stack build", "stack.yaml");
        return Some(if tested { of.test("stack test", "stack.yaml").builds() } else { of });
    }
    let name = if files.has("cabal.project") { "cabal.project" } else { cabal? };
    let of = of.build("cabal build all", name);
    Some(if tested { of.test("cabal test all", name) } else { of })
}

fn elixir(files: &Files<'_>) -> Option<Candidate> {
    files.text("mix.exs")?;
    let of = Candidate::of(Toolchain::Elixir);
    let umbrella = |path: &str| path.starts_with("apps/") && path.contains("/test/");
    match files.any(|path| path.ends_with("_test.exs") && (path.starts_with("test/") || umbrella(path))) {
        Some(_) => Some(of.test("mix test", "mix.exs").builds()),
        None => Some(of.build("mix compile", "mix.exs")),
    }
}

/// C and C++ by CMake or Meson. The tests of CMake need no second command, because ctest configures and builds before.
fn native(files: &Files<'_>) -> Option<Candidate> {
    let of = || Candidate::of(Toolchain::Native);
    if files.has("CMakeLists.txt") {
        let folder = free_folder(files);
        let defines =
            ["enable_testing", "add_test", "include(ctest", "gtest_discover_tests", "catch_discover_tests"];
        let at = says(files, "CMakeLists.txt", &|text| {
            let text = text.to_ascii_lowercase();
            defines.iter().any(|mark| text.contains(mark))
        });
        let Some(at) = at else {
            let build = FoundCommand::of(&format!("cmake --build {folder}"), "CMakeLists.txt");
            return Some(Candidate { build: Some(build.after(&format!("cmake -S . -B {folder}"))), ..of() });
        };
        let mut argv = super::words(&format!("ctest --build-and-test . {folder} --build-generator"));
        argv.push("Unix Makefiles".to_owned());
        argv.extend(super::words("--build-noclean --test-command ctest --output-on-failure"));
        let test = FoundCommand { argv, found: at.to_owned(), ..FoundCommand::default() };
        return Some(Candidate { test: Some(test), ..of() }.builds());
    }
    files.text("meson.build")?;
    let folder = free_folder(files);
    let setup = format!("meson setup {folder}");
    let is_test = |text: &str| text.lines().any(|line| line.trim_start().starts_with("test("));
    Some(match says(files, "meson.build", &is_test) {
        Some(at) => {
            let test = FoundCommand::of(&format!("meson test -C {folder}"), format!("`test()` of {at}"));
            Candidate { test: Some(test.after(&setup)), ..of() }.builds()
        }
        None => {
            let build = FoundCommand::of(&format!("meson compile -C {folder}"), "meson.build");
            Candidate { build: Some(build.after(&setup)), ..of() }
        }
    })
}

/// A folder to build in that the project does not have.
fn free_folder(files: &Files<'_>) -> &'static str {
    let taken =
        |name: &str| files.any(|path| path == name || path.starts_with(&format!("{name}/"))).is_some();
    // A folder of the project's own must not be built into.
    ["build", "_build"].into_iter().find(|name| !taken(name)).unwrap_or("build-check")
}

/// The first file of this name, in the root or below, whose text is so.
fn says<'a>(files: &Files<'a>, name: &str, is: &dyn Fn(&str) -> bool) -> Option<&'a str> {
    let named = |path: &&str| path.rsplit('/').next() == Some(name);
    let mut paths: Vec<&str> = files.project.paths.iter().map(String::as_str).filter(named).collect();
    // The nearest to the root first, where tests are usually switched on.
    paths.sort_by_key(|path| path.matches('/').count());
    paths.into_iter().take(READ_MAX).find(|path| files.read(path).is_some_and(|text| is(&text)))
}

fn dart(files: &Files<'_>) -> Option<Candidate> {
    let text = files.text("pubspec.yaml")?;
    // `dart test` without a test fails, which would make every change red.
    files.any(|path| path.starts_with("test/") && path.ends_with("_test.dart"))?;
    let flutter = text.lines().any(|line| line.trim() == "sdk: flutter");
    let command = if flutter { "flutter test" } else { "dart test" };
    Some(Candidate::of(Toolchain::Dart).test(command, "pubspec.yaml"))
}

/// Toolchains with one manifest and one command.
fn plain(files: &Files<'_>) -> Vec<Candidate> {
    let table = [
        ("dune-project", "test/", "dune test"),
        ("project.clj", "test/", "lein test"),
        ("gleam.toml", "test/", "gleam test"),
        ("shard.yml", "spec/", "crystal spec"),
    ];
    let there = table.into_iter().filter(|(name, folder, _)| {
        files.has(name)
            && files.any(|path| path.starts_with(folder) || path.contains(&format!("/{folder}"))).is_some()
    });
    there
        .map(|(name, _, command)| Candidate {
            toolchain: Some(Toolchain::Other),
            ..Candidate::default().test(command, name).builds()
        })
        .collect()
}

fn ruby(files: &Files<'_>) -> Option<Candidate> {
    let of = Candidate::of(Toolchain::Ruby);
    // With a Gemfile the gems of the project count, not those of the machine.
    let bundled = |command: &str| match files.has("Gemfile") {
        true => format!("bundle exec {command}"),
        false => command.to_owned(),
    };
    if let Some(spec) = files.any(|path| path.starts_with("spec/") && path.ends_with("_spec.rb")) {
        return Some(of.test(&bundled("rspec"), if files.has(".rspec") { ".rspec" } else { spec }));
    }
    let rakefile = files.first(&["Rakefile", "rakefile", "Rakefile.rb", "rakefile.rb"]);
    if let Some(name) = rakefile.filter(|name| files.text(name).is_some_and(|text| has_rake_test(&text))) {
        return Some(of.test(&bundled("rake test"), format!("task `test` of {name}")));
    }
    let is_test = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or(path);
        path.starts_with("test/")
            && (name.ends_with("_test.rb") || (name.starts_with("test_") && name.ends_with(".rb")))
    };
    let test = files.any(is_test)?;
    if files.any(|path| path == "bin/rails").is_some() {
        return Some(of.test("bin/rails test", "bin/rails"));
    }
    let mut of = of;
    let each = "Dir.glob('./test/**/{*_test,test_*}.rb').sort.each { |file| require file }";
    let mut argv = super::words(&bundled("ruby -Ilib -Itest -e"));
    argv.push(each.to_owned());
    of.test = Some(FoundCommand { argv, found: test.to_owned(), ..FoundCommand::default() });
    Some(of)
}

/// Whether a Rakefile has `Rake::TestTask.new`, `task :test` or `task test: …` outside comments.
fn has_rake_test(text: &str) -> bool {
    let lines = text.lines().map(str::trim).filter(|line| !line.starts_with('#'));
    let mut lines = lines.map(|line| line.replace(['(', ')', '"', '\''], " "));
    lines.any(|line| {
        let named = || line.split_whitespace().nth(1).map(|word| word.trim_matches([':', ',']));
        line.contains("TestTask.new") || (line.starts_with("task ") && named() == Some("test"))
    })
}

fn php(files: &Files<'_>, notes: &mut Vec<String>) -> Option<Candidate> {
    let composer = files.json("composer.json", notes).unwrap_or_default();
    let of = Candidate::of(Toolchain::Php);
    let script = composer.pointer("/scripts/test").map(|script| match script {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("\n"),
        other => other.as_str().unwrap_or_default().to_owned(),
    });
    if let Some(script) = script.filter(|script| !script.trim().is_empty()) {
        match needs_more(&script) {
            Some(needs) => notes
                .push(format!("`scripts.test` of composer.json uses {needs}, which a check does not have")),
            None => {
                return Some(of.test("composer --no-interaction test", "`scripts.test` of composer.json"));
            }
        }
    }
    let requires = |name: &str| {
        ["require", "require-dev"]
            .iter()
            .any(|table| composer.get(table).and_then(|table| table.get(name)).is_some())
    };
    if requires("pestphp/pest") {
        return Some(of.test("vendor/bin/pest", "composer.json"));
    }
    let settings = files.first(&["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"]);
    match (requires("phpunit/phpunit"), settings) {
        (true, settings) => {
            let found = settings.unwrap_or("composer.json");
            // Without settings phpunit does not know where the tests are.
            let folder =
                files.any(|path| path.starts_with("tests/") && path.ends_with("Test.php")).map(|_| " tests");
            let folder = folder.filter(|_| settings.is_none()).unwrap_or_default();
            Some(of.test(&format!("vendor/bin/phpunit{folder}"), found))
        }
        (false, Some(settings)) => Some(of.test("phpunit", settings)),
        (false, None) => None,
    }
}

/// Perl's tests lie in `t`. A Makefile.PL would only make a Makefile that does not exist yet.
fn perl(files: &Files<'_>) -> Option<Candidate> {
    let test = files.any(|path| path.starts_with("t/") && path.ends_with(".t"))?;
    Some(Candidate::of(Toolchain::Perl).test("prove -lrv t", test))
}

fn shell(files: &Files<'_>) -> Option<Candidate> {
    let test = files
        .any(|path| path.ends_with(".bats") && (path.starts_with("test/") || path.starts_with("tests/")))?;
    let folder = test.split('/').next().unwrap_or("test");
    Some(Candidate::of(Toolchain::Shell).test(&format!("bats -r {folder}"), test))
}
