//! Tables: findings by the names of their columns, verdicts for parts, results of checks. A row that holds a severity
//! or a place and fits no column is read as well as can be; a row nobody can read is left to the covering reader.

use super::check::{cells, standing};
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
    let mut at = 0;
    while at < lines.len() {
        if !is_row(&lines[at]) || taken[at] {
            at += 1;
            continue;
        }
        let mut end = at;
        while end < lines.len() && is_row(&lines[end]) && !taken[end] {
            end += 1;
        }
        let titled = lines.get(at + 1).is_some_and(|line| end > at + 1 && is_ruler(line.text));
        if titled || lines[at].text.trim_start().starts_with('|') {
            rows(&lines[at..end], titled, &mut taken[at..end], draft);
        }
        at = end;
    }
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

/// What a column holds, under the name that `from_fields` knows.
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
        "confidence" => "confidence",
        "domain" | "category" | "area" => "domain",
        "verdict" | "decision" | "urteil" | "veredicto" | "结论" | "判定" => "verdict",
        "status" | "result" | "outcome" | "ergebnis" | "resultado" | "结果" | "結果" => "result",
        _ => "",
    }
}

fn rows(lines: &[Line<'_>], titled: bool, taken: &mut [bool], draft: &mut Draft) {
    let columns: Vec<&str> = if titled { cells(lines[0].text).map(column).collect() } else { Vec::new() };
    let has = |name: &str| columns.contains(&name);
    let listing = has("issue") && (has("severity") || has("file")) || has("severity") && has("file");
    let from = if titled { 2 } else { 0 };
    taken[..from].fill(titled);
    for (at, line) in lines.iter().enumerate().skip(from) {
        taken[at] = match () {
            () if is_ruler(line.text) => true,
            () if has("verdict") && !listing => part(line.text, &columns, draft),
            () if listing => finding(line.text, &columns, draft),
            () if has("result") => result(line.text, &columns, draft),
            () => guessed(line.text, draft),
        };
    }
}

/// A row under known titles.
fn finding(row: &str, columns: &[&str], draft: &mut Draft) -> bool {
    let mut fields: Vec<(String, String)> = Vec::new();
    let mut severity = None;
    for (n, cell) in cells(row).enumerate() {
        let name = columns.get(n).copied().unwrap_or("");
        let cell = cell.replace("<br/>", "<br>").replace("<br />", "<br>");
        match name {
            "severity" => severity = marks::word(&cell).or(severity),
            // How bad it is may stand under `Impact`.
            "details" if !columns.contains(&"severity") && marks::word(&cell).is_some() => {
                severity = marks::word(&cell);
            }
            "issue" => issue(&cell, &mut fields, &mut severity),
            "file" => fields.push(("file".to_owned(), place_in(&cell))),
            "verdict" | "result" | "" => {}
            name => fields.push((name.to_owned(), cell.replace("<br>", "\n"))),
        }
    }
    let says = fields.iter().any(|(name, value)| name == "issue" && value.chars().any(char::is_alphabetic));
    let nothing =
        fields.iter().all(|(name, value)| name == "id" || words::is_nothing(value) || is_dash(value));
    if nothing {
        return true;
    }
    if says && !fields.iter().any(|(name, _)| name == "file") {
        let place = cells(row).find_map(place::first);
        fields.extend(place.map(|place| ("file".to_owned(), place.spelled())));
    }
    fields.extend(severity.map(|severity| ("severity".to_owned(), severity.word().to_owned())));
    draft.form(Form::Table);
    if let Some(claim) = from_fields(row, fields, draft) {
        draft.intake.findings.push(claim);
    }
    true
}

fn is_dash(value: &str) -> bool {
    !value.chars().any(char::is_alphanumeric)
}

fn place_in(cell: &str) -> String {
    place::first(cell).map_or_else(|| bare(cell).to_owned(), |found| found.spelled())
}

/// `title<br>why<br>_Fix:_ how`; a severity in front counts where no column has one.
fn issue(
    cell: &str,
    fields: &mut Vec<(String, String)>,
    severity: &mut Option<tribunal_core::finding::Severity>,
) {
    let mut parts = cell.split("<br>").map(str::trim).filter(|part| !part.is_empty());
    let mut first = parts.next().unwrap_or("");
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

/// A verdict for a part: it counts only against the whole.
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
        Some(Stated::Known(Verdict::Approve, _)) => true,
        _ => false,
    }
}

/// A result of a check: what did not pass is in doubt.
fn result(row: &str, columns: &[&str], draft: &mut Draft) -> bool {
    let cell = cells(row).zip(columns).find(|(_, name)| **name == "result").map(|(cell, _)| cell);
    let passed = cell.is_some_and(|cell| standing(cell) == Some(true));
    passed || guessed(row, draft)
}

/// A row under titles nobody knows: a finding if it holds a severity or a place with a line.
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
    let words = all.iter().filter(|cell| {
        marks::word(cell).is_none() && place::first(cell).is_none_or(|p| p.end < cell.len() / 2)
    });
    let issue = words.max_by_key(|cell| cell.len()).copied().unwrap_or("");
    let mut fields = vec![("issue".to_owned(), issue.to_owned())];
    fields.extend(severity.map(|severity| ("severity".to_owned(), severity.word().to_owned())));
    fields.extend(place.map(|place| ("file".to_owned(), place.spelled())));
    draft.form(Form::Table);
    if let Some(claim) = from_fields(row, fields, draft) {
        draft.intake.findings.push(claim);
    }
    true
}
