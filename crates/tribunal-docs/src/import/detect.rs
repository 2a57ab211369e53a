//! Whose task document a file is: by its path first, and by its text where the path says nothing.
//!
//! The tools fix where their documents lie, so the path is the better evidence. Texts of the formats overlap and are
//! only compared for a `tasks.md` in an unknown place.

use super::Format;
use super::boxes::box_line;
use super::json::{Place, places};
use super::leading::{BareNumbers, leading};
use super::taskmaster::lists;
use crate::markdown::lines;

/// The format of a task document; `None` for a file that is not one.
pub fn detect(path: &str, text: &str) -> Option<Format> {
    let parts: Vec<&str> = path.split(['/', '\\']).filter(|part| !part.is_empty()).collect();
    let (name, folders) = parts.split_last()?;
    match *name {
        "tasks.md" => markdown_by_path(folders).or_else(|| markdown_by_text(text)),
        "tasks.json" => task_master(folders, text),
        _ => None,
    }
}

fn markdown_by_path(folders: &[&str]) -> Option<Format> {
    let after = |first: &str, second: &str| folders.windows(2).rposition(|two| two == [first, second]);
    let numbered =
        |name: &&str| name.bytes().take_while(u8::is_ascii_digit).count() >= 3 && name.contains('-');
    let spec_kit = match folders {
        [.., above, feature] if *above == "specs" && numbered(feature) => Some(folders.len()),
        _ => after(".specify", "specs"),
    };
    // The last folder that says so wins: a project of one tool may lie inside another's.
    let found = [
        (after("openspec", "changes"), Format::OpenSpec),
        (after(".kiro", "specs"), Format::Kiro),
        // Kiro's folder is called `specs` too, so it has to be ruled out first.
        (spec_kit.filter(|_| after(".kiro", "specs").is_none()), Format::SpecKit),
    ];
    found.into_iter().filter_map(|(at, format)| Some((at?, format))).max().map(|(_, format)| format)
}

/// The format of a document whose path says nothing: ids such as `T001` are spec-kit's, requirements below tasks are
/// Kiro's, and numbered boxes under numbered headings are OpenSpec's.
fn markdown_by_text(text: &str) -> Option<Format> {
    let (mut letters, mut numbers, mut requirements, mut groups) = (0, 0, 0, 0);
    for line in lines(text, 1).iter().filter(|line| !line.hidden) {
        if let Some(found) = box_line(line.text) {
            match leading(found.rest, BareNumbers::Words).id {
                Some(id) if id.starts_with('T') => letters += 1,
                Some(_) => numbers += 1,
                None => (),
            }
        } else {
            let said =
                ["_Requirements:", "_要件:", "_需求:", "_要求:"].iter().any(|word| line.text.contains(word));
            requirements += usize::from(said);
            let group = line
                .text
                .strip_prefix("## ")
                .is_some_and(|text| text.starts_with(|c: char| c.is_ascii_digit()));
            groups += usize::from(group);
        }
    }
    // From the most specific sign to the least: numbers alone are common to all.
    match (letters > numbers, requirements > 0, numbers > 0 && groups > 0) {
        (true, _, _) => Some(Format::SpecKit),
        (_, true, _) => Some(Format::Kiro),
        (_, _, true) => Some(Format::OpenSpec),
        (_, _, false) => (numbers > 0).then_some(Format::Kiro),
    }
}

/// Editors and build tools have a `tasks.json` as well, so outside Task Master's folder the tasks must look like its
/// own.
fn task_master(folders: &[&str], text: &str) -> Option<Format> {
    if folders.contains(&".taskmaster") {
        return Some(Format::TaskMaster);
    }
    let root = places(text.strip_prefix('\u{feff}').unwrap_or(text)).ok()?;
    let mut tasks = lists(&root).into_iter().flat_map(|(_, list)| list.elements().unwrap_or_default());
    let in_tasks = folders.last() == Some(&"tasks");
    let titled = |task: &Place| task.get("title").is_some() && (in_tasks || task.get("status").is_some());
    tasks.any(titled).then_some(Format::TaskMaster)
}
