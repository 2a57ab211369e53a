//! Frontmatter as people and models write it: what each kind of damage becomes, and where it is reported.

use tribunal_docs::{Read, Summary, Value, read_summary};

/// Reads a summary whose frontmatter is `yaml`.
fn read(yaml: &str) -> Read<Summary> {
    read_summary("07-01-SUMMARY.md", &format!("---\n{yaml}\n---\n# Title\n"))
}

/// The value under `key` of a document that had to be repaired, and the place of its first diagnostic.
fn check(yaml: &str, key: &str, expect: Value, place: (u32, u32)) {
    let got = read(yaml);
    let summary = got.value.unwrap_or_else(|| panic!("{yaml}: {:?}", got.diagnostics));
    let value = summary.extra.iter().find(|(name, _)| name == key);
    assert_eq!(value.map(|(_, value)| value), Some(&expect), "{yaml}");
    assert!(got.recovered, "{yaml}");
    let first = &got.diagnostics[0];
    assert_eq!((first.line, first.column), place, "{yaml}: {first:?}");
}

fn one(text: &str) -> Value {
    Value::text(text)
}

fn list(texts: &[&str]) -> Value {
    Value::texts(texts.iter().copied())
}

#[test]
fn refused_scalars_are_read_as_the_text_they_are() {
    check("x: a: b", "x", one("a: b"), (2, 4));
    check("x: fix: one: two", "x", one("fix: one: two"), (2, 4));
    check("x:\n  - Word two: fmt(\"a: %w\") here", "x", list(&["Word two: fmt(\"a: %w\") here"]), (3, 5));
    check("x: @scope/name", "x", one("@scope/name"), (2, 4));
    check("x: `code` first", "x", one("`code` first"), (2, 4));
    check("x:\n- `a`\n- b", "x", list(&["`a`", "b"]), (3, 3));
    check("x: %percent", "x", one("%percent"), (2, 4));
    check("x: \"a\" and b", "x", one("\"a\" and b"), (2, 4));
    check("x: 'a' and b", "x", one("'a' and b"), (2, 4));
    check("x: \"never closed", "x", one("\"never closed"), (2, 4));
    check("x: \"a\\.b\"", "x", one("a\\.b"), (2, 4));
    check("x: \"a\\$b\\n\"", "x", one("a\\$b\n"), (2, 4));
    check("x: > Both modes", "x", one("Both modes"), (2, 4));
    check("x: >0.88 skip, more", "x", one(">0.88 skip, more"), (2, 4));
    check("x: {a} | {b}", "x", one("{a} | {b}"), (2, 4));
}

#[test]
fn inline_lists_keep_their_entries() {
    check("x: [@a/b, c]", "x", list(&["@a/b", "c"]), (2, 4));
    check("x: [a, \"b c\" d, e]", "x", list(&["a", "\"b c\" d", "e"]), (2, 4));
    check("x: [\"a\" [new], b]", "x", list(&["\"a\" [new]", "b"]), (2, 4));
    check("x: [say \"${V}\" once, b]", "x", list(&["say \"${V}\" once", "b"]), (2, 4));
    check("x: [a, `b`] (both)", "x", list(&["a", "`b`"]), (2, 4));
    check("x: [\n  @a,\n  b\n]\ny: 1", "x", list(&["@a", "b"]), (2, 4));
}

#[test]
fn sentences_over_lines_are_joined() {
    let yaml = "x:\n  - The guard: never outside\n    (defence in depth)\n  - b";
    check(yaml, "x", list(&["The guard: never outside (defence in depth)", "b"]), (3, 5));
    let yaml = "x:\n  - `a` goes\n    on: here\n  - b";
    check(yaml, "x", list(&["`a` goes on: here", "b"]), (3, 5));
}

#[test]
fn tabs_count_as_two_spaces() {
    check("x:\n\t- a\n\t- b", "x", list(&["a", "b"]), (3, 1));
}

#[test]
fn out_of_scope_lines_are_left_out_and_named() {
    check("x: 1\nthis is no entry\ny: 2", "x", one("1"), (3, 1));
}

#[test]
fn columns_count_characters() {
    check("é: {ü} | x", "é", one("{ü} | x"), (2, 4));
}

#[test]
fn the_later_of_two_equal_keys_wins_and_is_reported() {
    check("x: 1\ny: 2\nx: 3", "x", one("3"), (2, 1));
    let spelled_apart = read("tasks-total: 1\ntasks_total: 2");
    assert!(spelled_apart.recovered);
    assert_eq!(spelled_apart.value.unwrap().tasks_total.as_deref(), Some("2"));
}

#[test]
fn an_unknown_entry_beyond_repair_costs_only_itself() {
    let got = read("title: T\nodd:\n   - a\n  - b\nstatus: complete");
    let summary = got.value.unwrap();
    assert_eq!(summary.title.as_deref(), Some("T"));
    assert_eq!(summary.status.as_deref(), Some("complete"));
    assert!(got.recovered && !got.diagnostics.is_empty());
}

#[test]
fn a_known_entry_beyond_repair_refuses_the_document() {
    let got = read("title: T\ndeviations:\n   - a\n  - b\nstatus: complete");
    assert_eq!(got.value, None);
    assert!(got.diagnostics.iter().any(|d| d.line >= 3 && d.message.contains("deviations")));
}

#[test]
fn an_alias_bomb_is_refused() {
    let mut yaml = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let before = vec![format!("*a{}", level - 1); 9].join(", ");
        yaml.push_str(&format!("a{level}: &a{level} [{before}]\n"));
    }
    yaml.push_str("title: *a11");
    let got = read(&yaml);
    assert_eq!(got.value, None, "refused, not unfolded");
}

#[test]
fn aliases_and_block_scalars_read() {
    let got = read("x: &a [1, 2]\ny: *a\nz: |\n  # no comment\n  two\nw: >-\n  a\n  b").value.unwrap();
    let value = |key: &str| got.extra.iter().find(|(name, _)| name == key).unwrap().1.clone();
    assert_eq!(value("y"), list(&["1", "2"]));
    assert_eq!(value("z"), one("# no comment\ntwo\n"));
    assert_eq!(value("w"), one("a b"));
}

#[test]
fn nesting_without_end_is_refused() {
    let deep = format!("title: {}", "[".repeat(100_000));
    assert!(read(&deep).value.is_none_or(|s| s.title.is_some()));
}

#[test]
fn fences_are_found_by_hand() {
    let status = |text: &str| {
        let read = read_summary("S.md", text);
        (read.value.and_then(|s| s.status), read.recovered)
    };
    let plain = (Some("complete".to_owned()), false);
    assert_eq!(status("---\nstatus: complete\n---\n"), plain);
    assert_eq!(status("\u{FEFF}---\r\nstatus: complete\r\n---\r\nbody\r\n"), plain);
    assert_eq!(status("---  \nstatus: complete\n---\t\nbody"), plain);
    assert_eq!(status("---\nstatus: complete\n---"), plain);
    assert_eq!(status("\n\n---\nstatus: complete\n---\n"), plain);
    let unclosed = (Some("complete".to_owned()), true);
    assert_eq!(status("---\nstatus: complete\n\n# Title\n\ntext\n"), unclosed);
    assert_eq!(status("---\nstatus: complete\nA sentence: no.\n"), unclosed);
    assert_eq!(status("---\nno key here\n"), (None, false));
    assert_eq!(status("text\n---\nstatus: complete\n---\n"), (None, false));
    assert_eq!(status(""), (None, false));
}

#[test]
fn a_missing_end_fence_is_reported_where_the_block_ends() {
    let read = read_summary("S.md", "---\nstatus: complete\n\n# Title\n");
    assert_eq!((read.diagnostics[0].line, read.diagnostics[0].column), (4, 1));
    assert_eq!(read.value.unwrap().title.as_deref(), Some("Title"));
}

/// One bad scalar elsewhere does not make a sentence out of a key that YAML reads.
#[test]
fn an_odd_key_in_a_list_item_stays_a_key() {
    let sound = "---\nphase: 01\nplan: 01\nx_a:\n  - '!': a\n    A(:\n---\n";
    let damaged = sound.replace("x_a:", "zz_bad: @x\nx_a:");
    let read = |text: &str| {
        let plan = tribunal_docs::read_plan("01-01-PLAN.md", text).value.unwrap();
        plan.extra.into_iter().find(|(key, _)| key == "x_a")
    };
    assert!(read(sound).is_some());
    assert_eq!(read(&damaged), read(sound));
}
