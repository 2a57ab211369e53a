//! Finds the commits that a line of shell would make, as far as the line can be read without running it.
//!
//! It expands nothing and starts nothing. A message that it cannot read is reported as unreadable (`Message::Editor`)
//! and never guessed, because a guess would let a commit pass unchecked. It is not a full shell parser: it knows the
//! forms in which people and agents write `git commit`.

/// Where the message of a commit would come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// The line itself has the text.
    Text(String),
    /// The text is in a file, which the caller reads.
    File(String),
    /// The message of an earlier commit is used, or no commit is made: there is nothing to check.
    Kept,
    /// An editor would be opened, or the text cannot be known.
    Editor,
}

/// The message of every `git commit` in a line of shell.
pub fn commits(line: &str) -> Vec<Message> {
    commits_within(line, SHELLS_MAX)
}

fn commits_within(line: &str, shells: usize) -> Vec<Message> {
    let mut found = Vec::new();
    // The output of `echo` or `cat` before a pipe is the input of the next command: `echo x | git commit -F -`.
    let mut piped = None;
    for command in Reader::new(line).commands() {
        let input = command.input.as_deref().or(piped.as_deref());
        let words: Vec<&str> = program(&command.words).iter().map(String::as_str).collect();
        match script(&words) {
            Some(script) if shells > 0 => found.extend(commits_within(&script, shells - 1)),
            _ => found.extend(commit(&words, input)),
        }
        piped = output(&words, input).filter(|_| command.piped);
    }
    found
}

/// One simple command, with the text of its here-document.
#[derive(Debug, Default)]
struct Simple {
    words: Vec<String>,
    input: Option<String>,
    /// The next command reads its output.
    piped: bool,
}

/// How many shells within shells are looked into; deeper ones are not read.
const SHELLS_MAX: usize = 4;
/// Words of the shell after which a command may follow.
const KEYWORDS: [&str; 8] = ["if", "then", "else", "elif", "do", "while", "until", "!"];
/// Programs that start the program named after their own options.
const STARTERS: [&str; 11] =
    ["env", "command", "exec", "time", "nice", "nohup", "sudo", "timeout", "stdbuf", "setsid", "ionice"];

/// Options of git itself that take a value. Without this list, the value would be taken for the verb.
const GIT_WORDS: [&str; 7] =
    ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"];
/// Options of `git commit` that take a value and are not about the message.
const WORDS: [&str; 7] =
    ["--author", "--date", "--cleanup", "--template", "-t", "--trailer", "--pathspec-from-file"];
/// Options with which no new message is written.
const KEPT: [&str; 10] = [
    "--no-edit",
    "--dry-run",
    "--help",
    "-h",
    "-C",
    "--reuse-message",
    "--fixup",
    "--squash",
    "--short",
    "--porcelain",
];

/// The words of a command from its program on, without assignments, keywords and starters.
fn program(words: &[String]) -> &[String] {
    let assigns = |word: &String| word.split_once('=').is_some_and(|(name, _)| is_name(name));
    let own = |word: &String| !assigns(word) && !KEYWORDS.contains(&word.as_str());
    let words = &words[words.iter().position(own).unwrap_or(words.len())..];
    let starts = words.first().is_some_and(|word| STARTERS.contains(&named(word)));
    // Which of the following words are options of the starter is its own business, so we look for git or a shell among
    // them.
    let started = |word: &String| named(word) == "git" || SHELLS.contains(&named(word));
    match words.iter().position(started).filter(|_| starts) {
        Some(at) => &words[at..],
        None => words,
    }
}

/// Programs that run a line which they get as an argument.
const SHELLS: [&str; 5] = ["bash", "sh", "zsh", "dash", "eval"];

/// The name of a program without its folder.
fn named(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// The line that a shell gets to run.
fn script(words: &[&str]) -> Option<String> {
    let (shell, rest) = words.split_first()?;
    match named(shell) {
        "eval" => Some(rest.join(" ")),
        shell if SHELLS.contains(&shell) => {
            let options = rest.iter().take_while(|word| word.starts_with('-')).count();
            // `-c` may be joined with other flags, as in `bash -lc`.
            let given = |word: &&str| !word.starts_with("--") && word.contains('c');
            rest[..options].iter().any(given).then(|| rest.get(options).map(|line| (*line).to_owned()))?
        }
        _ => None,
    }
}

/// The output of a command, if it can be read off its words.
fn output(words: &[&str], input: Option<&str>) -> Option<String> {
    match words {
        ["cat"] | ["cat", "-"] => input.map(str::to_owned),
        ["echo", rest @ ..] if rest.first().is_none_or(|word| !word.starts_with('-')) => Some(rest.join(" ")),
        _ => None,
    }
}

fn commit(words: &[&str], input: Option<&str>) -> Option<Message> {
    let (program, words) = words.split_first()?;
    if named(program) != "git" {
        return None;
    }
    let mut words = words.iter().copied();
    let verb = loop {
        match words.next()? {
            // The value of such an option is skipped with it.
            option if GIT_WORDS.contains(&option) => _ = words.next(),
            option if option.starts_with('-') => {}
            verb => break verb,
        }
    };
    (verb == "commit").then(|| message(&words.collect::<Vec<_>>(), input))
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn message(words: &[&str], input: Option<&str>) -> Message {
    let mut words = words.iter().copied();
    let mut kept = false;
    while let Some(word) = words.next() {
        let (name, stuck) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
        // Git accepts the beginning of a long option; `least` is how much of it is unambiguous.
        let is = |whole: &str, least: usize| name.len() >= least && whole.starts_with(name);
        let mut value = || stuck.or_else(|| words.next()).unwrap_or_default().to_owned();
        match word {
            "--" => break,
            _ if is("--message", 3) => return Message::Text(value()),
            _ if is("--file", 5) => return file(&value(), input),
            option if WORDS.contains(&option) => _ = words.next(),
            _ if KEPT.contains(&name) => kept = true,
            option if option.starts_with("--") => {}
            option => match flags(option.strip_prefix('-').unwrap_or_default()) {
                Some((flag @ ('m' | 'F'), stuck)) => {
                    let text = Some(stuck).filter(|text| !text.is_empty()).or_else(|| words.next());
                    let text = text.unwrap_or_default().to_owned();
                    return if flag == 'm' { Message::Text(text) } else { file(&text, input) };
                }
                Some(('C', _)) => kept = true,
                _ => {}
            },
        }
    }
    // Only now: an explicit message wins over `--amend --no-edit`, wherever it stands.
    if kept { Message::Kept } else { Message::Editor }
}

/// The first of several joined flags that takes a value, and the part of the value that is joined to it: `-am"text"`.
fn flags(flags: &str) -> Option<(char, &str)> {
    let at = flags.find(['m', 'F', 'C', 'c', 't', 'S', 'u'])?;
    Some((flags[at..].chars().next()?, &flags[at + 1..]))
}

fn file(name: &str, input: Option<&str>) -> Message {
    match (name, input) {
        ("-", Some(input)) => Message::Text(input.to_owned()),
        // Standard input that we cannot see is as unreadable as an editor.
        ("-", None) => Message::Editor,
        (name, _) => Message::File(name.to_owned()),
    }
}

/// Splits a line of shell into its simple commands.
struct Reader<'a> {
    rest: &'a str,
    done: Vec<Simple>,
    now: Simple,
    word: Option<String>,
    /// The names of here-documents whose text begins on the next line, each with the index of the command that reads
    /// it.
    awaited: Vec<(String, usize)>,
}

impl<'a> Reader<'a> {
    fn new(line: &'a str) -> Reader<'a> {
        Reader { rest: line, done: Vec::new(), now: Simple::default(), word: None, awaited: Vec::new() }
    }

    fn commands(mut self) -> Vec<Simple> {
        while let Some(c) = self.take() {
            match c {
                ' ' | '\t' | '\r' => self.end_word(),
                '\n' => {
                    self.end_word();
                    self.end_command();
                    self.documents();
                }
                // `&>` is a redirection and ends no command.
                '&' if self.rest.starts_with('>') => self.end_word(),
                ';' | '&' | '|' | '(' | ')' | '{' | '}' | '`' if self.ends_here(c) => {
                    self.end_word();
                    self.now.piped = c == '|' && !self.rest.starts_with('|');
                    self.end_command();
                    // `&&`, `||` and `;;` are one separator.
                    self.rest = self.rest.strip_prefix(c).filter(|_| "&|;".contains(c)).unwrap_or(self.rest);
                }
                '#' if self.word.is_none() => self.skip_line(),
                '<' => self.input(),
                '>' => {
                    self.end_word();
                    self.rest = self.rest.trim_start_matches(['>', '&', '|']);
                }
                '\\' => {
                    if let Some(c) = self.take().filter(|c| *c != '\n') {
                        self.push(c);
                    }
                }
                '\'' => self.quoted(),
                '"' => self.double(),
                '$' if self.rest.starts_with('\'') => self.escaped(),
                // `$"…"` is text to be translated; without a translation it is the text as written.
                '$' if self.rest.starts_with('"') => {}
                '$' => self.dollar(),
                c => self.push(c),
            }
        }
        self.end_word();
        self.end_command();
        self.documents();
        self.done.retain(|command| !command.words.is_empty());
        self.done
    }

    /// Braces separate commands only where a word could begin; inside a word they are text.
    fn ends_here(&self, c: char) -> bool {
        !matches!(c, '{' | '}') || self.word.is_none()
    }

    fn take(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn end_word(&mut self) {
        self.now.words.extend(self.word.take());
    }

    fn end_command(&mut self) {
        let now = std::mem::take(&mut self.now);
        // A command without words that still waits for its document is kept, or the indices in `awaited` would be off
        // by one.
        if !now.words.is_empty() || self.awaited.iter().any(|(_, of)| *of == self.done.len()) {
            self.done.push(now);
        }
    }

    fn skip_line(&mut self) {
        self.rest = self.rest.find('\n').map_or("", |at| &self.rest[at..]);
    }

    fn quoted(&mut self) {
        let (text, rest) = self.rest.split_once('\'').unwrap_or((self.rest, ""));
        self.word.get_or_insert_default().push_str(text);
        self.rest = rest;
    }

    /// `$'…'`: quoted text with the escapes of C.
    fn escaped(&mut self) {
        self.take();
        self.word.get_or_insert_default();
        while let Some(c) = self.take().filter(|c| *c != '\'') {
            match (c, if c == '\\' { self.take() } else { None }) {
                ('\\', Some('n')) => self.push('\n'),
                ('\\', Some('t')) => self.push('\t'),
                ('\\', Some(c @ ('\\' | '\'' | '"' | '?'))) => self.push(c),
                ('\\', Some(other)) => {
                    self.push('\\');
                    self.push(other);
                }
                (c, _) => self.push(c),
            }
        }
    }

    fn double(&mut self) {
        self.word.get_or_insert_default();
        while let Some(c) = self.take() {
            match c {
                '"' => return,
                '\\' => match self.take() {
                    Some('\n') | None => {}
                    Some(c @ ('"' | '\\' | '$' | '`')) => self.push(c),
                    Some(c) => {
                        self.push('\\');
                        self.push(c);
                    }
                },
                '$' => self.dollar(),
                c => self.push(c),
            }
        }
    }

    /// `$(cat <<'EOF' …)` becomes its text, because agents write long messages this way. Any other expansion stays as
    /// written.
    fn dollar(&mut self) {
        if let Some((text, rest)) = catted(self.rest) {
            self.word.get_or_insert_default().push_str(&text);
            self.rest = rest;
            return;
        }
        self.push('$');
        if self.rest.starts_with('(') {
            // The whole expansion is taken as text: the commands in it must not be read as commands of this line.
            let end = closing(self.rest);
            self.word.get_or_insert_default().push_str(&self.rest[..end]);
            self.rest = &self.rest[end..];
        }
    }

    /// Reads a here-document's name, a here-string, or a redirection, which does not matter here.
    fn input(&mut self) {
        self.end_word();
        if let Some(rest) = self.rest.strip_prefix("<<") {
            self.rest = rest.trim_start_matches([' ', '\t']);
            self.now.input = Some(self.one_word());
        } else if let Some(rest) = self.rest.strip_prefix('<') {
            let (name, rest) = document_name(rest);
            self.awaited.extend((!name.is_empty()).then_some((name, self.done.len())));
            self.rest = rest;
        }
    }

    /// The word that begins here, after quoting.
    fn one_word(&mut self) -> String {
        while let Some(c) = self.rest.chars().next().filter(|c| !c.is_whitespace() && !";&|()<>".contains(*c))
        {
            self.take();
            match c {
                '\\' => {
                    let c = self.take().unwrap_or_default();
                    self.push(c);
                }
                '\'' => self.quoted(),
                '"' => self.double(),
                '$' if self.rest.starts_with('\'') => self.escaped(),
                '$' => self.dollar(),
                c => self.push(c),
            }
        }
        self.word.take().unwrap_or_default()
    }

    /// Reads the texts of the here-documents that begin here.
    fn documents(&mut self) {
        for (name, of) in std::mem::take(&mut self.awaited) {
            let (text, rest) = document(self.rest, &name);
            self.rest = rest;
            if let Some(command) = self.done.get_mut(of) {
                command.input = Some(text);
            }
        }
    }
}

/// The name after `<<`, and the rest of the line.
fn document_name(text: &str) -> (String, &str) {
    let text = text.strip_prefix('-').unwrap_or(text).trim_start_matches([' ', '\t']);
    let end = text.find(|c: char| c.is_whitespace() || ";&|()<>".contains(c)).unwrap_or(text.len());
    (text[..end].replace(['\'', '"', '\\'], ""), &text[end..])
}

/// The lines before the one that is the name, and what follows that line.
fn document<'t>(text: &'t str, name: &str) -> (String, &'t str) {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        // `<<-` allows tabs before the name. Trimming always is lenient, and at worst ends a message early.
        if line.trim() == name {
            return (text[..at].to_owned(), &text[at + line.len()..]);
        }
        at += line.len();
    }
    (text.to_owned(), "")
}

/// The text of `(cat <<'EOF' … EOF)`, and what follows it.
fn catted(text: &str) -> Option<(String, &str)> {
    let text = text.strip_prefix('(')?.trim_start().strip_prefix("cat")?.trim_start().strip_prefix("<<")?;
    let (name, rest) = document_name(text);
    let rest = rest.trim_start_matches([' ', '\t', '\r']).strip_prefix('\n')?;
    let (body, rest) = document(rest, &name);
    let rest = rest.trim_start().strip_prefix(')')?;
    (!name.is_empty()).then(|| (body.trim_end_matches('\n').to_owned(), rest))
}

/// The index after the bracket that closes the first one.
fn closing(text: &str) -> usize {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at + c.len_utf8();
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(text: &str) -> Vec<Message> {
        vec![Message::Text(text.to_owned())]
    }

    #[test]
    fn messages_are_found() {
        let check = |line: &str, expect: Vec<Message>| assert_eq!(commits(line), expect, "{line}");
        check("git commit -m 'feat(a): b'", text("feat(a): b"));
        check("git commit -am \"feat(a): b\"", text("feat(a): b"));
        check("git commit -mfix", text("fix"));
        check("git commit --message='a b' -m more", text("a b"));
        check("git add -A && git commit -q -m 'x'; git push", text("x"));
        check("cd dir\ngit -C sub -c a=b commit --author 'm <m@x>' -m y", text("y"));
        check("FOO=1 /usr/bin/git commit -sm 'z'", text("z"));
        check("(git commit -m one) || git commit -m two", [text("one"), text("two")].concat());
        check(
            "git commit -m \"$(cat <<'EOF'\nfeat(a): b \"quoted\" (c)\n\nmore\nEOF\n)\" && git log",
            text("feat(a): b \"quoted\" (c)\n\nmore"),
        );
        check("git commit -m \"$(cat msg)\"", text("$(cat msg)"));
        check("git commit -F - <<EOF\nfeat(a): b\nEOF\ngit status", text("feat(a): b\n"));
        check("git commit -F msg.txt", vec![Message::File("msg.txt".to_owned())]);
        check("git commit --file=msg.txt", vec![Message::File("msg.txt".to_owned())]);
        check("git commit --amend --no-edit", vec![Message::Kept]);
        check("git commit --fixup=HEAD~1", vec![Message::Kept]);
        check("git commit", vec![Message::Editor]);
        check("git commit --amend", vec![Message::Editor]);
        check("git commit -F -", vec![Message::Editor]);
        check("git commit -m", text(""));
    }

    #[test]
    fn messages_are_found_as_people_write_them() {
        let check = |line: &str, expect: Vec<Message>| assert_eq!(commits(line), expect, "{line}");
        // A key is stuck to its option, so what follows is not one.
        check("git commit -S -m 'x'", text("x"));
        check("git commit --gpg-sign -m 'x'", text("x"));
        check("git commit -SF00m -m 'x'", text("x"));
        check("git commit -unormal -m 'x'", text("x"));
        check("git commit -CHEAD~m", vec![Message::Kept]);
        check("git commit --mess 'x'", text("x"));
        check("git commit --mess='x'", text("x"));
        check("git commit -m $'feat(a): it\\'s b\\n\\nmore'", text("feat(a): it's b\n\nmore"));
        check("git commit -m $\"x\"", text("x"));
        check("git commit -F - <<< 'feat(a): b'", text("feat(a): b"));
        check("git commit -F - <<<\"feat(a): b\" && git push", text("feat(a): b"));
        check("git commit -F - <<'EOF' && git push\nfeat(a): b\nEOF\n", text("feat(a): b\n"));
        check("git commit -F - 2>&1 <<'EOF' | tail -3\nfeat(a): b\nEOF\n", text("feat(a): b\n"));
        check("cat <<'EOF' | git commit -F -\nfeat(a): b\nEOF\n", text("feat(a): b\n"));
        check("echo 'feat(a): b' | git commit -F -", text("feat(a): b"));
        check("date | git commit -F -", vec![Message::Editor]);
        check("git commit -q &> log -m 'x'", text("x"));
        check("git commit -q >log 2>&1 -m 'x'", text("x"));
    }

    #[test]
    fn a_commit_is_one_wherever_it_stands() {
        for line in [
            "if git commit -m x; then echo; fi",
            "! git commit -m x",
            "while true; do git commit -m x; done",
            "if true; then git commit -m x; else :; fi",
            "nice -n 5 git commit -m x",
            "timeout 60 git commit -m x",
            "time -p git commit -m x",
            "sudo -u me git commit -m x",
            "env -i A=1 git commit -m x",
            "bash -c 'git commit -m x'",
            "sh -ec \"cd a && git commit -m 'x'\"",
            "eval 'git commit -m x'",
            "bash -c \"bash -c 'git commit -m x'\"",
        ] {
            assert_eq!(commits(line), text("x"), "{line}");
        }
    }

    #[test]
    fn what_makes_no_commit_is_none() {
        for line in [
            "",
            "git status",
            "git log --grep commit",
            "echo 'git commit -m x'",
            "# git commit -m x",
            "cat <<EOF\ngit commit -m x\nEOF",
            "git commit-tree abc",
            "grep -r 'commit' .",
            "mygit commit -m x",
            "timeout 60 make commit",
            "echo bash -c 'git commit -m x'",
            "bash script.sh git commit -m x",
            "if grep -q git commit; then echo; fi",
        ] {
            assert_eq!(commits(line), [], "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_is_too_strange(line in "(git commit|-m|<<|EOF|\\$\\(|[ \"'()\\\\;&|<>\n#`{}a-z$-]){0,40}") {
            let _ = commits(&line);
        }
    }
}
