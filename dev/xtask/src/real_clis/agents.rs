//! How each program is pointed at the scripted model server, and what is known of it beforehand. Never a real account.

use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// One program, pointed at a server.
pub struct Agent {
    /// The adapter.
    pub name: &'static str,
    /// The model.
    pub model: &'static str,
    /// The environment of its user.
    pub environment: BTreeMap<String, OsString>,
}

/// The agent with a home of its own.
pub fn agent(name: &'static str, bin: &Path, home: &Path, port: u16) -> Result<Agent, String> {
    std::fs::create_dir_all(home).map_err(|error| format!("{}: {error}", home.display()))?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs = std::iter::once(bin.to_path_buf()).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(dirs).map_err(|error| error.to_string())?;
    let mut environment: BTreeMap<String, OsString> =
        [("PATH".to_owned(), path), ("HOME".to_owned(), home.into())].into();
    let url = format!("http://127.0.0.1:{port}");
    let mut set = |name: &str, value: &str| drop(environment.insert(name.to_owned(), value.into()));
    let write = |name: &str, text: String| {
        let file = home.join(name);
        let dir = file.parent().map_or(Ok(()), std::fs::create_dir_all);
        dir.and_then(|()| std::fs::write(&file, text)).map_err(|error| format!("{}: {error}", file.display()))
    };
    let model = match name.trim_end_matches("-acp") {
        "claude" => {
            set("ANTHROPIC_BASE_URL", &url);
            set("ANTHROPIC_API_KEY", "scripted");
            "claude-sonnet-4-5"
        }
        "codex" => {
            set("CODEX_API_KEY", "scripted");
            set("CODEX_HOME", &home.join(".codex").display().to_string());
            write(".codex/config.toml", codex(&url))?;
            "gpt-5.5"
        }
        "gemini" => {
            set("GEMINI_API_KEY", "scripted");
            set("GOOGLE_GEMINI_BASE_URL", &url);
            write(
                ".gemini/settings.json",
                json!({"security": {"auth": {"selectedType": "gemini-api-key"}}}).to_string(),
            )?;
            "gemini-2.5-pro"
        }
        "opencode" => {
            write("opencode.json", opencode(&url))?;
            set("OPENCODE_CONFIG", &home.join("opencode.json").display().to_string());
            "fake/fake-model"
        }
        _ => {
            set("OPENAI_API_BASE", &format!("{url}/v1"));
            set("OPENAI_API_KEY", "scripted");
            "openai/fake-model"
        }
    };
    Ok(Agent { name, model, environment })
}

fn codex(url: &str) -> String {
    format!(
        "model_provider = \"scripted\"\n[model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{url}/v1\"\n\
         env_key = \"CODEX_API_KEY\"\nwire_api = \"responses\"\nrequest_max_retries = 2\nstream_max_retries = 2\n"
    )
}

fn opencode(url: &str) -> String {
    let model = json!({"name": "fake", "limit": {"context": 200_000, "output": 8_000}});
    json!({
        "model": "fake/fake-model",
        "small_model": "fake/fake-model",
        "provider": {"fake": {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": format!("{url}/v1"), "apiKey": "scripted"},
            "models": {"fake-model": model},
        }},
    })
    .to_string()
}
