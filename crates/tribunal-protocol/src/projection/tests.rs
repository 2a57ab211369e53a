//! Tests of the projection: the events a journal tells, each once, whatever died when.

use super::*;
use proptest::prelude::*;
use tribunal_core::ids::PlanId;
use tribunal_engine::run_state::{LaunchNote, Note, RunNote};
use tribunal_journal::{Head, Journal, NewRow, Turn};

fn facts() -> impl Strategy<Value = Vec<Fact>> {
    let plan = (1u32..4).prop_map(|n| PlanId::new(format!("01-{n:02}")));
    let fact = prop_oneof![
        Just(Fact::Note(Note::Resumed)),
        plan.clone().prop_map(|plan| Fact::Run(RunEvent::LaneOpened { plan })),
        plan.prop_map(|plan| Fact::Run(RunEvent::PlanDropped { plan, by: "x".to_owned() })),
        Just(Fact::Run(RunEvent::FinishOrdered)),
        any::<u8>().prop_map(|tokens| {
            let launch = LaunchNote {
                effect: "01-01/task-1.1/e1".to_owned(),
                tokens_in: tokens.into(),
                ..LaunchNote::default()
            };
            Fact::Note(Note::Launch(Box::new(launch)))
        }),
    ];
    (prop::collection::vec(fact.clone(), 0..3), prop::collection::vec(fact, 0..12)).prop_map(
        |(early, late)| {
            let about = Note::Run(Box::new(RunNote { phase: "01".to_owned(), ..RunNote::default() }));
            [early, vec![Fact::Note(about)], late].concat()
        },
    )
}

fn journal(dir: &Path, facts: &[Fact]) {
    let head = Head { run_id: "r".to_owned(), product_version: "0".to_owned(), created_at: 0 };
    let mut journal = Journal::create(dir, &head).unwrap();
    let rows: Vec<_> = facts.iter().map(|fact| fact.encode().unwrap()).collect();
    let rows: Vec<NewRow<'_>> = rows.iter().map(|(of, kind, body)| NewRow { of, kind, body }).collect();
    journal.append(&[Turn { at: 5, rows: &rows }]).unwrap();
}

fn told(folder: &Folder) -> Vec<String> {
    let text = String::from_utf8(folder.read(LOG).unwrap().unwrap_or_default()).unwrap();
    let id =
        |line: &str| Some(serde_json::from_str::<Value>(line).ok()?.get("event_id")?.as_str()?.to_owned());
    text.lines().filter_map(id).filter(|id| id.starts_with("r:")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Whoever dies wherever, and however often, between two lines or in one: each event is told once, in order.
    #[test]
    fn each_event_once(facts in facts(), deaths in prop::collection::vec((0usize..12, 0usize..40), 0..4)) {
        let dir = tempfile::tempdir().unwrap();
        let (run, folder) = (dir.path().join("r"), Folder::new(dir.path().join("planning")));
        journal(&run, &facts);
        folder.append(LOG, r#"{"event_id":"other:1.0"}"#).unwrap();
        for (lines, bytes) in deaths {
            let missing = missing(&folder, &run, "r", &mut Names::new("r")).unwrap().lines;
            missing.iter().take(lines).for_each(|line| folder.append(LOG, line).unwrap());
            if let Some(line) = missing.get(lines) {
                let mut log = folder.read(LOG).unwrap().unwrap();
                log.extend_from_slice(&line.as_bytes()[..bytes.min(line.len() - 1)]);
                folder.write(LOG, &log).unwrap();
            }
        }
        let missing = missing(&folder, &run, "r", &mut Names::new("r")).unwrap().lines;
        missing.iter().for_each(|line| folder.append(LOG, line).unwrap());
        let wanted: Vec<String> = events_of(&run, "r").unwrap().into_iter().map(|event| event.event_id).collect();
        prop_assert_eq!(told(&folder), wanted);
    }
}
