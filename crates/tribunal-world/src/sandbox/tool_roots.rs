//! Where tools that people install in their home keep themselves and what they fetched.
//!
//! The home of a launch is empty, so everything that programs on PATH need is listed here: the folder, which parts of
//! it are shown, and why. All parts are read-only, and none holds a file that may contain a token. To support another
//! tool, add a row with its reason.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A tool's own folder.
pub(super) struct ToolRoot {
    /// The variable that names another place for it.
    variable: &'static str,
    /// Its place in a home.
    home: &'static str,
    /// The parts that are shown; all of it if none is named. No part is a place where people keep projects.
    parts: &'static [&'static str],
    /// Settings that are shown if they hold no credential.
    settings: &'static [&'static str],
    /// What the folder is shown for.
    #[cfg_attr(not(test), expect(dead_code, reason = "for readers, and held by a test"))]
    why: &'static str,
}

const fn root(
    variable: &'static str,
    home: &'static str,
    parts: &'static [&'static str],
    why: &'static str,
) -> ToolRoot {
    ToolRoot { variable, home, parts, settings: &[], why }
}

/// Every root. A root inside another one comes before it.
pub(super) const TOOL_ROOTS: &[ToolRoot] = &[
    ToolRoot {
        variable: "CARGO_HOME",
        home: ".cargo",
        parts: &["bin", "env", "registry", "git"],
        settings: &["config.toml", "config"],
        why: "rustup's proxies, installed programs, fetched crates; credentials.toml lies beside them",
    },
    root("RUSTUP_HOME", ".rustup", &["toolchains", "settings.toml"], "compilers that cargo starts"),
    root("PYENV_ROOT", ".pyenv", &[], "interpreters behind shims"),
    root(
        "NVM_DIR",
        ".nvm",
        &["versions", "alias", "nvm.sh", "nvm-exec", ".nvmrc"],
        "node and its global packages",
    ),
    root("VOLTA_HOME", ".volta", &["bin", "tools", "hooks.json", "layout.v4"], "node behind shims"),
    root("FNM_DIR", ".local/share/fnm", &[], "versions of node"),
    root("N_PREFIX", "n", &["bin", "lib", "n", "include", "share"], "versions of node"),
    root("PNPM_HOME", ".local/share/pnpm", &[], "global packages and the store they are linked from"),
    root("", ".npm-global", &["bin", "lib"], "npm's usual prefix in a home"),
    root("", ".npm-packages", &["bin", "lib"], "npm's usual prefix in a home"),
    root("", ".yarn", &["bin", "berry/cache", "releases"], "yarn and fetched packages"),
    root("", ".config/yarn/global/node_modules", &[], "global packages of yarn"),
    root("COREPACK_HOME", ".cache/node/corepack", &[], "package managers that corepack starts"),
    root("ASDF_DATA_DIR", ".asdf", &[], "tools behind shims"),
    root("", ".tool-versions", &[], "which versions the shims of asdf and mise start"),
    root("MISE_DATA_DIR", ".local/share/mise", &[], "tools behind shims"),
    root("", ".config/mise/config.toml", &[], "which versions mise starts"),
    root("", ".local/share/uv", &["python", "tools"], "interpreters and tools of uv"),
    root("UV_CACHE_DIR", ".cache/uv", &[], "what environments of uv are linked to"),
    root("PIPX_HOME", ".local/share/pipx", &[], "environments behind programs of pipx"),
    root("", ".local/pipx", &[], "the same, in older versions"),
    root("", ".local/lib", &[], "packages that pip installed for the user"),
    root("", "miniconda3", &[], "conda"),
    root("", "miniforge3", &[], "conda"),
    root("", "mambaforge", &[], "conda"),
    root("", "anaconda3", &[], "conda"),
    root("", ".conda/envs", &[], "environments of conda"),
    root("", ".conda/pkgs", &[], "what they are linked to"),
    root("MAMBA_ROOT_PREFIX", "micromamba", &[], "environments of micromamba"),
    root("", ".local/share/mamba", &[], "environments of mamba"),
    root("", ".pixi", &["bin", "envs"], "tools of pixi"),
    root("", ".local/share/virtualenvs", &[], "environments of pipenv"),
    root("", ".cache/pypoetry/virtualenvs", &[], "environments of poetry"),
    root("", ".local/share/pypoetry", &[], "poetry"),
    root("", ".cache/pre-commit", &[], "environments of commit hooks"),
    root("DENO_INSTALL", ".deno", &["bin"], "deno and its programs"),
    root("DENO_DIR", ".cache/deno", &[], "modules that deno fetched"),
    root("BUN_INSTALL", ".bun", &["bin", "install"], "bun, its programs and fetched packages"),
    root("GOMODCACHE", "go/pkg/mod", &[], "fetched modules"),
    root(
        "GOPATH",
        "go",
        &["bin", "pkg/mod", "pkg/sumdb"],
        "installed programs and fetched modules; people keep their projects in src beside them",
    ),
    root("GOENV_ROOT", ".goenv", &[], "versions of go behind shims"),
    root("", "sdk", &[], "versions of go from golang.org/dl"),
    root(
        "GRADLE_USER_HOME",
        ".gradle",
        &["caches", "wrapper", "jdks", "native"],
        "fetched packages; gradle.properties may hold tokens",
    ),
    root("", ".m2", &["repository", "wrapper"], "fetched packages; settings.xml may hold passwords"),
    root("", ".ivy2", &["cache", "local"], "fetched packages"),
    root("", ".sbt", &["boot", "launchers"], "versions of sbt"),
    root("", ".cache/coursier", &[], "fetched packages"),
    root(
        "SDKMAN_DIR",
        ".sdkman",
        &["candidates", "bin", "src", "etc", "libexec", "var"],
        "versions of Java and its tools",
    ),
    root("JENV_ROOT", ".jenv", &[], "versions of Java behind shims"),
    root("", ".jdks", &[], "versions of Java"),
    root("GHCUP_INSTALL_BASE_PREFIX", ".ghcup", &[], "Haskell"),
    root("", ".cabal", &["bin", "packages", "store"], "fetched packages of Haskell"),
    root("STACK_ROOT", ".stack", &[], "Haskell"),
    root("OPAMROOT", ".opam", &[], "OCaml"),
    root("RBENV_ROOT", ".rbenv", &[], "Ruby behind shims"),
    root("", ".rvm", &[], "Ruby"),
    root("", ".rubies", &[], "Ruby"),
    root("", ".gem", &["ruby"], "installed gems; credentials lies beside them"),
    root("", ".local/share/gem/ruby", &[], "installed gems"),
    root("", ".bundle/cache", &[], "fetched gems"),
    root("PHPENV_ROOT", ".phpenv", &[], "PHP behind shims"),
    root("", ".config/composer/vendor", &[], "global packages of composer; auth.json lies beside them"),
    root("", ".composer/vendor", &[], "the same"),
    root("", ".cache/composer", &[], "fetched packages"),
    root("DOTNET_ROOT", ".dotnet", &[], "dotnet and its tools"),
    root("NUGET_PACKAGES", ".nuget/packages", &[], "fetched packages; NuGet.Config may hold passwords"),
    root("", ".mix", &[], "Elixir"),
    root("", ".hex", &["packages", "cache.ets"], "fetched packages; hex.config holds the key"),
    root("", ".kiex", &[], "Elixir"),
    root(
        "PUB_CACHE",
        ".pub-cache",
        &["bin", "hosted", "git", "global_packages"],
        "fetched packages; credentials.json lies beside them",
    ),
    root("", "flutter", &[], "Flutter"),
    root("SWIFTLY_HOME_DIR", ".local/share/swiftly", &[], "Swift"),
    root("JULIA_DEPOT_PATH", ".julia", &[], "Julia and its packages"),
    root("", ".juliaup", &[], "versions of Julia"),
    root("", ".elan", &[], "Lean"),
    root("", ".local/share/zig", &[], "Zig"),
    root("", ".moon", &["bin", "tools"], "moon"),
    root("PROTO_HOME", ".proto", &["bin", "shims", "tools", "plugins"], "tools behind shims"),
    root("", ".linuxbrew", &[], "Homebrew"),
    root("", ".nix-profile", &[], "programs of Nix"),
    root("", ".local/state/nix/profiles", &[], "what that leads to"),
    root("", ".guix-profile", &[], "programs of Guix"),
    root("", ".cache/ms-playwright", &[], "browsers that tests drive"),
    root("", ".cache/puppeteer", &[], "browsers that tests drive"),
    root("", ".cache/Cypress", &[], "browsers that tests drive"),
    root("", ".cache/selenium", &[], "browsers that tests drive"),
    root("", ".local/share/claude", &[], "Claude Code, where its link leads"),
    root("", ".claude/local", &[], "Claude Code in its own folder"),
    root("", ".opencode/bin", &[], "OpenCode"),
    root("", ".config/git/ignore", &[], "what git ignores everywhere"),
    root("", ".config/git/attributes", &[], "how git treats files everywhere"),
    root("", ".gitignore", &[], "what git ignores everywhere, by custom"),
];

/// The root that a place belongs to, by its usual place in this home, by its hidden name anywhere, or by its variable.
pub(super) fn root_of(
    path: &Path,
    home: Option<&Path>,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Option<PathBuf> {
    TOOL_ROOTS.iter().find_map(|root| {
        let named = root.named(variable);
        let usual = home.map(|home| home.join(root.home));
        let above = path.ancestors().find(|above| {
            // Elsewhere only hidden folders are recognized by name: a folder called `go` or `sdk` can be anything.
            let hidden = root.home.starts_with('.') && above.ends_with(root.home);
            [&named, &usual].into_iter().any(|known| known.as_deref() == Some(*above)) || hidden
        });
        above.map(Path::to_path_buf)
    })
}

/// The visible parts of all roots: those in a home, those that variables name, and those at these bases.
pub(super) fn parts(
    home: Option<&Path>,
    bases: &[PathBuf],
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for root in TOOL_ROOTS {
        let at = root.named(variable).or_else(|| Some(home?.join(root.home)));
        let more = bases.iter().filter(|base| base.ends_with(root.home)).cloned();
        for base in at.into_iter().chain(more) {
            found.extend(root.parts_at(&base));
        }
    }
    found
}

/// Whether people keep work of their own beside a tool in this part: a whole folder with a plain name in their home.
pub(super) fn may_hold_projects(home: Option<&Path>, part: &Path) -> bool {
    let whole = |root: &&ToolRoot| root.parts.is_empty() && !root.home.starts_with('.');
    // Modules that Go fetched are published, too many to look through, and written by Go alone.
    let mut roots = TOOL_ROOTS.iter().filter(whole).filter(|root| root.variable != "GOMODCACHE");
    home.is_some_and(|home| roots.any(|root| home.join(root.home) == part)) && part.is_dir()
}

impl ToolRoot {
    fn named(&self, variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
        let value = Some(self.variable).filter(|name| !name.is_empty()).and_then(variable)?;
        // In a list of folders the tool writes to the first one.
        let first = std::env::split_paths(OsStr::new(&value)).next()?;
        first.is_absolute().then_some(first)
    }

    fn parts_at(&self, base: &Path) -> Vec<PathBuf> {
        // A row without parts shows the whole folder.
        if self.parts.is_empty() {
            return vec![base.to_path_buf()];
        }
        let quiet = |file: &PathBuf| {
            std::fs::read_to_string(file).is_ok_and(|text| !super::denied::holds_credential(&text))
        };
        let settings = self.settings.iter().map(|name| base.join(name)).filter(quiet);
        self.parts.iter().map(|part| base.join(part)).chain(settings).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_root_says_what_for_and_none_is_a_secret() {
        for root in TOOL_ROOTS {
            assert!(!root.why.is_empty() && !root.home.starts_with('/'), "{}", root.home);
            let shown = root.parts_at(Path::new(root.home));
            for secret in super::super::denied::SECRETS {
                assert!(!shown.iter().any(|part| part.starts_with(secret)), "{secret} in {}", root.home);
            }
        }
    }

    #[test]
    fn a_root_is_known_by_its_name_or_its_variable() {
        let variable = |name: &str| (name == "CARGO_HOME").then(|| OsString::from("/data/rust"));
        let home = Path::new("/home/me");
        let of = |path: &str| root_of(Path::new(path), Some(home), &variable);
        assert_eq!(of("/home/me/.pyenv/versions/3/bin/python"), Some("/home/me/.pyenv".into()));
        assert_eq!(of("/data/rust/bin"), Some("/data/rust".into()));
        assert_eq!(of("/home/me/src/go/bin"), None, "a plain name may be anybody's folder");
        assert_eq!(of("/home/me/bin"), None);
        assert_eq!(of("/home/me/go/bin"), Some("/home/me/go".into()));
    }
}
