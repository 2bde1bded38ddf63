//! Which line breaks end something, and which stand only where a line was full?
//!
//! Descriptions and paragraphs are wrapped at eighty columns by hand or by a tool. Read line by line, their
//! sentences are fragments.

/// Columns below which a line is not full: the author broke it on purpose. What begins with a capital may be a new
/// line of a list without bullets, so there the line must be fuller.
const FULL: usize = 40;
const FULL_BEFORE_CAPITAL: usize = 60;

/// What begins a sentence, if it is written large; the first ones after a comma too.
const BEGINS: [&str; 14] = [
    "Use when",
    "Use this",
    "Trigger with",
    "Triggers on",
    "Use ",
    "Not for",
    "NOT ",
    "Do not",
    "Do NOT",
    "DO NOT",
    "Don't",
    "Also ",
    "Part of",
    "When ",
];

/// Cuts a text at the breaks that its author meant. The paragraphs, joined, are the text; a break inside
/// one means no more than a space.
pub(crate) fn paragraphs(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut start, mut end) = (0, 0);
    let mut before: Option<&str> = None;
    for line in text.split_inclusive('\n') {
        if before.is_some_and(|before| !continues(before, line)) {
            found.push(&text[start..end]);
            start = end;
        }
        end += line.len();
        before = Some(line);
    }
    if start < end {
        found.push(&text[start..]);
    }
    found
}

/// Is the second of two lines the rest of the first?
fn continues(line: &str, next: &str) -> bool {
    let (line, next) = (line.trim(), next.trim());
    if line.is_empty() || next.is_empty() || is_apart(line) || starts_anew(next) {
        return false;
    }
    let begins = BEGINS.iter().position(|begin| next.starts_with(begin));
    if begins.is_some_and(|at| at < 4 || !line.ends_with([',', '，', '、'])) {
        return false;
    }
    let capital = next.starts_with(char::is_uppercase) && !line.ends_with([',', ';']);
    let full = columns(line) >= if capital { FULL_BEFORE_CAPITAL } else { FULL };
    let small = next.starts_with(|c: char| c.is_lowercase() || c.is_ascii_digit() || c == '(');
    !line.ends_with([':', '：']) && (full || small) && !has_label(next)
}

/// Is nothing ever joined to such a line?
fn is_apart(line: &str) -> bool {
    line.starts_with(['#', '|']) || line.starts_with("```") || line.starts_with("~~~")
}

/// Does a line begin something of its own: a heading, an item, a quote, a row, a fence?
fn starts_anew(line: &str) -> bool {
    let bullet =
        ["- ", "* ", "+ ", "• ", "> ", "✅", "❌"].iter().any(|mark| line.starts_with(mark));
    let digits = line.len() - line.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let number = (1..=3).contains(&digits) && line[digits..].starts_with(['.', ')', '、']);
    is_apart(line) || bullet || number
}

/// "Triggers: …" is a line of its own, however long the one before.
fn has_label(line: &str) -> bool {
    let Some((label, rest)) = line.split_once([':', '：']) else { return false };
    let opens =
        label.trim_start_matches('*').starts_with(|c: char| c.is_uppercase() || !c.is_ascii());
    opens && label.chars().count() <= 24 && !rest.starts_with('/')
}

/// Columns on a screen: a Chinese character takes two.
fn columns(line: &str) -> usize {
    line.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_lines_go_on_and_short_ones_end() {
        let text = "Audit an application for camera, microphone\nand voice data protection, or before\na release. Use when:\n- A form\n  is filled\nTriggers: a, b\nFast\nSmall\nTracks team access and the spending limits of a whole company\nUse when asked\n\n按月计算工资薪金所得应当预扣预缴的个人所得税，\n适用于居民个人。";
        let found = paragraphs(text);
        assert_eq!(
            found,
            [
                "Audit an application for camera, microphone\nand voice data protection, or before\na release. Use when:\n",
                "- A form\n  is filled\n",
                "Triggers: a, b\n",
                "Fast\n",
                "Small\n",
                "Tracks team access and the spending limits of a whole company\n",
                "Use when asked\n",
                "\n",
                "按月计算工资薪金所得应当预扣预缴的个人所得税，\n适用于居民个人。"
            ]
        );
        assert_eq!(found.concat(), text);
    }

    #[test]
    fn rows_headings_and_labels_stand_alone() {
        let text = "# A heading that is longer than forty columns, really\nText\n| a | b |\n| c | d |\nA line that is longer than the forty columns it takes\nNot for: scans\n";
        assert_eq!(paragraphs(text).len(), 6);
        assert_eq!(paragraphs(""), [""; 0]);
    }
}
