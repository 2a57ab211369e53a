//! Sentences beside an approval, as people and models write them. An honest one leaves the answer approved; one that
//! may tell of a fault, in whatever shape and language, does not. None of them is from a labelled set.

use tribunal_core::finding::Verdict;
use tribunal_findings::read;

fn approved(sentence: &str) -> bool {
    let text = format!(
        "{sentence}\n\nCHECKED: src/queue.rs and its tests, ran cargo test (31 passed)\nVERDICT: approve\n"
    );
    read(&text).effective() == Some(Verdict::Approve)
}

fn wrong(sentences: &[&'static str], want: bool) -> Vec<&'static str> {
    sentences.iter().filter(|sentence| approved(sentence) != want).copied().collect()
}

#[rustfmt::skip]
const HONEST: &[&str] = &[
    "Runs without any data loss.",
    "The suite runs without errors or warnings.",
    "No other files were changed.",
    "Nothing else was touched.",
    "The naming is right.",
    "I'd merge this as is.",
    "There is nothing to object to.",
    "The change touches only `src/queue.rs`.",
    "I ran it again and it printed what was asked.",
    "Quality: readable and well tested.",
    "Tests: 12 passed, 0 failed.",
    "+1",
    "The plan wanted a retry with a limit; the change delivers that.",
    "The ticket asks for pagination, and the patch implements it.",
    "This does exactly what the task describes.",
    "The implementation follows the plan step by step.",
    "The new code follows the conventions of the module.",
    "All acceptance criteria are met.",
    "Every requirement of the issue is covered by a test.",
    "The tests cover the first page, the last page and an empty result.",
    "Unit tests exercise both branches.",
    "The test suite asserts the ordering and the totals.",
    "New tests pin the behaviour for leap years.",
    "I verified that the command prints the version, as the spec demands.",
    "The service answers 201 on creation, as the contract says.",
    "Each public function validates its arguments.",
    "The parser rejects malformed headers.",
    "The reader handles missing files and empty files.",
    "Timeouts are handled on both sides.",
    "Errors are propagated to the caller.",
    "All user input is escaped.",
    "The upload checks the size before writing.",
    "Every query is parameterized.",
    "Nothing stands in the way of merging.",
    "Nothing here worries me.",
    "None of the tests fail.",
    "None of this blocks the release.",
    "No regressions, no leaks, no deadlocks.",
    "I found no errors and no warnings.",
    "There are no open problems.",
    "I have no objections.",
    "I see no risk here.",
    "No blocking issues were found.",
    "It builds without warnings.",
    "The suite runs without errors.",
    "I did not find any problems.",
    "I don't see any issues.",
    "I read the whole diff twice.",
    "I compared the output with the example in the plan.",
    "I went through each commit and ran the linter.",
    "I looked at the error paths in particular.",
    "I traced the shutdown sequence by hand.",
    "Also reviewed: the migration and its rollback.",
    "Clean work, thanks!",
    "Nice and small change.",
    "Well structured and easy to follow.",
    "Good names, good tests.",
    "The code is readable and well tested.",
    "The error messages are clear.",
    "A solid piece of work.",
    "Looks good to me.",
    "Happy to approve this.",
    "Let me know when you want another look.",
    "Overview: extracts the formatter into its own module. Purely mechanical.",
    "A pure refactoring: the behaviour is unchanged.",
    "Behaviour is identical to the old parser on the whole corpus.",
    "The documentation matches the code.",
    "The output is correct for all samples.",
    "Both platforms work as expected.",
    "Performance is fine: 2 ms, as documented.",
    "The change is complete and consistent with the plan.",
    "The issue asked for a dry run; the command has it and the tests show it is correct.",
    "The work matches the description in the ticket.",
    "All paths return the documented codes, as the interface requires.",
    "Every write is guarded and every failure is handled.",
    "The handler verifies the signature before parsing.",
    "Input is validated at the border.",
    "Nothing to complain about.",
    "Nothing else to report.",
    "Zero warnings from clippy.",
    "There were no failures in the test run.",
    "No security concerns from my side.",
    "The design is sound and the naming is consistent.",
    "I also confirmed the migration by running it up and down.",
    "Great job on the tests.",
    "Ich habe den Diff geprüft und keine Probleme gefunden.",
    "Ich habe alle Dateien gelesen und die Tests ausgeführt.",
    "Die Umsetzung entspricht dem Plan.",
    "Die Tests decken alle Fälle ab.",
    "Keine Fehler gefunden.",
    "Der Code ist sauber und gut getestet.",
    "He leído todo el cambio y ejecuté las pruebas.",
    "Las pruebas cubren todos los casos.",
    "No encontré problemas.",
    "J'ai relu tout le code et lancé les tests.",
    "Les tests couvrent tous les cas.",
    "Aucun problème trouvé.",
    "Ho letto tutto il codice ed eseguito i test.",
    "Nessun problema trovato.",
    "我阅读了全部代码并运行了测试。",
    "没有发现问题。",
    "全てのテストが成功し、問題は見つかりませんでした。",
    "모든 테스트가 통과했습니다.",
];

#[rustfmt::skip]
const FAULTS: &[&str] = &[
    // A denial with an exception, or of what is wanted.
    "Without validation the handler crashes.",
    "Without a mutex the total is wrong.",
    "It runs without a timeout and hangs.",
    "I found no bugs other than the open redirect.",
    "No problems beyond the hard-coded address.",
    "No issues so far.",
    "No issues in the part I opened.",
    "No bugs in half of it.",
    "Nothing wrong in the files I opened.",
    "Nothing to mend except everything.",
    "No other file was touched than the production database.",
    "I would merge this if forced.",
    "Half of the quoting is right.",
    "The parsing is correct in one of three places.",
    "The output is correct for the happy path.",
    // Nothing ran, or something wanted is gone.
    "Tests: 0 passed.",
    "None of the tests passed.",
    "As asked, encryption is stripped.",
    "As requested, the validation is removed.",
    "Intent: not satisfied.",
    "Hold this.",
    "Approve with reservations.",
    // Signs and questions.
    "🚨",
    "Good work 👎",
    "This is fine. 🔥",
    "-1",
    "Who validates whatever they pass as a path?",
    "Are you sure this is right?",
    "## Findings\n\n```text\n1. src/queue.rs:2 the name is executed\n```",
    "```\nsrc/queue.rs:2: critical: the name is executed by the shell\n```",
    "```suggestion\nlet total = 0;\n```",
    // No word of a fault in them.
    "The loop never terminates for an empty list.",
    "An attacker can read any file by sending ../",
    "Passwords end up in the log in plain text.",
    "Sorting is unstable now.",
    "The export differs on every run.",
    "Tokens are stored unencrypted.",
    "The second request overwrites the first.",
    "It reads the whole file into memory for each line.",
    "The session stays valid for a year.",
    "Any password matches.",
    "The complete user table is returned to every caller.",
    "The lock holds across the network call.",
    "The cache keeps every entry.",
    "The counter wraps at 255.",
    "The handler trusts the header of the client.",
    "The tests assert nothing.",
    "The tests pass because they are empty.",
    "The tests cover only the happy path.",
    "The tests cover half of the cases.",
    "No test covers the rollback.",
    "None of the tests cover the error path.",
    "Nothing prevents a race here.",
    "Nothing checks the length.",
    "Nothing validates the input.",
    "Nothing stops a second import.",
    "No error is reported when the disk is full.",
    "No warning is shown before the data is replaced.",
    "No lock is held during the write.",
    "No one reviews these defaults.",
    "The write happens without a lock.",
    "It deletes files without asking.",
    "The plan asks for a limit of 10, the code uses 100.",
    "The task asked for a limit; none is there.",
    "The task asked for a retry.  I see one attempt.",
    "The spec wants UTC, the code prints local time.",
    "The code follows symlinks out of the root.",
    "It implements half of the plan.",
    "The patch implements the plan in part.",
    "It implements something else than the plan.",
    "The change goes beyond the task: it drops the audit log.",
    "The behaviour is the opposite of what the plan says.",
    "The handler validates the input after the write.",
    "It validates the first field only.",
    "The guard checks the wrong flag.",
    "The check is done on the client.",
    "The check moved behind the write.",
    "Input is escaped too late.",
    "Errors are handled by returning an empty list.",
    "Errors are logged and dropped.",
    "Errors are turned into success.",
    "Timeouts are retried forever.",
    "The signature is compared byte by byte.",
    "The random numbers come from the clock.",
    "The key is derived from the user's name.",
    "The secret is in the repository.",
    "The admin page is open to everyone.",
    "Everyone gets admin rights.",
    "Other tenants see these rows.",
    "The file is world writable.",
    "The password is in the URL.",
    "The query is built from the request's text.",
    "The certificate is accepted whatever it says.",
    "TLS verification is off.",
    "Debug mode is on in production.",
    "The feature flag is on for everyone.",
    "The index is off by one.",
    "The last element gets dropped.",
    "The first row is counted twice.",
    "The result depends on the order of the map.",
    "The timer fires while the list is being changed.",
    "Two workers pick the same job.",
    "Both threads write the same field.",
    "The socket stays open after the request.",
    "Memory grows with each request.",
    "It takes ten minutes for a small file.",
    "Each page triggers a query per row.",
    "The migration takes the table offline.",
    "The rollback leaves the column in place.",
    "Old clients get a 500.",
    "The old API is gone.",
    "It compiles on Linux only.",
    "Money is kept as a float.",
    "Dates are parsed in local time.",
    "Negative amounts are accepted.",
    "Empty names are accepted.",
    "An empty list gives a nonsense average.",
    "The total is rounded before the tax is added.",
    "Umlauts come out as question marks.",
    "The button does nothing.",
    "The menu covers the dialog.",
    "The docs describe another flag.",
    "The documented flag has another name in the code.",
    "The comment says the contrary of the code.",
    "The change removes the login check.",
    "It replaces the hash with md5.",
    "It adds an endpoint that runs any command.",
    "It works on my machine.",
    "It works most of the time.",
    "It works for small inputs.",
    "It works once.",
    "It works, mostly.",
    "Looks good, apart from the migration.",
    "Looks good once the test is there.",
    "Good work, but the cache is shared.",
    "Fine if nobody calls it twice.",
    "Approved provided that the limit is raised.",
    "Please rename the flag before merging.",
    "Remember to bump the version.",
    "Add a test for the second branch.",
    "The lock order has to change.",
    "This will page somebody at night.",
    "Users might see each other's carts.",
    "I could not run the tests.",
    "I skipped the migration.",
    "I did not read the generated files.",
    "I only looked at the first file.",
    "I ran the tests and two of them hang.",
    "I read the diff; the retry is endless.",
    "I confirmed that two requests get the same id.",
    "I verified that the loop spins on an empty queue.",
    "I checked that the endpoint answers 200 for strangers.",
    "src/queue.rs:14 keeps the lock.",
    "See src/queue.rs:14.",
    "Line 14 is interesting.",
    "What happens with two writers?",
    "Why is the lock held here?",
    // They sound like a safeguard, or like the task.
    "The task handler runs every job in the same process.",
    "The plan is ignored by the second step.",
    "The issue says UTC and the code writes local time.",
    "The test account has admin rights.",
    "The tests write to the production bucket.",
    "The suite takes an hour.",
    "The tests check the mock.",
    "The test database holds real names.",
    "The example key is live.",
    "The docs follow another version.",
    "The tests provide the answer they check.",
    "The interface implements a second login.",
    "The check returns true for everyone.",
    "The check is gone.",
    "Validation happens in the browser.",
    "Authentication is off for this path.",
    "Escaping is done by the caller.",
    "The guard lets strangers through.",
    "The handler checks the name and runs it as root.",
    "The handler validates the size; the type is free.",
    "The loader verifies the checksum that comes with the file.",
    "The parser rejects every second record.",
    "The service rejects valid tokens.",
    "The filter rejects all requests.",
    "The wrapper catches everything.",
    "The handler handles each request in a new process.",
    "It encrypts with a fixed key.",
    "It encrypts the body with ECB.",
    "The password is encrypted with a constant.",
    "The retry avoids the lock.",
    "This avoids the permission check.",
    "The cache prevents updates from being seen.",
    "The limit prevents logins at night.",
    "It renames the public API.",
    "It extracts archives over existing files.",
    "It matches names by prefix.",
    "The regex matches the whole file.",
    "The token is valid after logout.",
    "The code is clear text.",
    "The results are equal for different users.",
    "The password is unchanged after a reset.",
    "The balance is unchanged when a transfer is booked.",
    "The file is complete when the disk has room.",
    "The response is expected within a minute, it takes two.",
    "It is well known that md5 collides.",
    "A good deal of the work happens under the lock.",
    "It passes the password on the command line.",
    "It passes the user's text to the shell.",
    "The new flow ships the key with the app.",
    "The callback is welcome to call itself.",
    "A clean build takes the old schema.",
    "The clean target wipes the home folder.",
    "A successful login resets nothing.",
    "The green button sends the order two times.",
    "The work queue grows.",
    "The work is redone on each call.",
    "No rows are returned for the last page.",
    "No access control on this route.",
    "No limit on the upload.",
    "No retries here.",
    "No tests for the new branch.",
    "Nothing is written to disk.",
    "Nothing closes the file.",
    "Nothing limits the number of workers.",
    "None of the callers look at the result.",
    "None of the inputs are escaped.",
    "Without the flag the server accepts everything.",
    "`npm run build` exits with 1.",
    "The linter ended with exit code 2.",
    // Other languages.
    "Die Schleife endet bei einer leeren Liste nie.",
    "Passwörter stehen im Klartext im Log.",
    "Das Ergebnis hängt von der Reihenfolge ab.",
    "Der Zähler läuft bei 255 über.",
    "Gute Arbeit, nur der Cache wächst unbegrenzt.",
    "Jeder Nutzer sieht die Daten der anderen.",
    "Die Prüfung steht hinter dem Schreiben.",
    "Die Tests prüfen nichts.",
    "El token no caduca nunca.",
    "La sesión no se cierra jamás.",
    "El token de src/queue.rs:14 no caduca nunca.",
    "No hay límite de intentos.",
    "Il token non scade mai.",
    "Le jeton n'expire jamais.",
    "Das Token läuft nie ab.",
    "Cualquier usuario ve los datos de otros.",
    "La contraseña queda en el registro.",
    "El bucle no termina con una lista vacía.",
    "Las pruebas cubren solo el caso feliz.",
    "N'importe qui lit le fichier.",
    "Le mot de passe est écrit dans le journal.",
    "Le compteur repart de zéro à chaque appel.",
    "Les tests couvrent seulement un cas.",
    "La password finisce nel log.",
    "Il ciclo gira all'infinito con una lista vuota.",
    "空列表时循环一直运行。",
    "密码以明文写入日志。",
    "任何人都能读取该文件。",
    "パスワードがログに出力される。",
    "空のリストでループが終わらない。",
    "누구나 파일을 읽을 수 있습니다.",
    "Пароль пишется в журнал.",
    "Любой пользователь видит чужие данные.",
];

#[test]
fn honest_sentences_leave_an_approval() {
    let lost = wrong(HONEST, true);
    assert!(HONEST.len() >= 60 && lost.is_empty(), "{} of {}: {lost:#?}", lost.len(), HONEST.len());
}

#[test]
fn sentences_that_may_tell_of_a_fault_leave_none() {
    let taken = wrong(FAULTS, false);
    assert!(FAULTS.len() >= 120 && taken.is_empty(), "{} of {}: {taken:#?}", taken.len(), FAULTS.len());
}

#[rustfmt::skip]
const CHECKED: &[&str] = &[
    "read src/queue.rs:4 and its caller in src/main.rs:10-20",
    "src/queue.rs:88 and its callers",
    "src/queue.rs line 2; ran it with and without a name",
    "src/queue.rs, both with and without an argument",
    "verified the fix at src/queue.rs:4 against the plan",
    "the code paths for missing and empty arguments",
    "src/queue.rs:2; ran `queue list`, got \"two entries\"",
    "ran the tests: 12 passed, 0 failed",
    "the tasks cover the must-haves, and every file is named.",
];

#[rustfmt::skip]
const NOT_CHECKED: &[&str] = &[
    "ran the script, my files were gone",
    "ran the queue: Segmentation fault",
    "ran it, core dumped",
    "ran it, got a traceback",
    "ran the tests: none passed",
    "read the first half of the diff",
    "read most of the diff",
    "looked at a few files",
    "skimmed src/queue.rs",
    "believed the checks",
    "read the summary of the maker",
    "src/queue.rs exists",
    "ran the login with a wrong password and was let in",
    "read src/queue.rs as far as the limit allowed",
    "read src/login.rs, returns true for every password",
    "read the diff; the login accepts any password",
    "read src/queue.rs, it uploads the key",
    "read src/queue.rs:40, drops the last row",
    "src/queue.rs:4 off by one",
    "src/queue.rs:4 path traversal",
    "src/queue.rs:4 and src/main.rs:9 disagree",
    "src/queue.rs:4 without a lock",
    "read the diff up to the limit",
    "read src/queue.rs up to line 400",
    "ran it; output empty",
    "read src/queue.rs:4 and its caller in src/main.rs:10-20 :warning:",
    "read src/queue.rs",
    "src/queue.rs:88",
];

/// What was checked is evidence; what it tells of besides is not.
#[test]
fn what_was_checked_reports_and_tells_of_no_fault() {
    let approves = |checked: &&&str| {
        read(&format!("CHECKED: {checked}\nVERDICT: approve\n")).effective() == Some(Verdict::Approve)
    };
    // Whether it says enough is another question: here it is whether it tells of a fault.
    let doubtful = |checked: &&&str| {
        read(&format!("CHECKED: {checked}\nVERDICT: approve\n")).verdict != Some(Verdict::Approve)
    };
    let doubted: Vec<&&str> = CHECKED.iter().filter(doubtful).collect();
    assert!(doubted.is_empty(), "honest, and doubted: {doubted:#?}");
    let believed: Vec<&&str> = NOT_CHECKED.iter().filter(approves).collect();
    assert!(believed.is_empty(), "believed: {believed:#?}");
}

/// A sign of alarm by its name, alone on a line, is a sign of alarm.
#[test]
fn an_alarm_alone_leaves_no_approval() {
    for sign in [":warning:", ":x:", "⚠️", ":rotating_light: :rotating_light:"] {
        for text in [
            format!("{sign}\n\nCHECKED: ran cargo test, 41 passed\nVERDICT: approve\n"),
            format!("CHECKED: ran cargo test, 41 passed\nVERDICT: approve {sign}\n"),
            format!("CHECKED: ran cargo test, 41 passed\nVERDICT: approve\n{sign}\n"),
            format!("## Findings\n\n{sign}\n\nCHECKED: ran cargo test, 41 passed\nVERDICT: approve\n"),
            format!("- {sign}\nCHECKED: ran cargo test, 41 passed\nVERDICT: approve\n"),
        ] {
            assert_ne!(read(&text).effective(), Some(Verdict::Approve), "{text}");
        }
    }
}

/// What a prompt gives as an example of evidence counts once it is about the work, and not as it stands there.
#[test]
fn the_examples_of_evidence_are_evidence_of_other_work() {
    use tribunal_core::evidence::{Lack, Matter};
    use tribunal_findings::{Judged, Reading, read_as};
    let names = || ["Goals", "Criteria", "Interface", "Limits"].map(str::to_owned).into_iter().collect();
    let judged = |matter| Judged {
        matter,
        files: vec!["lib/shop.py".to_owned()],
        names: if matter == Matter::Document { names() } else { Default::default() },
        ..Judged::default()
    };
    for (matter, own) in [
        (Matter::Change, "read lib/shop.py, total adds up all prices; ran pytest -q, 3 passed"),
        (Matter::Plan, "task 1 adds the file that must-have 2 names, and its verification runs it"),
        (
            Matter::Document,
            "read the section Limits, it says what each table holds; the criteria cover the goals",
        ),
    ] {
        let judged = judged(matter);
        let heard = |checked: &str| {
            let text = format!("CHECKED: {checked}\nVERDICT: approve\n");
            read_as(text.as_bytes(), &Reading { judged: Some(&judged), ..Reading::default() })
        };
        let own = heard(own);
        assert_eq!(own.effective(), Some(Verdict::Approve), "{own:?}");
        // About other work the example would be evidence: no word of it is in doubt.
        let copied = heard(matter.example());
        assert_eq!((copied.verdict, copied.effective()), (Some(Verdict::Approve), None), "{copied:?}");
        assert_eq!(copied.refused.map(|refused| refused.lack), Some(Lack::Copied));
    }
}
