//! The floor of reading SARIF: as much of it as a finding is made of, typed, and nothing done with it. Once as anybody
//! would write it, with strings of its own, as findings have them; once borrowed from the text, which nothing that
//! outlives the file can be.

use serde::Deserialize;
use std::borrow::Cow;

/// As much of SARIF as a finding is made of, typed and borrowed: what no reader can do without.
#[derive(Deserialize)]
struct Log<'a> {
    #[serde(borrow)]
    runs: Vec<Run<'a>>,
}

#[derive(Deserialize)]
struct Run<'a> {
    #[serde(borrow)]
    results: Vec<Res<'a>>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "parsed and dropped: that is the floor")]
struct Res<'a> {
    #[serde(borrow, rename = "ruleId")]
    rule: Cow<'a, str>,
    #[serde(borrow)]
    level: Cow<'a, str>,
    #[serde(borrow)]
    message: Message<'a>,
    #[serde(borrow)]
    locations: Vec<Location<'a>>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "parsed and dropped: that is the floor")]
struct Message<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "parsed and dropped: that is the floor")]
struct Location<'a> {
    #[serde(borrow, rename = "physicalLocation")]
    physical: Physical<'a>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "parsed and dropped: that is the floor")]
struct Physical<'a> {
    #[serde(borrow, rename = "artifactLocation")]
    artifact: Artifact<'a>,
    region: Region,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "parsed and dropped: that is the floor")]
struct Artifact<'a> {
    #[serde(borrow)]
    uri: Cow<'a, str>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "parsed and dropped: that is the floor")]
struct Region {
    #[serde(rename = "startLine")]
    start: u32,
}

/// Parses a log and counts its results.
pub fn bare(text: &str) -> serde_json::Result<usize> {
    let log: Log<'_> = serde_json::from_str(text)?;
    Ok(log.runs.iter().map(|run| run.results.len()).sum())
}

mod owned {
    use serde::Deserialize;

    #[derive(Deserialize)]
    pub struct Log {
        pub runs: Vec<Run>,
    }

    #[derive(Deserialize)]
    pub struct Run {
        pub results: Vec<Res>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "parsed and dropped: that is the floor")]
    pub struct Res {
        rule_id: String,
        level: String,
        message: Message,
        locations: Vec<Location>,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "parsed and dropped: that is the floor")]
    struct Message {
        text: String,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "parsed and dropped: that is the floor")]
    struct Location {
        physical_location: Physical,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "parsed and dropped: that is the floor")]
    struct Physical {
        artifact_location: Artifact,
        region: Region,
    }

    #[derive(Deserialize)]
    #[expect(dead_code, reason = "parsed and dropped: that is the floor")]
    struct Artifact {
        uri: String,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "parsed and dropped: that is the floor")]
    struct Region {
        start_line: u32,
    }
}

/// Parses a log into strings of its own and counts its results.
pub fn bare_owned(text: &str) -> serde_json::Result<usize> {
    let log: owned::Log = serde_json::from_str(text)?;
    Ok(log.runs.iter().map(|run| run.results.len()).sum())
}
