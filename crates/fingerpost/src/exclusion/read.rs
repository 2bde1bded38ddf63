//! What exactly does an author exclude, and whom does he name for it?
//!
//! A boundary may say only what an author says. So the forms are few and begin where the exclusion begins: "not for
//! X", "do not use when X", "for X, use Y instead". A sentence of another form is none, whatever words it has.

use std::sync::LazyLock;

use regex::Regex;

/// What a skill is not for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exclusion {
    /// The request, without "not for".
    pub what: String,
    /// The name that the author gives for it, if he does.
    pub instead: Option<String>,
    /// The sentence that says so.
    pub said: String,
}

/// What an excluding sentence opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// These.
    Exclusions(Vec<Exclusion>),
    /// The items that follow: "Do not use when:".
    Opening,
    /// Nothing: it is no exclusion.
    Nothing,
}

/// English beginnings; what follows is excluded.
static OPENS: LazyLock<Regex> = LazyLock::new(|| {
    let skill = r"(?:it|this(?: (?:skill|tool|agent|workflow))?|the (?:skill|tool|agent))";
    let named = r"(?:this|the) (?:skill|tool|agent)";
    let verb = r"(?:use|invoke|trigger|activate|apply|load|choose|reach for|call)";
    let joint = r"(?:for|when|if|where|unless|outside|on|with|as|to)";
    let fit = r"(?:for|suitable for|intended for|intended to|meant for|meant to|designed for|designed to|appropriate for|applicable to|applicable for|recommended for|a good fit for|the right (?:skill|tool) for|to be used for|to be used when)";
    let forms = [
        format!(
            r"(?:please )?(?:do not|don['’]?t|never) {verb}(?: {skill})?(?: (?:at all|directly))? {joint}\b"
        ),
        format!(r"(?:do not|don['’]?t|never) {verb} {named}\s*(?:[:;,—–]|$)"),
        format!(
            r"(?:{skill} )?(?:should not|shouldn['’]?t|must not|mustn['’]?t) be (?:used|invoked|triggered|activated|applied) {joint}\b"
        ),
        format!(r"not {fit}\b"),
        format!(r"(?:{skill}|this) (?:is not|isn['’]?t|are not) {fit}\b"),
        format!(r"(?:skip|avoid)(?: using)? {named} (?:for|when|if|unless)\b"),
        r"(?:out of scope|outside (?:the |its )?scope|not in scope|does not cover|doesn['’]?t cover|not covered)\s*[:—–-]".to_owned(),
    ];
    Regex::new(&format!(r"(?i)^(?:\W|NOTE:|IMPORTANT:)*(?:{})", forms.join("|")))
        .expect("a valid pattern")
});

/// One that begins with a role, "as a firewall".
static AS_ROLE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?:\W|NOTE:|IMPORTANT:)*(?:please )?(?:do not|don['’]?t|never) (?:use|apply)(?: (?:it|this(?: (?:skill|tool))?))? as an?\b")
        .expect("a valid pattern")
});

/// What opens a list and nothing else.
static LEADS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^\W*(?:skip|avoid|not needed|not necessary|unnecessary|overkill|exceptions?|don['’]?t bother|never)(?: (?:it|this))?(?: (?:for|when|if|on))?\s*[:：]\W*$|^\W*(?:when not(?: to use)?|not (?:for|when|use))\s*[:：]\W*$")
        .expect("a valid pattern")
});

/// An exclusion in the second half of a sentence that begins with something else: "Use it for X, not for Y".
static TURNS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:[,;:(—–，；：（]|\s-)\s*(?:but |and |and is |or )?(?:not for|not when|do not use for|don['’]t use for|do not use when|don['’]t use when|do not trigger for|do not trigger when)\b")
        .expect("a valid pattern")
});

/// "Not for X, NOT for Y" is two.
static AGAIN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)[,;.]?\s+(?:(?:and|or|nor)\s+)?(?:not for|do not use for|do not use when)\s+")
        .expect("a valid pattern")
});

/// And so is "not for X, for Y or for Z".
static AND_FOR: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i),\s+(?:(?:and|or|nor)\s+)?for\s+|\s+(?:or|nor)\s+for\s+")
        .expect("a valid pattern")
});

/// Beginnings of what "for" only leads on to: "for example", "for that use".
static LEADS_ON: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?:example|instance|that|this|these|those|it|them|which|whom|whose|more|now|free|use)\b")
        .expect("a valid pattern")
});

/// "X (use a), Y (use b)" is two as well.
static CLOSED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(\((?:use|see|try|prefer|→)[^()]*\))\s*(?:[,;]\s*(?:or |and )?|\b(?:or|and)\s+)(?:for )?").expect("a valid pattern")
});

/// A pointer to another skill, and the name in it.
static POINTS: LazyLock<Regex> = LazyLock::new(|| {
    let name = r"[`*'\x22“]*(?P<name>[A-Za-z0-9_@]+(?:[-/:.][A-Za-z0-9_]+)*)[`*'\x22”]*";
    let verb = r"(?:that['’]?s|use|see|try|prefer|switch to|go to|belongs to|handled by)";
    let joint = r"(?:\s*[,;.(—–:]+\s*|\s+-\s+)";
    // After a mark any name will do; in the middle of a clause only one that can be no other word.
    let arrow = r"\s*[(]?(?:→|->|=>)\s*(?:use\s+|see\s+)?";
    Regex::new(&format!(
        r"(?i)(?:{joint}(?:(?:instead|then|please|rather),?\s+)?{verb}\s+|{arrow})(?:the\s+)?{name}(?:\s+(?:skill|tool|agent))?(?:\s+(?:instead|first|for (?:that|those|it|these)(?: if available)?))?\s*[).]*\s*$"
    ))
    .expect("a valid pattern")
});

/// "For X, use Y", of descriptions: what is for another.
static FOR: LazyLock<Regex> = LazyLock::new(|| {
    let name = r"[`*'\x22“]*(?P<name>[A-Za-z0-9_]+(?:[-/:][A-Za-z0-9_]+)+)[`*'\x22”]*";
    let any = r"[`*'\x22“]*(?P<any>[A-Za-z0-9_]+(?:[-/:.][A-Za-z0-9_]+)*)[`*'\x22”]*";
    Regex::new(&format!(
        r"(?i)^\W*(?:for|when|if) (?P<what>[^,]{{3,120}}(?:,[^,]{{2,60}}){{0,4}}?)(?:, (?:use|see|prefer|try) |\s*(?:→|->)\s*)(?:the )?(?:{name}(?: (?:skill|tool))?(?: instead)?|{any}(?: (?:skill|tool))? instead)[).]*\s*$"
    ))
    .expect("a valid pattern")
});

/// "Use Y instead" after an exclusion: the name belongs to that.
static INSTEAD: LazyLock<Regex> = LazyLock::new(|| {
    let name = r"[`*'\x22“]*(?P<name>[A-Za-z0-9_]+(?:[-/:.][A-Za-z0-9_]+)*)[`*'\x22”]*";
    Regex::new(&format!(
        r"(?i)^\W*(?:instead,? )?(?:use|see|try) (?:the )?{name}(?: skill| tool)? (?:instead|there|for (?:that|those|these|it)(?: \w+)?)[).]*\s*$"
    ))
    .expect("a valid pattern")
});

/// "X is out of scope", of descriptions.
static OUT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?P<what>[^,;:]{6,120}(?:, [^,;:]{2,60}){0,4}) (?:is|are) (?:out of|outside(?: the| of| its)?) scope\W*$")
        .expect("a valid pattern")
});

/// Chinese beginnings.
static CHINESE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:不适用于|不适用(?:的?(?:场景|情况|范围))?[:：]|不适合用于|不适合于|不适合|不要用于|不得用于|请勿用于|勿用于|不可用于|不用于|不应用于|(?:不要|请勿|不应)使用(?:本|此|该)技能?(?:于|来)?)[:：]?\s*(?P<what>[^。；;]*)")
        .expect("a valid pattern")
});
static CHINESE_POINTS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[，,；;（(]?\s*(?:请|应|而应|而要)?(?:改用|使用|用)\s*(?P<name>[A-Za-z0-9_]+(?:[-/:.][A-Za-z0-9_]+)*)(?:技能|代替|替代)?[）)。.]*\s*$")
        .expect("a valid pattern")
});

/// What every skill could say of itself: it tells nothing.
static EMPTY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^(?:the )?(?:tasks?|requests?|questions?)? ?(?:is |are )?unrelated\b|\bdifferent domain or tool\b|\boutside (?:of )?(?:this|the|its) (?:skill['’]?s )?(?:scope|domain)\b|\banything else\b|\bother (?:purposes|tasks)\b|超出本技能|能力范围|无关的")
        .expect("a valid pattern")
});

static NOT_THE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)^not (?:the|an?|about)\s").expect("a valid pattern"));

/// Reads a sentence in plain text. Pointers alone ("For X, use Y") count where `points` says so: in a description they
/// tell whose a request is, in a document they are steps of the work.
pub(crate) fn read(sentence: &str, points: bool) -> Said {
    let sentence = sentence.trim();
    if let Some(found) = CHINESE.captures(sentence) {
        return said(one(&found["what"], sentence).into_iter().collect(), &found["what"]);
    }
    let rest = match OPENS.find(sentence) {
        Some(opening) => Some(&sentence[opening.end()..]),
        None if LEADS.is_match(sentence) => return Said::Opening,
        None => TURNS.find(sentence).filter(|_| points).map(|turn| &sentence[turn.end()..]),
    };
    if let Some(rest) = rest {
        // "Not as a whole solution" is advice to whoever uses the skill, and no request.
        let is_role = AS_ROLE.is_match(sentence);
        let all: Vec<Exclusion> = AGAIN
            .split(rest)
            .flat_map(each_for)
            .skip(usize::from(is_role))
            .flat_map(|part| {
                CLOSED.replace_all(part, "$1\n").split('\n').map(str::to_owned).collect::<Vec<_>>()
            })
            .filter_map(|part| one(&part, sentence))
            .collect();
        return said(all, rest);
    }
    // "Not the outlook for a date (see weather-forecast)": who names another for it means it.
    let named = NOT_THE.find(sentence).and_then(|not| one(&sentence[not.end()..], sentence));
    if let Some(exclusion) = named.filter(|exclusion| exclusion.instead.is_some()) {
        return Said::Exclusions(vec![exclusion]);
    }
    let found = FOR.captures(sentence).filter(|_| points).map(|found| {
        let name = found.name("name").or_else(|| found.name("any"));
        (found["what"].to_owned(), name.map(|name| name.as_str().to_owned()))
    });
    let found = found.or_else(|| {
        OUT.captures(sentence).filter(|_| points).map(|found| (found["what"].to_owned(), None))
    });
    match found {
        Some((what, instead)) if tells(&what) && instead.as_deref().is_none_or(is_skill) => {
            Said::Exclusions(vec![Exclusion {
                what: trimmed(&what),
                instead,
                said: sentence.into(),
            }])
        }
        _ => Said::Nothing,
    }
}

/// What stands before and after each "for", where that begins another request.
fn each_for(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    for joint in AND_FOR.find_iter(text) {
        if !LEADS_ON.is_match(&text[joint.end()..]) {
            found.push(&text[start..joint.start()]);
            start = joint.end();
        }
    }
    found.push(&text[start..]);
    found
}

/// The name in "Use Y instead", which belongs to the exclusion before it.
pub(crate) fn pointer(sentence: &str) -> Option<String> {
    let found = INSTEAD.captures(sentence.trim())?;
    Some(found["name"].to_owned()).filter(|name| is_skill(name))
}

/// An item of a section on what a skill is not for.
pub(crate) fn item(text: &str) -> Option<Exclusion> {
    match read(text, true) {
        Said::Exclusions(mut all) if !all.is_empty() => Some(all.remove(0)),
        _ => one(text, text),
    }
}

fn said(all: Vec<Exclusion>, rest: &str) -> Said {
    let opens = !rest.chars().any(char::is_alphanumeric);
    match all.is_empty() {
        false => Said::Exclusions(all),
        true if opens => Said::Opening,
        true => Said::Exclusions(vec![]),
    }
}

fn one(text: &str, said: &str) -> Option<Exclusion> {
    let text = text.trim();
    let found = POINTS
        .captures(text)
        .or_else(|| CHINESE_POINTS.captures(text))
        .filter(|found| is_skill(&found["name"]));
    let (what, instead) = match &found {
        Some(found) => {
            (&text[..found.get(0).expect("the whole").start()], Some(found["name"].to_owned()))
        }
        None => (text, None),
    };
    let what = trimmed(what);
    tells(&what).then(|| Exclusion { what, instead, said: said.into() })
}

/// Does it say which request?
fn tells(what: &str) -> bool {
    what.chars().filter(|c| c.is_alphabetic()).count() >= if what.is_ascii() { 8 } else { 4 }
        && !EMPTY.is_match(what)
}

/// A file or a setting is no skill.
fn is_skill(name: &str) -> bool {
    let file = name
        .rsplit_once('.')
        .is_some_and(|(_, end)| end.len() <= 5 && end.chars().all(char::is_alphanumeric));
    !file
        && name.len() >= 3
        && !["this", "that", "the", "those", "them", "one", "case"]
            .contains(&name.to_lowercase().as_str())
}

fn trimmed(what: &str) -> String {
    let marks = |c: char| c.is_whitespace() || ".,;:—–-。；，：!".contains(c);
    let what = what.trim_matches(marks);
    // Half a pair of brackets is left where a pointer stood in it.
    let what = match (what.matches(['(', '（']).count(), what.matches([')', '）']).count()) {
        (open, closed) if open > closed => what.trim_end_matches(['(', '（']).trim_end(),
        (open, closed) if open < closed => what.trim_end_matches([')', '）']).trim_end(),
        _ => what,
    };
    what.trim_matches(marks).to_owned()
}
