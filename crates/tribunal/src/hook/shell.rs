//! Which commits a line of shell would make, as far as it can be read without running it. It expands nothing and starts
//! nothing: what it cannot read is said to be unreadable, never guessed.

/// Where the message of a commit would come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// It is in the line.
    Text(String),
    /// It is in a file.
    File(String),
    /// An earlier commit's is used again, or none is made.
    Kept,
    /// An editor would be opened.
    Editor,
}

/// The message of every `git commit` in a line of shell.
pub fn commits(line: &str) -> Vec<Message> {
    Reader::new(line).commands().iter().filter_map(commit).collect()
}

/// One simple command with what stands in its here-document.
#[derive(Debug, Default)]
struct Simple {
    words: Vec<String>,
    input: Option<String>,
}

/// Options of git itself that take a word.
const GIT_WORDS: [&str; 7] =
    ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env"];
/// Options of `git commit` that take a word, but for those about the message.
const WORDS: [&str; 9] = [
    "--author",
    "--date",
    "--cleanup",
    "--template",
    "-t",
    "--trailer",
    "--pathspec-from-file",
    "-S",
    "--gpg-sign",
];
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

fn commit(command: &Simple) -> Option<Message> {
    let assigns = |word: &&String| word.split_once('=').is_some_and(|(name, _)| is_name(name));
    let before = ["env", "command", "exec", "time", "nice", "sudo"];
    let mut words = command
        .words
        .iter()
        .skip_while(|word| assigns(word) || before.contains(&word.as_str()))
        .map(String::as_str);
    let program = words.next()?;
    if program.rsplit('/').next() != Some("git") {
        return None;
    }
    let verb = loop {
        match words.next()? {
            option if GIT_WORDS.contains(&option) => _ = words.next(),
            option if option.starts_with('-') => {}
            verb => break verb,
        }
    };
    (verb == "commit").then(|| message(&words.collect::<Vec<_>>(), command.input.as_deref()))
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
        let next = |words: &mut dyn Iterator<Item = &'_ str>| words.next().unwrap_or_default().to_owned();
        match word {
            "--" => break,
            "-m" | "--message" => return Message::Text(next(&mut words)),
            "-F" | "--file" => return file(&next(&mut words), input),
            option if WORDS.contains(&option) => _ = words.next(),
            option if KEPT.contains(&option.split('=').next().unwrap_or(option)) => kept = true,
            option => {
                if let Some(text) = option.strip_prefix("--message=") {
                    return Message::Text(text.to_owned());
                }
                if let Some(name) = option.strip_prefix("--file=") {
                    return file(name, input);
                }
                let Some(flags) = option.strip_prefix('-').filter(|flags| !flags.starts_with('-')) else {
                    continue;
                };
                // Flags run together: what follows an `m` or `F` is its word, or the next word is.
                if let Some(at) = flags.find(['m', 'F']) {
                    let rest = &flags[at + 1..];
                    let text = if rest.is_empty() { next(&mut words) } else { rest.to_owned() };
                    return if flags[at..].starts_with('m') {
                        Message::Text(text)
                    } else {
                        file(&text, input)
                    };
                }
            }
        }
    }
    if kept { Message::Kept } else { Message::Editor }
}

fn file(name: &str, input: Option<&str>) -> Message {
    match (name, input) {
        ("-", Some(input)) => Message::Text(input.to_owned()),
        ("-", None) => Message::Editor,
        (name, _) => Message::File(name.to_owned()),
    }
}

/// Reads a line of shell into its simple commands.
struct Reader<'a> {
    rest: &'a str,
    done: Vec<Simple>,
    now: Simple,
    word: Option<String>,
    /// The names of here-documents whose text begins on the next line.
    awaited: Vec<String>,
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
                    self.documents();
                    self.end_command();
                }
                ';' | '&' | '|' | '(' | ')' | '{' | '}' | '`' if self.ends_here(c) => {
                    self.end_word();
                    self.end_command();
                }
                '#' if self.word.is_none() => self.skip_line(),
                '<' => self.input(),
                '>' => self.end_word(),
                '\\' => {
                    if let Some(c) = self.take().filter(|c| *c != '\n') {
                        self.push(c);
                    }
                }
                '\'' => self.quoted(),
                '"' => self.double(),
                '$' => self.dollar(),
                c => self.push(c),
            }
        }
        self.end_word();
        self.documents();
        self.end_command();
        self.done
    }

    /// Brackets and braces are words of their own only where a word could begin.
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
        if !now.words.is_empty() {
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

    /// `$(cat <<'EOF' …)` is its text; any other expansion stays as it is written.
    fn dollar(&mut self) {
        if let Some((text, rest)) = catted(self.rest) {
            self.word.get_or_insert_default().push_str(&text);
            self.rest = rest;
            return;
        }
        self.push('$');
        if self.rest.starts_with('(') {
            let end = closing(self.rest);
            self.word.get_or_insert_default().push_str(&self.rest[..end]);
            self.rest = &self.rest[end..];
        }
    }

    /// A here-document's name, or a redirection that is of no interest.
    fn input(&mut self) {
        self.end_word();
        let Some(rest) = self.rest.strip_prefix('<').filter(|rest| !rest.starts_with('<')) else { return };
        let (name, rest) = document_name(rest);
        self.awaited.extend((!name.is_empty()).then_some(name));
        self.rest = rest;
    }

    /// The texts of the here-documents that begin here.
    fn documents(&mut self) {
        for name in std::mem::take(&mut self.awaited) {
            let (text, rest) = document(self.rest, &name);
            self.now.input = Some(text);
            self.rest = rest;
        }
    }
}

/// The name behind `<<`, and what follows it.
fn document_name(text: &str) -> (String, &str) {
    let text = text.strip_prefix('-').unwrap_or(text).trim_start_matches([' ', '\t']);
    let end = text.find(|c: char| c.is_whitespace() || ";&|()<>".contains(c)).unwrap_or(text.len());
    (text[..end].replace(['\'', '"', '\\'], ""), &text[end..])
}

/// The lines up to the one that is the name, and what follows that.
fn document<'t>(text: &'t str, name: &str) -> (String, &'t str) {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
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

/// Where the bracket that opens a text is closed.
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
