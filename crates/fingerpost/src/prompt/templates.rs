//! In which words are models asked?
//!
//! In ours, file by file, unless a user has put other words in a file's place. Those are checked when they
//! are read (`check.rs`), and they are part of what a page's key is made of. Reading files is for whoever has
//! a disk: here they are texts.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use minijinja::syntax::SyntaxConfig;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value};

use super::check;

/// Why a text cannot take the place of a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// There is no template of that name.
    #[error("there is no prompt '{name}'; there are {}", Templates::names().collect::<Vec<_>>().join(", "))]
    Unknown {
        /// The name.
        name: String,
    },
    /// It is longer than any prompt should be.
    #[error("a prompt has at most {} bytes, and this one has {bytes}", Templates::MAX_BYTES)]
    TooLong {
        /// Its length.
        bytes: usize,
    },
    /// It cannot be filled in, or leaves strangers' text without its marks.
    #[error("line {line}: {message}")]
    Faulty {
        /// Where.
        line: usize,
        /// What is wrong and how to mend it.
        message: String,
    },
}

/// A template: its name, our words, and what it is filled with.
pub(super) struct Kind {
    pub(super) name: &'static str,
    pub(super) ours: &'static str,
    pub(super) variables: &'static [&'static str],
    whose: Whose,
}

/// Who is asked with it?
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    Writer,
    Chooser,
    Both,
}

macro_rules! kinds {
    ($($whose:ident $file:literal [$($variable:literal),*])*) => {
        &[$(Kind {
            name: name_of($file),
            ours: include_str!(concat!("../", $file)),
            variables: &[$($variable),*],
            whose: Whose::$whose,
        }),*]
    };
}

/// A file's name without folder and ending.
const fn name_of(file: &'static str) -> &'static str {
    let bytes = file.as_bytes();
    let mut start = bytes.len();
    while start > 0 && bytes[start - 1] != b'/' {
        start -= 1;
    }
    let (_, name) = file.split_at(start);
    let (name, _) = name.split_at(name.len() - ".md".len());
    name
}

pub(super) const KINDS: &[Kind] = kinds! {
    Writer "page/prompts/system.md" ["other", "others"]
    Writer "page/prompts/neighborhood.md" ["members", "nonce", "cut", "language"]
    Writer "page/prompts/rivals.md" ["skill", "rivals", "nonce", "cut", "language"]
    Writer "page/prompts/focal.md" ["id", "ids", "other", "others"]
    Writer "page/prompts/all.md" ["ids"]
    Writer "page/prompts/singleton-shared.md" ["members", "nonce", "cut", "language"]
    Writer "page/prompts/singleton.md" ["id"]
    Writer "page/prompts/singleton-imagined.md" ["id"]
    Chooser "route/prompts/choose-system.md" []
    Chooser "route/prompts/choose.md" ["nonce", "request", "cards", "or_none", "most"]
    Both "prompt/again.md" ["reasons", "quotes", "nonce"]
};

/// The words in which models are asked for pages and for choices: ours, or a user's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Templates {
    replaced: BTreeMap<&'static str, Arc<str>>,
}

impl Templates {
    /// Bytes of a template at most.
    pub const MAX_BYTES: usize = 64 << 10;

    /// Ours.
    pub fn ours() -> Self {
        Self::default()
    }

    /// The names of all templates.
    pub fn names() -> impl Iterator<Item = &'static str> {
        KINDS.iter().map(|kind| kind.name)
    }

    /// Puts a text in the place of one of ours, if it can be filled in and leaves strangers' texts between
    /// their marks.
    pub fn replace(&mut self, name: &str, text: &str) -> Result<(), TemplateError> {
        let unknown = || TemplateError::Unknown { name: name.to_owned() };
        let kind = KINDS.iter().find(|kind| kind.name == name).ok_or_else(unknown)?;
        if text.len() > Self::MAX_BYTES {
            return Err(TemplateError::TooLong { bytes: text.len() });
        }
        check::check(kind, text)?;
        if text == kind.ours {
            self.replaced.remove(kind.name);
        } else {
            self.replaced.insert(kind.name, text.into());
        }
        Ok(())
    }

    /// The words of a template.
    pub fn text(&self, name: &str) -> Option<&str> {
        let kind = KINDS.iter().find(|kind| kind.name == name)?;
        Some(self.replaced.get(name).map_or(kind.ours, |text| text))
    }

    /// Identifies the words in which pages are asked for.
    pub(crate) fn of_pages(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for kind in KINDS.iter().filter(|kind| kind.whose != Whose::Chooser) {
            let text = self.text(kind.name).expect("a template of ours");
            hasher.update(format!("{}\n{}\n", kind.name, text.len()).as_bytes());
            hasher.update(text.as_bytes());
        }
        hasher.finalize().to_hex()[..12].to_owned()
    }

    /// A template, filled in.
    pub(crate) fn render(&self, name: &str, values: Value) -> String {
        let text = self.text(name).expect("a template of ours");
        ENVIRONMENT.render_named_str(name, text, values).expect("a template that was checked")
    }
}

/// How templates are read. A value that is missing is a mistake, so it fails; lines that hold a block leave
/// no line behind.
pub(super) static ENVIRONMENT: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_auto_escape_callback(|_| AutoEscape::None);
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    environment.set_syntax(syntax.expect("a valid syntax"));
    environment
});

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(name: &str, text: &str) -> (usize, String) {
        match Templates::ours().replace(name, text) {
            Err(TemplateError::Faulty { line, message }) => (line, message),
            other => panic!("{name}: {other:?}"),
        }
    }

    #[test]
    fn ours_pass_the_checks_that_a_users_must_pass() {
        for kind in KINDS {
            let mut templates = Templates::ours();
            let text = format!("{}\nThe last line.", kind.ours);
            assert_eq!(templates.replace(kind.name, &text), Ok(()), "{}", kind.name);
            assert_eq!(templates.text(kind.name), Some(text.as_str()));
            let of_pages = templates.of_pages();
            let counts = kind.whose != Whose::Chooser;
            assert_eq!(of_pages != Templates::ours().of_pages(), counts, "{}", kind.name);
            templates.replace(kind.name, kind.ours).unwrap();
            assert_eq!(templates, Templates::ours(), "a copy of ours is ours");
        }
    }

    #[test]
    fn what_no_prompt_can_be_is_refused() {
        let mut templates = Templates::ours();
        let unknown = templates.replace("sytem", "x").unwrap_err().to_string();
        assert!(unknown.contains("'sytem'; there are system, neighborhood"), "{unknown}");
        let long = templates.replace("system", &"x".repeat(Templates::MAX_BYTES + 1));
        assert_eq!(long, Err(TemplateError::TooLong { bytes: Templates::MAX_BYTES + 1 }));
        assert_eq!(templates, Templates::ours());
    }

    #[test]
    fn a_fault_has_its_line() {
        let (line, message) = fault("singleton", "Write\nthe page of {{ id.\n");
        assert!((2..=3).contains(&line), "{line}: {message}");
        let (line, message) = fault("focal", "{{ id }}\n\n{% if tone %}Be {{ tone }}.{% endif %}");
        assert_eq!(line, 3);
        assert!(message.contains("no 'tone'") && message.contains("id, ids, other"), "{message}");
        let text = "<skill-{{ nonce }}>\n{% for member in members %}\n{{ member.author }}\n{% endfor %}\n</skill-{{ nonce }}>";
        assert_eq!(fault("neighborhood", text).0, 3);
        // A branch that is taken for rivals only.
        let text = "{% if others == \"rivals\" %}\n{{ others.first }}\n{% endif %}";
        assert_eq!(fault("system", text).0, 2);
    }

    #[test]
    fn what_strangers_wrote_stays_between_its_marks() {
        let document = "id: {{ member.id }}\n{{ member.content }}";
        let each = |text: &str| format!("{{% for member in members %}}\n{text}\n{{% endfor %}}\n");
        let marked =
            each(&format!("<skill-{{{{ nonce }}}}>\n{document}\n</skill-{{{{ nonce }}}}>"));
        let mut templates = Templates::ours();
        assert_eq!(templates.replace("neighborhood", &marked), Ok(()));

        let (line, message) = fault("neighborhood", &each(document));
        assert_eq!(line, 2);
        assert!(message.contains("<skill-{{ nonce }}>"), "{message}");
        let beside = format!("{marked}\nIn short:\n{}", each("{{ member.description }}"));
        assert_eq!(fault("neighborhood", &beside).0, marked.lines().count() + 4);
        let unclosed = each(&format!("<skill-{{{{ nonce }}}}>\n{document}\n"));
        assert_eq!(fault("neighborhood", &unclosed).0, 3);
        let another =
            each(&format!("<skill-{{{{ nonce }}}}>\n{document}\n</skills-{{{{ nonce }}}}>"));
        assert_eq!(fault("neighborhood", &another).0, 3);
        let plain = each(&format!("<skill>\n{document}\n</skill>"));
        assert_eq!(fault("neighborhood", &plain).0, 3);
        let together =
            format!("<skill-{{{{ nonce }}}}>\n{}</skill-{{{{ nonce }}}}>", each(document));
        let (line, message) = fault("neighborhood", &together);
        assert_eq!(line, 3);
        assert!(message.contains("each by itself"), "{message}");
        let (line, message) = fault("neighborhood", "There are {{ members | length }} skills.");
        assert_eq!(line, 1);
        assert!(message.contains("shows nothing"), "{message}");
        // Marks for a few only.
        let some = each(&format!(
            "{{% if loop.index < 4 %}}<skill-{{{{ nonce }}}}>{{% endif %}}\n{document}\n</skill-{{{{ nonce }}}}>"
        ));
        assert_eq!(fault("neighborhood", &some).0, 3);

        let choose = KINDS.iter().find(|kind| kind.name == "choose").unwrap().ours;
        let bare = choose.replace("<request-{{ nonce }}>\n{{ request }}", "{{ request }}");
        let (line, message) = fault("choose", &bare);
        assert_eq!(line, 3);
        assert!(message.contains("<request-{{ nonce }}>"), "{message}");
        let bare = choose.replace("</card-{{ nonce }}>\n\n", "\n");
        assert!(fault("choose", &bare).1.contains("</card-{{ nonce }}>"));
        let rivals = KINDS.iter().find(|kind| kind.name == "rivals").unwrap().ours;
        let bare =
            rivals.replacen("<skill-{{ nonce }}>\nid: {{ rival.id }}", "id: {{ rival.id }}", 1);
        assert_ne!(bare, rivals);
        assert!(fault("rivals", &bare).1.contains("outside"));
    }
}
