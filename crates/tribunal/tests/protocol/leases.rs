//! Leases over files, asked for one after the other and all at once.

use crate::Field;
use serde_json::json;

#[test]
fn a_file_has_one_holder() {
    let field = Field::new();
    let taken = field.ask(&["lease-lock", "acquire", "t1", "--ttl=300", "src/a", "src/b"], 0);
    assert_eq!((&taken["action"], &taken["result"]), (&json!("acquire"), &json!("acquired")));
    let held = field.ask(&["lease-lock", "acquire", "t2", "src/b"], 2);
    assert_eq!(held["result"], "conflict");
    let conflict = &held["conflicts"][0];
    assert_eq!((&conflict["file"], &conflict["held_by"]), (&json!("src/b"), &json!("t1")));
    assert!(conflict["expires_at"].as_str().unwrap().ends_with('Z'));
    assert_eq!(field.ask(&["lease-lock", "check", "t2", "src/c"], 0)["result"], "clear");
    field.ask(&["lease-lock", "check", "t2", "./src//a"], 2);
    field.ask(&["lease-lock", "check", "t2", "src"], 2);
    field.ask(&["lease-lock", "renew", "t1"], 0);
    field.ask(&["lease-lock", "renew", "t9"], 2);
    assert_eq!(field.ask(&["lease-lock", "release", "t1"], 0)["result"], "released");
    field.ask(&["lease-lock", "acquire", "t2", "src/b"], 0);
    let events = field.events();
    assert_eq!(events[0].0, "lease_conflict");
    field.refused(&["lease-lock", "acquire", "t1"]);
    field.refused(&["lease-lock", "acquire"]);
    field.refused(&["lease-lock", "acquire", "t1", "../outside"]);
    field.refused(&["lease-lock", "steal", "t1", "x"]);
}

#[test]
fn files_beside_release_and_renew_are_the_ones_meant() {
    let field = Field::new();
    field.ask(&["lease-lock", "acquire", "t1", "src/a", "src/b"], 0);
    assert_eq!(field.ask(&["lease-lock", "release", "t1", "src/a"], 0)["count"], 1);
    field.ask(&["lease-lock", "check", "t2", "src/b"], 2);
    field.ask(&["lease-lock", "acquire", "t2", "src/a"], 0);
    assert_eq!(field.ask(&["lease-lock", "renew", "t2", "src/b"], 2)["result"], "conflict");
    field.ask(&["lease-lock", "renew", "t2", "src/c"], 0);
    field.ask(&["lease-lock", "check", "t1", "src/c"], 2);
}

/// Makes every lease older.
fn age(field: &Field, ms: u64) {
    let table = ".planning/.locks/leases.json";
    let mut leases: serde_json::Value = serde_json::from_str(&field.read(table)).unwrap();
    for lease in leases["leases"].as_array_mut().unwrap() {
        lease["at_up_ms"] = (lease["at_up_ms"].as_u64().unwrap() - ms).into();
        lease["at_wall_ms"] = (lease["at_wall_ms"].as_u64().unwrap() - ms).into();
    }
    field.write(table, &leases.to_string());
}

#[test]
fn a_file_has_one_holder_whatever_it_is_called() {
    let field = Field::new();
    std::os::unix::fs::symlink("src", field.stage.project().join("link")).unwrap();
    std::os::unix::fs::symlink("/etc", field.stage.project().join("away")).unwrap();
    field.ask(&["lease-lock", "acquire", "01-01-T1", "src/parser.txt", "lib/*.rs"], 0);
    for file in ["link/parser.txt", "link", "src/*.txt", "lib/a.rs", "lib", "**/parser.txt"] {
        field.ask(&["lease-lock", "acquire", "01-02-T1", file], 2);
    }
    for file in ["link/new.txt", "lib/a.md"] {
        field.ask(&["lease-lock", "check", "01-02-T1", file], 0);
    }
    field.refused(&["lease-lock", "acquire", "t", "away/passwd"]);
    let (name, event) = field.events().remove(0);
    assert_eq!(
        (name.as_str(), &event["phase"], &event["plan"]),
        ("lease_conflict", &json!(1), &json!("01-02"))
    );
    let none = field.ask(&["lease-lock", "release", "nobody"], 0);
    assert_eq!((&none["result"], &none["count"]), (&json!("clear"), &json!(0)));
}

#[test]
fn a_lease_ends_and_a_lock_does_not() {
    let field = Field::new();
    field.ask(&["lease-lock", "acquire", "t1", "--ttl=1", "src/a"], 0);
    age(&field, 2_000);
    field.ask(&["lease-lock", "acquire", "t2", "src/a"], 0);
    field.ask(&["lease-lock", "acquire", "t3", "--ttl=1", "src/z"], 0);
    age(&field, 2_000);
    assert_eq!(field.ask(&["lease-lock", "cleanup"], 0)["count"], 1);
    field.refused(&["lease-lock", "acquire", "t1", "--ttl=0", "src/a"]);
    field.refused(&["lock-lite", "acquire", "t1", "--ttl=5", "src/a"]);
    field.ask(&["lock-lite", "acquire", "t4", "src/lock"], 0);
    let held = field.ask(&["lock-lite", "acquire", "t5", "src/lock"], 2);
    assert_eq!(held["conflicts"][0]["expires_at"], serde_json::Value::Null);
    field.ask(&["lock-lite", "release", "t4"], 0);
    field.ask(&["lock-lite", "acquire", "t5", "src/lock"], 0);
}

#[test]
fn of_many_who_ask_at_once_one_gets_it() {
    let field = Field::new();
    let names: Vec<String> = (0..12).map(|n| format!("t{n}")).collect();
    let codes: Vec<i32> = std::thread::scope(|scope| {
        let ask = |name: &String| {
            let (program, name) = (field.stage.program().clone(), name.clone());
            scope.spawn(move || {
                program
                    .run(&["lease-lock", "acquire", &name, "src/one", "src/two"], &[])
                    .unwrap()
                    .code
                    .unwrap()
            })
        };
        let asked: Vec<_> = names.iter().map(ask).collect();
        asked.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    assert!(codes.iter().all(|code| [0, 2].contains(code)), "{codes:?}");
}

#[test]
fn a_table_half_written_grants_nothing() {
    let field = Field::new();
    field.write(".planning/.locks/leases.json", "{\"leases\": [{\"task_id\": \"t");
    let (code, stdout, stderr) = field.run(&["lease-lock", "acquire", "t1", "src/a"]);
    assert_eq!((code, stdout.as_str()), (3, ""));
    assert!(stderr.contains("leases.json is broken") && stderr.contains("hint: "), "{stderr}");
}

#[test]
fn a_clock_that_jumped_neither_ends_nor_keeps_a_lease() {
    let field = Field::new();
    let table = ".planning/.locks/leases.json";
    field.ask(&["lease-lock", "acquire", "t1", "--ttl=300", "src/a"], 0);
    let mut leases: serde_json::Value = serde_json::from_str(&field.read(table)).unwrap();
    let hour = 3_600_000;
    let sandbox = leases["leases"][0]["at_wall_ms"].as_u64().unwrap();
    // Within one boot the wall clock has no say, wherever it went.
    for at in [sandbox + hour, sandbox - hour] {
        leases["leases"][0]["at_wall_ms"] = at.into();
        field.write(table, &leases.to_string());
        field.ask(&["lease-lock", "acquire", "t2", "src/a"], 2);
    }
    // Of another boot, and from a time that has not come yet: nobody who took it lives.
    leases["leases"][0]["boot"] = "another".into();
    leases["leases"][0]["at_wall_ms"] = (sandbox + hour).into();
    field.write(table, &leases.to_string());
    field.ask(&["lease-lock", "acquire", "t2", "src/a"], 0);
}
