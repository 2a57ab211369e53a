//! Reads tables: findings by the names of their columns, verdicts for parts, results of checks.
//!
//! A row that holds a severity or a place and fits no column is read as well as can be. A row that cannot be read is
//! left to the covering reader.

use super::check::{cells, standing};
use super::cover::Manner;
use super::head;
use super::lines::from_fields;
use super::marks::{self, Lead};
use super::place;
use super::scan::{Kind, Line};
use super::{Draft, Form};
use crate::text::{bare, plain_words};
use crate::words::{self, Stated};
use tribunal_core::finding::Verdict;

/// Reads every table and marks its lines as taken.
pub(crate) fn read(lines: &[Line<'_>], taken: &mut [bool], draft: &mut Draft) {
    // A table below a finding with its own id is part of that finding.
    let inside = head::below_an_id(lines);
    read_html(lines, taken, draft);
    let mut at = 0;
    while at < lines.len() {
        if !is_row(&lines[at]) || taken[at] || inside[at] {
            at += 1;
            continue;
        }
        let mut end = at;
        // A table is as many rows as stand together.
        while end < lines.len() && is_row(&lines[end]) && !taken[end] {
            end += 1;
        }
        // A pipe alone proves little: a table has a ruler, or pipes in front.
        let titled = lines.get(at + 1).is_some_and(|line| end > at + 1 && is_ruler(line.text));
        if titled || lines[at].text.trim_start().starts_with('|') {
            rows(&lines[at..end], titled, &mut taken[at..end], draft);
        }
        at = end;
    }
}

/// Reads a `<table>` with a row of titles: its rows are findings if the titles say so.
fn read_html(lines: &[Line<'_>], taken: &mut [bool], draft: &mut Draft) {
    const LINES_MAX: usize = 2_000;
    let mut at = 0;
    while at < lines.len() {
        let begins = |line: &Line<'_>| line.text.trim_start().to_ascii_lowercase().starts_with("<table");
        if lines[at].kind != Kind::Own || taken[at] || !begins(&lines[at]) {
            at += 1;
            continue;
        }
        let last = (at + LINES_MAX).min(lines.len());
        let closes = |at: &usize| lines[*at].text.to_ascii_lowercase().contains("</table>");
        let end = (at..last).find(closes).map_or(last, |at| at + 1);
        let text: Vec<&str> = lines[at..end].iter().map(|line| line.text.trim()).collect();
        let rows: Vec<String> = html_rows(&text.join(" "));
        let columns: Vec<&str> = rows.first().map(|row| cells(row).map(column).collect()).unwrap_or_default();
        if is_listing(&columns) {
            titles(&rows[0], draft);
            rows[1..].iter().for_each(|row| _ = finding(row, &columns, draft));
            taken[at..end].fill(true);
        }
        at = end;
    }
}

/// The rows of a table in tags, each with pipes between its cells.
fn html_rows(text: &str) -> Vec<String> {
    let mut rows: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        let inner = &rest[open + 1..];
        let name: String = inner.bytes().take_while(u8::is_ascii_alphanumeric).map(char::from).collect();
        let Some(end) = inner.find('>') else { break };
        let body = &inner[end + 1..];
        match name.to_ascii_lowercase().as_str() {
            "tr" => rows.push(String::from("|")),
            "td" | "th" => {
                // Cells are often left unclosed; then the next tag of the table ends them.
                let stop = body.find("</t").or_else(|| body.find("<t")).unwrap_or(body.len());
                if let Some(row) = rows.last_mut() {
                    // A pipe in a cell would begin another one.
                    row.push_str(&format!(" {} |", body[..stop].trim().replace('|', "/")));
                }
                rest = &body[stop..];
                continue;
            }
            _ => {}
        }
        rest = body;
    }
    rows.retain(|row| row.len() > 1);
    rows
}

fn is_listing(columns: &[&str]) -> bool {
    let has = |name: &str| columns.contains(&name);
    // One known title may be anything; two make a list of findings.
    has("issue") && (has("severity") || has("file")) || has("severity") && has("file")
}

fn is_row(line: &Line<'_>) -> bool {
    line.kind == Kind::Own
        && line.text.contains('|')
        && cells(line.text).count() > 1
        && !super::lines::is_tagged(line.text)
}

fn is_ruler(text: &str) -> bool {
    text.contains("--") && text.chars().all(|c| c.is_whitespace() || matches!(c, '|' | '-' | ':' | '+'))
}

/// The content of a column, under the name that `from_fields` knows; empty for an unknown title.
///
/// Titles are compared whole, so that `File count` is not a file.
fn column(title: &str) -> &'static str {
    let title = plain_words(bare(title));
    match title.as_str() {
        "#" | "id" | "no" | "no." | "nr" | "nr." | "编号" | "番号" => "id",
        "severity" | "level" | "prio" | "priority" | "sev" | "schweregrad" | "schwere" | "gravedad"
        | "severidad" | "prioridad" | "sévérité" | "gravité" | "gravità" | "严重程度" | "级别" | "等级"
        | "重要度" | "严重性" | "深刻度" => "severity",
        "file" | "path" | "location" | "where" | "place" | "file:line" | "file / line" | "file/line"
        | "file and line" | "datei" | "ort" | "stelle" | "archivo" | "ubicación" | "fichier"
        | "emplacement" | "文件" | "位置" | "ファイル" | "場所" => "file",
        "line" | "lines" | "line(s)" | "zeile" | "zeilen" | "línea" | "líneas" | "ligne" | "行" | "行号" => {
            "line"
        }
        "issue" | "problem" | "title" | "finding" | "comment" | "what is wrong" | "what's wrong" | "note"
        | "notes" | "message" | "description" | "summary" | "what" | "claim" | "remark" | "observation"
        | "befund" | "beschreibung" | "problema" | "descripción" | "hallazgo" | "problème" | "constat"
        | "问题" | "描述" | "说明" | "問題" | "内容" | "指摘" | "concern" | "defect" | "bug" => {
            "issue"
        }
        "why" | "details" | "impact" | "explanation" | "reason" | "warum" | "原因" | "理由" => "details",
        "fix" | "suggestion" | "how to fix" | "recommendation" | "suggested fix" | "proposal" | "lösung"
        | "vorschlag" | "solución" | "correction" | "修复建议" | "建议" | "修复" | "対応" | "remedy" => {
            "suggestion"
        }
        "count" | "counts" | "total" | "number" | "anzahl" | "数量" | "件数" => "count",
        "confidence" => "confidence",
        "domain" | "category" | "area" => "domain",
        "verdict" | "decision" | "urteil" | "veredicto" | "结论" | "判定" => "verdict",
        "status" | "result" | "outcome" | "ergebnis" | "resultado" | "结果" | "結果" => "result",
        _ => "",
    }
}

/// Reads the rows of one table by what its columns are.
fn rows(lines: &[Line<'_>], titled: bool, taken: &mut [bool], draft: &mut Draft) {
    let columns: Vec<&str> = if titled { cells(lines[0].text).map(column).collect() } else { Vec::new() };
    let has = |name: &str| columns.contains(&name);
    let listing = is_listing(&columns);
    let from = if titled { 2 } else { 0 };
    taken[..from].fill(titled);
    if titled {
        titles(lines[0].text, draft);
    }
    for (at, line) in lines.iter().enumerate().skip(from) {
        taken[at] = match () {
            () if is_ruler(line.text) => true,
            // A count of each kind is not a finding.
            () if has("count") => false,
            () if has("verdict") && !listing => part(line.text, &columns, draft),
            () if listing => finding(line.text, &columns, draft),
            () if has("result") => result(line.text, &columns, draft),
            () => guessed(line.text, draft),
        };
    }
}

/// Covers titles that nobody knows: they may say anything.
fn titles(row: &str, draft: &mut Draft) {
    for cell in cells(row).filter(|cell| column(cell).is_empty()) {
        let long = cell.split_whitespace().count() > 4;
        draft.cover(cell, if long { Manner::List } else { Manner::Checked });
    }
}

/// Covers the cells of a row beside the one that was read.
fn beside(row: &str, columns: &[&str], read: &str, draft: &mut Draft) {
    for (n, cell) in cells(row).enumerate() {
        if columns.get(n).copied().unwrap_or("") != read {
            draft.cover(cell, Manner::List);
        }
    }
}

/// Reads a row under known titles; returns whether it was taken.
fn finding(row: &str, columns: &[&str], draft: &mut Draft) -> bool {
    let mut fields: Vec<(String, String)> = Vec::new();
    let mut severity = None;
    for (n, cell) in cells(row).enumerate() {
        let name = columns.get(n).copied().unwrap_or("");
        let cell = cell.replace("<br/>", "<br>").replace("<br />", "<br>");
        match name {
            "severity" => severity = marks::word(&cell).or(severity),
            // The severity may stand under `Impact`.
            "details" if !columns.contains(&"severity") && marks::word(&cell).is_some() => {
                severity = marks::word(&cell);
            }
            "issue" => issue(&cell, &mut fields, &mut severity),
            "file" => fields.push(("file".to_owned(), place_in(&cell))),
            "verdict" | "result" => {}
            "" if severity.is_none() && marks::word(&cell).is_some() => severity = marks::word(&cell),
            "" => fields.push(("details".to_owned(), cell.replace("<br>", "\n"))),
            name => fields.push((name.to_owned(), cell.replace("<br>", "\n"))),
        }
    }
    label(&mut fields);
    let says = fields.iter().any(|(name, value)| name == "issue" && value.chars().any(char::is_alphabetic));
    // A row of dashes and "none" says that there are no findings.
    let nothing =
        fields.iter().all(|(name, value)| name == "id" || words::is_nothing(value) || is_dash(value));
    if nothing {
        return true;
    }
    // Without a column for the file, the place may stand in any cell.
    if says && !fields.iter().any(|(name, _)| name == "file") {
        let place = cells(row).find_map(place::first);
        fields.extend(place.map(|place| ("file".to_owned(), place.spelled())));
    }
    fields.extend(severity.map(|severity| ("severity".to_owned(), severity.word().to_owned())));
    draft.form(Form::Table);
    if let Some(claim) = from_fields(row, fields, draft) {
        draft.listed.push(draft.intake.findings.len());
        draft.intake.findings.push(claim);
    }
    true
}

/// Takes `CR-01: title` in the column of the issue as the id, where no column has one.
fn label(fields: &mut Vec<(String, String)>) {
    if fields.iter().any(|(name, _)| name == "id") {
        return;
    }
    let issue = fields.iter_mut().find(|(name, _)| name == "issue");
    let Some((_, words)) = issue else { return };
    let Some((id, _, rest)) = head::own_id(words) else { return };
    let rest = rest.to_owned();
    *words = rest;
    fields.push(("id".to_owned(), id));
}

fn is_dash(value: &str) -> bool {
    !value.chars().any(char::is_alphanumeric)
}

fn place_in(cell: &str) -> String {
    place::first(cell).map_or_else(|| bare(cell).to_owned(), |found| found.spelled())
}

/// Reads `title<br>why<br>_Fix:_ how`; a severity in front counts where no column has one.
fn issue(
    cell: &str,
    fields: &mut Vec<(String, String)>,
    severity: &mut Option<tribunal_core::finding::Severity>,
) {
    let mut parts = cell.split("<br>").map(str::trim).filter(|part| !part.is_empty());
    let mut first = parts.next().unwrap_or("");
    // A column of severities is more reliable than a word in the text.
    if severity.is_none() {
        if let Some(Lead::Of(found, _, rest)) = marks::lead(first) {
            (*severity, first) = (Some(found), rest);
        } else if let Some((word, rest)) = first.split_once(' ')
            && word.chars().all(|c| c.is_uppercase() || c.is_ascii_digit())
            && let Some(found) = marks::word(word)
        {
            (*severity, first) = (Some(found), rest);
        } else if let Some((found, _)) = marks::within(first) {
            *severity = Some(found);
        }
    }
    fields.push(("issue".to_owned(), first.to_owned()));
    for part in parts {
        let plain = bare(part);
        let fix =
            plain.to_lowercase().starts_with("fix:").then(|| plain[4..].trim_start_matches(['_', '*', ' ']));
        match fix {
            Some(fix) => fields.push(("suggestion".to_owned(), fix.to_owned())),
            None => fields.push(("details".to_owned(), part.to_owned())),
        }
    }
}

/// Reads a verdict for a part, which counts only against the whole.
fn part(row: &str, columns: &[&str], draft: &mut Draft) -> bool {
    let cell = cells(row).zip(columns).find(|(_, name)| **name == "verdict").map(|(cell, _)| cell);
    match cell.map(words::verdict) {
        Some(Stated::Known(Verdict::Reject, fundamental)) => {
            draft.part(row, Verdict::Reject, fundamental);
            true
        }
        Some(Stated::Known(Verdict::Conditional, _)) => {
            draft.part(row, Verdict::Conditional, false);
            true
        }
        Some(Stated::Known(Verdict::Approve, _)) => {
            beside(row, columns, "verdict", draft);
            true
        }
        _ => false,
    }
}

/// Reads the result of a check: whatever did not pass is in doubt.
fn result(row: &str, columns: &[&str], draft: &mut Draft) -> bool {
    let cell = cells(row).zip(columns).find(|(_, name)| **name == "result").map(|(cell, _)| cell);
    let passed = cell.is_some_and(|cell| standing(cell) == Some(true) || is_settled(cell));
    if passed {
        beside(row, columns, "result", draft);
    }
    passed || guessed(row, draft)
}

/// Whether a row reports that an earlier finding is gone.
fn is_settled(cell: &str) -> bool {
    let words = plain_words(bare(cell));
    let words = words.trim_start_matches(|c: char| !c.is_alphanumeric());
    matches!(words, "holds" | "verified" | "fixed" | "resolved" | "confirmed" | "closed" | "addressed")
}

/// Reads a row under unknown titles: a finding if it holds a severity or a place with a line.
fn guessed(row: &str, draft: &mut Draft) -> bool {
    let all: Vec<&str> = cells(row).collect();
    let severity = all.iter().find_map(|cell| match marks::lead(cell) {
        _ if marks::word(cell).is_some() => marks::word(cell),
        Some(Lead::Of(severity, true, _)) => Some(severity),
        _ => {
            let first = cell.split(' ').next().unwrap_or("");
            first.chars().all(char::is_uppercase).then(|| marks::word(first)).flatten()
        }
    });
    let place = all.iter().find_map(|cell| place::first(cell)).filter(|place| place.lines.is_some());
    if severity.is_none() && place.is_none() {
        return false;
    }
    // A cell that is mostly a place or a mark does not describe anything.
    let words = all.iter().filter(|cell| {
        marks::word(cell).is_none() && place::first(cell).is_none_or(|p| p.end < cell.len() / 2)
    });
    // The longest cell that is neither a mark nor a place is most likely the description.
    let issue = words.max_by_key(|cell| cell.len()).copied().unwrap_or("");
    if !issue.chars().any(char::is_alphabetic) {
        return false;
    }
    let mut fields = vec![("issue".to_owned(), issue.to_owned())];
    fields.extend(severity.map(|severity| ("severity".to_owned(), severity.word().to_owned())));
    fields.extend(place.map(|place| ("file".to_owned(), place.spelled())));
    draft.form(Form::Table);
    if let Some(claim) = from_fields(row, fields, draft) {
        draft.intake.findings.push(claim);
    }
    true
}
