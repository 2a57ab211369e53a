//! Resolves where the results of a SARIF log are.
//!
//! A log may name a file by its whole URI, from a base that the run defines, or from the folder that the tool worked
//! in. All become paths from the folder the tool was started in, because a result that is taken to be about another
//! file would count as one about unchanged code and be dropped.

use super::tool::escaped;
use serde_json::{Map, Value};

/// How many bases may be defined by other bases; a cycle ends here.
const DEPTH: usize = 8;

/// The log with every place as a path from `root`; `None` where nothing in it needs that.
///
/// A place that lies elsewhere stays as it is, and the reader refuses it.
pub(super) fn from_root(text: &str, root: &str) -> Option<String> {
    // A look at the text first: most logs need nothing, and parsing a large one into values is expensive.
    if !["uriBaseId", "workingDirectory", "file:", "FILE:", "File:"].iter().any(|word| text.contains(word)) {
        return None;
    }
    let mut log: Value = serde_json::from_str(text).ok()?;
    for run in log.get_mut("runs")?.as_array_mut()? {
        let places = Places::of(run, root);
        let artifacts = run.get_mut("artifacts").and_then(Value::as_array_mut).into_iter().flatten();
        artifacts.filter_map(|one| one.get_mut("location")).for_each(|one| places.settle(one));
        let results = run.get_mut("results").and_then(Value::as_array_mut).into_iter().flatten();
        let locations = results.filter_map(|one| one.get_mut("locations")?.as_array_mut()).flatten();
        locations
            .filter_map(|one| one.get_mut("physicalLocation")?.get_mut("artifactLocation"))
            .for_each(|one| places.settle(one));
    }
    Some(log.to_string())
}

/// What one run says about its places.
struct Places {
    root: String,
    bases: Map<String, Value>,
    /// The folder that the tool worked in, from the root; empty where it is the root, or not known.
    worked_in: String,
}

impl Places {
    fn of(run: &Value, root: &str) -> Places {
        let bases = run.get("originalUriBaseIds").and_then(Value::as_object).cloned().unwrap_or_default();
        let mut places = Places { root: root.to_owned(), bases, worked_in: String::new() };
        let invocations = run.get("invocations").and_then(Value::as_array).into_iter().flatten();
        let mut folders: Vec<String> = invocations
            .filter_map(|one| one.get("workingDirectory"))
            .map(|folder| places.path(folder, 0).unwrap_or_default())
            .collect();
        folders.dedup();
        // Several folders: which one a result means is not said.
        if let [only] = folders.as_slice()
            && !only.starts_with('/')
        {
            places.worked_in.clone_from(only);
        }
        places
    }

    /// Writes a place as a path from the root.
    fn settle(&self, location: &mut Value) {
        let Some(path) = self.path(location, 0) else { return };
        let from =
            if location.get("uriBaseId").is_none() && is_relative(location) { &self.worked_in } else { "" };
        let Some(path) = joined(from, &path) else { return };
        let Some(location) = location.as_object_mut() else { return };
        // One that lies elsewhere stays a whole URI, and the reader says so.
        let uri = match path.starts_with('/') {
            true => format!("file://{}", escaped(&path)),
            false => escaped(&path),
        };
        location.insert("uri".to_owned(), uri.into());
        location.remove("uriBaseId");
    }

    /// The path of a place: from the root, or a whole one where it lies elsewhere.
    fn path(&self, location: &Value, depth: usize) -> Option<String> {
        let uri = location.get("uri").and_then(Value::as_str)?;
        if let Some(whole) = whole(uri) {
            let whole = super::sarif::unescaped(whole);
            return Some(self.below_root(&whole));
        }
        if uri.contains("://") {
            return None;
        }
        let path = super::sarif::unescaped(uri);
        let base = location.get("uriBaseId").and_then(Value::as_str).and_then(|id| self.bases.get(id));
        match base.filter(|_| depth < DEPTH).and_then(|base| self.path(base, depth + 1)) {
            Some(folder) => joined(&folder, &path),
            // A base that is not defined is the folder that was looked at.
            None => Some(path.into_owned()),
        }
    }

    fn below_root(&self, path: &str) -> String {
        match path.strip_prefix(&self.root) {
            Some("") => String::new(),
            Some(rest) if rest.starts_with('/') => rest.trim_start_matches('/').to_owned(),
            _ => path.to_owned(),
        }
    }
}

/// The path of a file URI, or a whole path: `file:///a`, `file://localhost/a`, `file:/a`, `/a`.
fn whole(uri: &str) -> Option<&str> {
    let rest = match uri.get(..5).filter(|scheme| scheme.eq_ignore_ascii_case("file:")) {
        Some(_) => &uri[5..],
        None => return uri.starts_with('/').then_some(uri),
    };
    match rest.strip_prefix("//") {
        Some(rest) => rest.find('/').map(|at| &rest[at..]),
        None => rest.starts_with('/').then_some(rest),
    }
}

fn is_relative(location: &Value) -> bool {
    location.get("uri").and_then(Value::as_str).is_some_and(|uri| whole(uri).is_none())
}

/// A path from a folder, without `.` and `..`; `None` where it climbs out.
fn joined(folder: &str, path: &str) -> Option<String> {
    let both = if path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") };
    let is_whole = path.starts_with('/') || folder.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in both.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            part => parts.push(part),
        }
    }
    Some(format!("{}{}", if is_whole { "/" } else { "" }, parts.join("/")))
}

#[cfg(test)]
mod tests {
    use super::super::tool::read_form;
    use crate::ToolForm;

    /// The file of the only result of a run with these members.
    fn file(run: &str, location: &str) -> (Option<String>, Vec<String>) {
        let log = format!(
            r#"{{"version":"2.1.0","runs":[{{{run}"results":[{{"ruleId":"R","level":"error","message":{{"text":"no"}},
            "locations":[{{"physicalLocation":{{"artifactLocation":{location},"region":{{"startLine":2}}}}}}]}}]}}]}}"#
        );
        let mut report = read_form(ToolForm::Sarif, &log, "", "/t/my tree").unwrap();
        assert_eq!(report.findings.len(), 1, "{log}");
        (report.findings.remove(0).file, report.unread)
    }

    #[test]
    fn every_way_to_name_a_file_is_read() {
        let bases = r#""originalUriBaseIds":{"ROOT":{"uri":"file:///t/my%20tree/"},"BARE":{"uri":"file:///t/my%20tree"},
            "SUB":{"uri":"sub/","uriBaseId":"ROOT"},"OUT":{"uri":"file:///elsewhere/"},"WORDS":{"description":{"text":"x"}}},"#;
        for (run, location, expect) in [
            ("", r#"{"uri":"sub/a.txt"}"#, Some("sub/a.txt")),
            ("", r#"{"uri":"sub/a%20b.txt"}"#, Some("sub/a b.txt")),
            ("", r#"{"uri":"file:///t/my%20tree/sub/a.txt"}"#, Some("sub/a.txt")),
            ("", r#"{"uri":"file://localhost/t/my%20tree/sub/a.txt"}"#, Some("sub/a.txt")),
            ("", r#"{"uri":"file:/t/my%20tree/sub/a.txt"}"#, Some("sub/a.txt")),
            ("", r#"{"uri":"FILE:///t/my%20tree/sub/%61.txt"}"#, Some("sub/a.txt")),
            ("", r#"{"uri":"/t/my tree/sub/a.txt"}"#, Some("sub/a.txt")),
            ("", r#"{"uri":"a.txt","uriBaseId":"%SRCROOT%"}"#, Some("a.txt")),
            (bases, r#"{"uri":"a.txt","uriBaseId":"ROOT"}"#, Some("a.txt")),
            (bases, r#"{"uri":"a.txt","uriBaseId":"BARE"}"#, Some("a.txt")),
            (bases, r#"{"uri":"a.txt","uriBaseId":"SUB"}"#, Some("sub/a.txt")),
            (bases, r#"{"uri":"../a.txt","uriBaseId":"SUB"}"#, Some("a.txt")),
            (bases, r#"{"uri":"a.txt","uriBaseId":"WORDS"}"#, Some("a.txt")),
            (bases, r#"{"uri":"a.txt","uriBaseId":"OUT"}"#, None),
            ("", r#"{"uri":"file:///elsewhere/a.txt"}"#, None),
            (
                r#""invocations":[{"workingDirectory":{"uri":"file:///t/my%20tree/sub/"}}],"#,
                r#"{"uri":"a.txt"}"#,
                Some("sub/a.txt"),
            ),
            (
                r#""invocations":[{"workingDirectory":{"uri":"file:///t/my%20tree"}}],"#,
                r#"{"uri":"a.txt"}"#,
                Some("a.txt"),
            ),
            (
                r#""originalUriBaseIds":{"SUB":{"uri":"file:///t/my%20tree/sub/"}},
                "artifacts":[{"location":{"uri":"a.txt","uriBaseId":"SUB"}}],"#,
                r#"{"index":0}"#,
                Some("sub/a.txt"),
            ),
        ] {
            let (found, unread) = file(run, location);
            assert_eq!(found.as_deref(), expect, "{run} {location}");
            assert_eq!(unread.is_empty(), expect.is_some(), "{run} {location}: {unread:?}");
        }
    }
}
