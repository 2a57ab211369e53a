//! The words by which a sentence is recognized as harmless, or not. Stems end in `*`.
//!
//! The good words decide: a clause without one is in doubt, so that a fault nobody thought of is in doubt as well. The
//! bad ones only keep a sentence with good words from passing. Adding a good word therefore needs more care than adding
//! a bad one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

/// A list of words, arranged for lookup.
///
/// Sentences are looked up word by word in several tables, so a lookup must not walk the list.
pub(super) struct Table {
    words: BTreeSet<&'static str>,
    /// Stems by their first letter, so that few are compared.
    stems: BTreeMap<char, Vec<&'static str>>,
}

impl Table {
    pub(super) fn of(list: &[&'static str]) -> Table {
        let mut table = Table { words: BTreeSet::new(), stems: BTreeMap::new() };
        for entry in list {
            match (entry.strip_suffix('*'), entry.chars().next()) {
                (Some(stem), Some(first)) => table.stems.entry(first).or_default().push(stem),
                _ => _ = table.words.insert(entry),
            }
        }
        table
    }

    pub(super) fn has(&self, word: &str) -> bool {
        let stems = || word.chars().next().and_then(|first| self.stems.get(&first));
        self.words.contains(word)
            || stems().is_some_and(|stems| stems.iter().any(|stem| word.starts_with(stem)))
    }
}

/// Words for what a reviewer did, in several languages.
pub(super) static DONE: LazyLock<Table> = LazyLock::new(|| Table::of(DONE_WORDS));
#[rustfmt::skip]
const DONE_WORDS: &[&str] = &[
    // English
    "read", "reread", "re-read", "ran", "run", "reran", "re-ran", "rerun", "reviewed", "re-reviewed",
    "checked", "rechecked", "re-checked", "inspected", "examined", "looked", "walked", "went", "stepped",
    "traced", "followed", "compared", "verified", "confirmed", "tested", "tried", "exercised", "executed",
    "built", "compiled", "linted", "formatted", "measured", "profiled", "benchmarked", "fuzzed", "searched",
    "grepped", "opened", "studied", "audited", "validated", "reproduced", "clicked", "applied", "rolled",
    "deployed", "installed", "queried", "diffed", "scanned", "analysed", "analyzed", "covered",
    "started", "replayed", "simulated", "rendered", "called", "sent", "fed", "loaded", "migrated",
    "proofread", "cross-checked", "double-checked", "spot-checked", "asked", "evaluated",
    "assessed", "considered", "counted", "timed", "restored", "booted", "toggled", "unpacked", "proofed",
    // German
    "gelesen", "geprüft", "überprüft", "ausgeführt", "angesehen", "angeschaut", "getestet", "verglichen",
    "durchgesehen", "nachvollzogen", "gebaut", "kompiliert", "gestartet", "durchgegangen", "laufen lassen",
    "kontrolliert", "untersucht",
    // Spanish and Portuguese
    "leído", "leí", "revisé", "revisado", "ejecuté", "ejecutado", "probé", "probado", "comprobé",
    "comprobado", "verifiqué", "verificado", "comparé", "comparado", "compilé", "li", "revisei", "executei",
    "testei", "verifiquei", "rodei", "conferi",
    // French
    "lu", "relu", "exécuté", "lancé", "testé", "vérifié", "comparé", "parcouru", "examiné", "compilé",
    "relancé", "contrôlé",
    // Italian
    "letto", "eseguito", "verificato", "controllato", "provato", "testato", "confrontato", "compilato",
    "esaminato",
];

/// Words of a result or a judgement that speaks for the work.
pub(super) static GOOD: LazyLock<Table> = LazyLock::new(|| Table::of(GOOD_WORDS));
#[rustfmt::skip]
const GOOD_WORDS: &[&str] = &[
    // English
    "pass", "passes", "passed", "passing", "green", "ok", "okay", "fine", "good", "great", "nice", "nicely",
    "well", "clean", "cleanly", "clear", "clearly", "correct", "correctly", "sound", "solid",
    "works", "work", "worked", "succeeds", "succeeded", "success", "successful", "matches", "match",
    "matched", "meets", "meet", "fulfils", "fulfills", "satisfies", "satisfied", "agrees", "agree",
    "consistent", "complete", "covered", "covers", "tested", "holds", "hold", "lgtm", "approve", "approved",
    "approval", "tidy", "neat", "readable", "thorough", "carefully",
    "minimal", "straightforward", "sensible", "reasonable", "appropriate", "expected", "documented",
    "thanks", "thank", "kudos", "excellent", "perfect", "happy", "ready", "ship",
    "valid", "identical", "equal", "unchanged", "intact", "met", "robust", "elegant",
    "idiomatic", "concise", "cheers",
    // German
    "grün", "grüne", "bestanden", "sauber", "korrekt", "richtig", "passt", "erfüllt", "stimmt",
    "freigegeben", "gut", "danke", "erfolgreich", "vollständig", "ordnung",
    // Spanish and Portuguese
    "correcto", "correcta", "correctas", "correctos", "pasan", "pasaron", "verde", "verdes",
    "cumple", "cumplen", "gracias", "aprobado", "aprobada", "corretos", "corretas",
    "passaram", "passam", "obrigado", "aprovado",
    // French
    "correct", "corrects", "réussi", "réussis", "passent", "vert", "verts", "conforme", "merci",
    "approuvé",
    // Italian
    "corretto", "corretti", "passati", "superati", "verdi", "grazie", "approvato",
];

/// Words of a fault. Something in front of one has to take it back, or the sentence is in doubt.
pub(super) static BAD: LazyLock<Table> = LazyLock::new(|| Table::of(BAD_WORDS));
#[rustfmt::skip]
const BAD_WORDS: &[&str] = &[
    // English
    "blocker*", "blocking", "critical*", "severe*", "fatal*", "serious*", "bug*", "buggy", "vulnerab*",
    "exploit*", "attack*", "malicious*", "injection*", "race", "races", "racy", "deadlock*", "livelock*",
    "leak*", "crash*", "corrupt*", "overflow*", "underflow*", "panic*", "hang", "hangs", "hanging",
    "freez*", "stall*", "starv*", "broken", "breaks", "break", "broke", "breaking", "breakage", "wrong*",
    "incorrect*", "invalid*", "unsafe*", "insecure*", "missing", "misses", "missed", "miss", "lack*",
    "absent", "fail*", "error*", "problem*", "issue*", "concern*", "risk*", "flaw*", "defect*", "hole*",
    "regress*", "forg*", "danger*", "warning*", "unfortunately", "sadly", "beware", "wait", "hmm", "oops",
    "todo", "fixme", "hack*", "worse*", "worst", "worr*", "delet*", "destroy*", "wipe*", "erase*", "lose",
    "loses", "losing", "lost", "loss", "expire*", "bypass*", "plaintext", "cleartext", "hardcoded",
    "hard-coded", "unescaped", "unvalidated", "unchecked", "unbounded", "unlimited", "unsanitized",
    "unsanitised", "unauthenticated", "unauthorized", "unauthorised", "unencrypted", "unhandled",
    "uninitialized", "unsynchronized", "unused", "unreachable", "untested", "unclear", "unfinished",
    "unresolved", "unfixed", "duplicat*", "stale", "silently", "swallow*", "ignore*", "ignoring",
    "truncat*", "skip*", "disabl*", "timeout*", "exhaust*", "infinite*", "forever", "off-by-one",
    "nullpointer*", "segfault*", "sigsegv", "sigbus", "backdoor*", "back-door*", "trapdoor", "kidding",
    "joking", "joke", "sarcas*", "doubt*", "suspicious*", "odd", "oddly", "strange*", "weird*", "flaky",
    "slow*", "quadratic", "n+1", "violat*", "contradict*", "inconsistent*", "mismatch*", "mistake*",
    "misleading", "incomplete*", "partial*", "partly", "almost", "barely", "hardly", "poor*", "bad*",
    "ugly", "terrible", "horrible", "awful", "unacceptable", "unreliable", "reject*", "decline*", "refuse*",
    "revert*", "block", "blocks", "blocked", "abort*", "aborted", "red", "urgent*", "immediately", "asap",
    "trust", "trusted", "assume*", "assuming", "guess*", "suppose*", "unable", "impossible", "denied",
    "exposes", "exposed", "reveal*", "disclos*", "steal*", "stolen", "compromis*", "privilege*", "escalat*",
    "arbitrary", "tamper*", "forge*", "spoof*", "impersonat*", "overwrit*", "clobber*", "unprotected",
    "plain-text", "downtime", "outage", "incident", "careful", "stopped", "nobody", "unlocked", "undefined", "use-after-free",
    "dangling", "nit*", "fix", "needs", "need", "stop", "until", "still", "already-known",
    "smell*", "fragile", "brittle", "shaky", "rollback-unsafe", "harm*", "hurt*", "damage*", "costly",
    "expensive", "rejected", "vulnerable", "sensitive", "secret*", "credential*", "undermin*", "defeat*",
    "circumvent*", "disrupt*", "objection*", "protest*", "probabl*", "presumabl*", "hopefull*", "apparentl*", "supposedly",
    "theoretically", "died", "dies", "segmentation", "traceback*", "stacktrace*", "dumped", "sigabrt", "oom", "vanish*", "disappear*",
    "reservation*", "skim*", "glanc*", "eyeball*", "intuition", "believed", "believe", "persist*", "outlive*", "hung", "protesting", "later", "follow-up*", "followup*", "postpone*",
    // German
    "aber", "jedoch", "allerdings", "obwohl", "außer", "trotzdem", "leider", "muss", "müssen", "sollte*",
    "fehl*", "kaputt", "falsch*", "unsicher*", "kritisch*", "schwer*", "lücke*", "absturz*", "abstürz*",
    "stürzt", "verlust*", "verlier*", "löscht*", "gelöscht", "klartext", "nie", "niemals", "nicht", "ohne",
    "problem*", "beheben", "behoben", "gefähr*", "undicht", "veraltet*", "ungeprüft*", "ungültig*",
    "blockier*", "noch", "sonst", "nur", "beanstandung*", "mangel*", "mängel*", "bedenken", "einwand*",
    "einwände*", "kann", "könn*", "wird", "werden",
    // Spanish and Portuguese
    "pero", "aunque", "excepto", "salvo", "debe", "deben", "debería*", "falta*", "fall*", "rompe*", "roto",
    "mal", "grave*", "crític*", "insegur*", "pierde*", "pérdida*", "borra*", "elimina*", "fuga*", "bloque*",
    "inyecci*", "nunca", "jamás", "sin", "todavía", "problema*", "vulnerab*", "arregl*", "corregir", "mas",
    "porém", "deve*", "falha*", "quebra*", "perd*", "apaga*", "erro*", "puede*", "pode*",
    // French
    "mais", "cependant", "pourtant", "sauf", "doit", "doivent", "devrait*", "manqu*", "erreur*", "échou*",
    "échec*", "cass*", "faux", "fausse*", "fuite*", "plant*", "perdu*", "perte*", "supprim*", "efface*",
    "jamais", "pas", "sans", "problème*", "faille*", "dangereu*", "corriger", "bloqu*", "peut", "peuvent",
    // Italian
    "però", "tuttavia", "eccetto", "deve", "devono", "dovrebb*", "manca*", "errat*", "sbagliat*", "perde*",
    "perdita", "cancella*", "mai", "senza", "rischi*", "può", "possono", "nulla", "niente", "persa", "perso",
    // Others
    "nada", "não", "non", "ne", "nooit", "niet", "geen", "aldrig", "inte", "ikke", "koskaan", "ei", "senki", "soha", "nem",
    "asla", "yok", "không", "nigdy", "nie", "verloren", "perdue", "perdida", "weg",
];

/// Words that turn a sentence round.
pub(super) static TURNS: LazyLock<Table> = LazyLock::new(|| Table::of(TURNS_WORDS));
#[rustfmt::skip]
const TURNS_WORDS: &[&str] = &[
    "but", "however", "except", "although", "though", "unless", "despite", "otherwise", "nevertheless",
    "nonetheless", "apart", "aside", "instead", "whereas", "yet", "besides", "caveat*", "albeit",
    "notwithstanding", "provided", "pending",
];

/// Words that ask for something to be done, or say what may happen.
pub(super) static ASKS: LazyLock<Table> = LazyLock::new(|| Table::of(ASKS_WORDS));
#[rustfmt::skip]
const ASKS_WORDS: &[&str] = &[
    "must", "should", "shall", "ought", "has to", "have to", "had to", "needs to", "need to", "please",
    "required", "recommend*", "suggest*", "consider", "would", "could", "can", "may", "might", "will",
    "won't", "wouldn't", "shouldn't", "couldn't", "cannot", "can't", "ask", "wonder*",
];

/// Words that deny a statement.
pub(super) static DENIES: LazyLock<Table> = LazyLock::new(|| Table::of(DENIES_WORDS));
#[rustfmt::skip]
const DENIES_WORDS: &[&str] = &[
    "not", "never", "nor", "don't", "doesn't", "didn't", "isn't", "aren't", "wasn't", "weren't", "hasn't",
    "haven't", "hadn't", "longer", "nowhere", "neither", "dont", "doesnt", "didnt", "isnt",
];

/// Words that say that there is none of something.
pub(super) static NONE: LazyLock<Table> = LazyLock::new(|| Table::of(NONE_WORDS));
#[rustfmt::skip]
const NONE_WORDS: &[&str] = &[
    "no", "none", "nothing", "zero", "0", "without", "free", "any", "keine", "keinen", "keinerlei", "kein",
    "nichts", "ningún", "ninguna", "ninguno", "sin", "nenhum", "nenhuma", "sem", "aucun", "aucune",
    "nessun", "nessuna", "nessuno", "rien",
];

/// Words behind which something is looked for: it is not there because of that.
pub(super) const SOUGHT: &[&str] =
    &["for", "against", "with", "of", "handles", "handle", "handling", "simulated", "injected", "via"];

/// Nouns that make a word of a fault a topic: the error paths, the failure case.
#[rustfmt::skip]
pub(super) const TOPICS: &[&str] = &[
    "path", "paths", "case", "cases", "handling", "handler", "handlers", "test", "tests", "branch",
    "branches", "message", "messages", "code", "codes", "type", "types", "budget", "detector", "checker",
    "conditions", "condition", "scenario", "scenarios", "variant", "variants", "enum", "log", "logs",
    "page", "pages", "report", "reports", "mode", "link", "token", "tokens", "input", "inputs", "file",
    "files", "suite", "model", "list", "tracker", "number", "policy", "budgets", "values", "value",
];

/// Names of what a reviewer reads and runs.
pub(super) static THINGS_READ: LazyLock<Table> = LazyLock::new(|| Table::of(THINGS_READ_WORDS));
#[rustfmt::skip]
const THINGS_READ_WORDS: &[&str] = &[
    "tests", "files", "paths", "cases", "callers", "changes", "docs", "examples", "samples", "branches", "modules",
    "functions", "types", "lines", "hunks", "tables", "formats", "handlers", "endpoints", "queries", "migrations",
    "fixtures", "snapshots", "benchmarks", "logs", "specs", "configs", "scripts", "commits", "packages", "crates", "inputs",
    "outputs", "imports", "exports", "models", "views", "routes", "templates", "platforms", "browsers", "themes", "widths",
    "levels", "versions", "requests", "responses", "messages", "events", "fields", "names", "classes", "methods", "tools",
    "flags", "options", "settings", "rules", "checks", "hooks", "jobs", "steps", "parts", "pages", "components", "services",
    "libraries", "dependencies", "helpers", "loops", "calls", "users", "docstrings", "comments", "features", "filters",
    "results", "statements", "schemas", "structs", "traits", "tags", "values", "variants", "sources", "headers", "filters",
    "dateien", "datei", "änderung*", "archivo*", "fichero*", "fichier*", "arquivo*", "prueba*", "cambios", "código",
    "modification*", "essais", "testes", "quelltext",
    "caller", "branch", "path", "function", "module", "query", "table", "handler", "endpoint", "migration", "script",
    "config", "parser", "spec", "task", "page", "folder", "loop", "client", "server", "database", "schema", "criteria",
    "minutes", "hours", "seconds", "times", "hand", "browser", "terminal", "debugger", "board", "device", "example",
    "sample", "format", "component", "service", "class", "method", "type", "field", "header", "request", "response",
    "code", "diff", "suite", "test", "file", "plan", "build", "readme", "changelog", "tree", "source", "documentation",
];

/// Words without a statement of their own: a clause of these alone is harmless.
pub(super) static COURTESY: LazyLock<Table> = LazyLock::new(|| Table::of(COURTESY_WORDS));
#[rustfmt::skip]
const COURTESY_WORDS: &[&str] = &[
    "hi", "hello", "hey", "thanks", "thank", "you", "cheers", "regards", "best", "kind", "done", "summary",
    "review", "overview", "conclusion", "verdict", "findings", "notes", "report", "assessment", "details",
    "evidence", "approach", "scope", "result", "results", "reviewer", "depth", "standard", "deep", "quick",
    "generated", "assistant", "here", "is", "my", "the", "of", "for", "this", "below", "above", "end",
    "final", "overall", "code", "phase", "round", "answer", "and", "a", "an", "to", "me", "on", "with",
    "change", "changes", "pr", "pull", "request", "patch", "diff", "in", "it", "all", "i", "have", "read",
    "please", "react", "useful", "was", "otherwise", "let", "know", "happy", "by", "date", "author",
    "scratch", "hand", "claude", "codex", "gemini", "copilot", "thinking", "thoughts", "zusammenfassung", "ergebnis", "resumen", "résumé", "riepilogo", "so", "now", "then", "short", "once", "more",
];
