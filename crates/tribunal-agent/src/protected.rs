//! The built-in table of protected paths. `tribunal-core` decides how a path is compared with it.
//!
//! The table is data beside the adapter rows, because it lists files of other programs: CI systems, hooks, editors,
//! agents.

use std::sync::LazyLock;
use tribunal_core::protected::ProtectedTable;

/// Returns the table that the program was built with. It is read once, and a test ensures that it can be read.
pub fn table() -> &'static ProtectedTable {
    static TABLE: LazyLock<ProtectedTable> = LazyLock::new(|| {
        let read: Result<ProtectedTable, _> = toml::from_str(include_str!("protected.toml"));
        // The text is compiled in, so a fault is a bug of this build and cannot be a user's mistake.
        let table = read.unwrap_or_else(|error| panic!("bug: the table of protected paths: {error}"));
        table.prepared()
    });
    &TABLE
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The kinds of files that an attacker tried one by one, and some more of the same kinds.
    #[test]
    fn every_kind_that_was_tried_is_protected() {
        const TRIED: &[(&str, &str)] = &[
            (
                "tribunal",
                "tribunal.toml packages/a/tribunal.toml .tribunal/runs/x/journal.db .planning/config.json",
            ),
            (
                "agents",
                ".agent/rules/x.md .qoder/rules/x.md greptile.json .sourcery.yaml CLAUDE.md sub/CLAUDE.md .claude/settings.json .mcp.json AGENTS.md .codex/config.toml GEMINI.md \
                 .gemini/settings.json opencode.json .opencode/x .aider.conf.yml .cursorrules .cursor/rules/x.mdc \
                 .github/copilot-instructions.md .github/prompts/x.prompt.md .windsurfrules .windsurf/rules/x.md \
                 .clinerules .clinerules/x.md QWEN.md .qwen/settings.json .goosehints .roo/rules/x.md .roomodes \
                 .kiro/steering/x.md .continue/config.yaml .amp/settings.json .junie/guidelines.md .trae/rules/x.md \
                 .augment/rules/x.md .augment-guidelines .rules .amazonq/rules/x.md WARP.md CRUSH.md .kilocode/x",
            ),
            (
                "ci",
                "ci_scripts/ci_post_clone.sh .github/workflows/ci.yml .github/actions/x/action.yml .gitlab-ci.yml bitbucket-pipelines.yml .drone.yml \
                 .woodpecker.yml .woodpecker/x.yml .forgejo/workflows/x.yml .gitea/workflows/x.yml appveyor.yml \
                 cloudbuild.yaml azure-pipelines.yml .circleci/config.yml .travis.yml Jenkinsfile .buildkite/pipeline.yml \
                 .semaphore/semaphore.yml .teamcity/settings.kts .tekton/x.yaml codefresh.yml wercker.yml screwdriver.yaml \
                 .build.yml .builds/x.yml .cirrus.yml buildspec.yml bitrise.yml .zuul.yaml netlify.toml .goreleaser.yml",
            ),
            (
                "hooks",
                ".husky/pre-commit .githooks/pre-push lefthook.yml .lefthook.toml .pre-commit-config.yaml .overcommit.yml \
                 .simple-git-hooks.json .lintstagedrc.js lint-staged.config.mjs grumphp.yml commitlint.config.js",
            ),
            (
                "editor",
                ".vscode/tasks.json .vscode/launch.json sub/.vscode/settings.json .idea/runConfigurations/x.xml .zed/tasks.json \
                 .fleet/run.json x.code-workspace .nvim.lua .exrc .dir-locals.el",
            ),
            (
                "environment",
                ".envrc mise.toml .mise.toml .tool-versions .devcontainer/devcontainer.json .devcontainer.json .gitconfig \
                 .gitmodules .gitpod.yml shell.nix .npmrc .yarnrc.yml .cargo/config.toml .gdbinit \
                 sitecustomize.py .bazelrc",
            ),
            (
                "executable configuration",
                "Dangerfile dangerfile.ts .releaserc .releaserc.yml Directory.Build.targets eslint.config.js eslint.config.mjs .eslintrc.js .eslintrc.cjs prettier.config.js .prettierrc.cjs \
                 stylelint.config.js",
            ),
            ("bots", ".github/dependabot.yml renovate.json .renovaterc .github/settings.yml"),
            ("owners", "CODEOWNERS .github/CODEOWNERS docs/CODEOWNERS OWNERS"),
        ];
        let mut count = 0;
        for (expect, paths) in TRIED {
            for path in paths.split_whitespace() {
                let found = table().category(path).map(|category| category.name.as_str());
                assert_eq!(found, Some(*expect), "{path}");
                let shouted = table().category(&path.to_uppercase()).map(|category| category.name.as_str());
                assert_eq!(shouted, Some(*expect), "{path}, in capitals");
                count += 1;
            }
        }
        assert!(count > 66, "{count}");
    }

    #[test]
    fn ordinary_files_are_not_protected() {
        const FREE: &str = "README.md src/main.rs package.json Makefile Cargo.toml docs/claude.txt src/agents/mod.rs \
            .github/ISSUE_TEMPLATE/bug.md .github/pull_request_template.md .gitignore .gitattributes .vscode/snippets.code-snippets \
            .eslintrc.json .prettierrc vite.config.ts webpack.config.js tests/hooks.rs src/owners.rs build.rs \
            .planning/phases/01-x/01-01-PLAN.md pyproject.toml Dockerfile src/rules.rs";
        for path in FREE.split_whitespace() {
            assert_eq!(table().category(path).map(|category| &category.name), None, "{path}");
        }
    }

    /// A row that no path could ever match protects nothing, and one without words tells nobody anything.
    #[test]
    fn every_row_can_match_and_says_why() {
        for category in &table().categories {
            assert!(!category.reason.is_empty() && !category.configures.is_empty(), "{}", category.name);
            for pattern in &category.paths {
                let path = pattern.replace("**/", "deep/").replace('*', "x");
                assert!(table().category(&path).is_some(), "{pattern}");
            }
        }
    }
}
