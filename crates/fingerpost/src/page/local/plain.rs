//! Where may a text be cut, and how does it end?

use crate::page::language::is_han;
use crate::page::readable::{HANGING, is_program};

/// The start of `text` in at most `most` characters, ending where a clause ends if one does beyond
/// the first third, else after a word that can end one.
pub(super) fn cut(text: &str, most: usize) -> &str {
    let Some((limit, _)) = text.char_indices().nth(most) else { return text.trim_end() };
    let mut word = None;
    let mut clause = None;
    let mut previous = ' ';
    let mut open = 0;
    for (at, c) in text[..limit].char_indices() {
        let end = at + c.len_utf8();
        let follows = text[end..].chars().next().unwrap_or(' ');
        match c {
            // What stands in brackets is whole or not there at all.
            '(' | '（' => {
                open += 1;
                clause = Some(at).filter(|_| open == 1).or(clause);
            }
            ')' | '）' => {
                open -= 1;
                clause = Some(end).filter(|_| open == 0).or(clause);
            }
            '。' | '；' | '，' | '、' | '！' | '？' if open == 0 => clause = Some(at),
            '.' | ';' | ',' | ':' if open == 0 && follows.is_whitespace() => clause = Some(at),
            '-' | '–' | '—' if open == 0 && previous == ' ' && follows == ' ' => {
                clause = Some(at);
            }
            _ => {}
        }
        if c.is_whitespace() || is_han(c) && is_han(previous) {
            word = Some(at);
        }
        previous = c;
    }
    let clause = clause.filter(|&at| at * 3 > limit);
    let end = clause.or(word).unwrap_or(limit);
    without_hanging(&text[..end])
}

fn without_hanging(text: &str) -> &str {
    let marks = [' ', ',', ';', ':', '-', '–', '—', '，', '、', '；', '：', '(', '（'];
    let mut kept = text.trim_end_matches(marks);
    while let Some((before, last)) = kept.rsplit_once(' ')
        && HANGING.contains(&last.to_lowercase().as_str())
    {
        kept = before.trim_end_matches(marks);
    }
    // The first of a list that was cut off, alone: "such as cheapest", "a carrier, route".
    if let Some((before, last)) = kept.rsplit_once(", ") {
        let opens = ["such as ", "including ", "for example "].iter().any(|o| last.starts_with(o));
        let words = last.split(' ').count();
        let closes = last.contains([')', '）']);
        // A clause that only began.
        let begins = ["which ", "who ", "whose ", "where ", "so that ", "that is "];
        if begins.iter().any(|begin| last.starts_with(begin)) && !closes && words < 6 {
            return without_hanging(before);
        }
        if !closes && (words == 1 || opens && words < 5) {
            return without_hanging(before);
        }
    }
    kept
}

/// With a capital at its start, unless it begins with the name of a thing.
pub(super) fn capital(text: &str) -> String {
    let word = text.split(char::is_whitespace).next().unwrap_or_default();
    let word = word.trim_end_matches([',', ':', ';', '.']);
    let plain = word.chars().all(|c| c.is_lowercase() || "'’/-".contains(c));
    let mut characters = text.chars();
    match characters.next() {
        Some(first) if plain && first.is_lowercase() && !is_program(word) => {
            first.to_uppercase().chain(characters).collect()
        }
        _ => text.to_owned(),
    }
}

/// Without the full stop, so that it can stand inside a sentence of ours.
pub(super) fn clause(text: &str) -> &str {
    text.trim().trim_end_matches(['.', '。', ';', '；', ':', '：', ',', '，', ' ', '…'])
}

/// With a full stop, if it has no end of its own.
pub(super) fn sentence(text: &str) -> String {
    let text = text.trim();
    let unquoted = text.trim_end_matches(['"', '”', '\'', ')', '）']);
    let closed = unquoted.ends_with(['.', '!', '?', '。', '！', '？', '…']);
    let stop = match text.chars().next_back() {
        _ if closed => "",
        Some(c) if is_han(c) || matches!(c, '”' | '》' | '）' | '】') => "。",
        _ => ".",
    };
    let text = if closed { text } else { clause(text) };
    format!("{text}{stop}")
}

/// Identifiers as words: `read_sql_query` and `getWeather` are one term each to an index, and people ask in words.
/// `None` if there is nothing to part: "GitHub", "PyTorch" and "OAuth2" are words as they are.
pub(super) fn words_of(name: &str) -> Option<String> {
    let mut words = String::with_capacity(name.len() + 8);
    let characters: Vec<char> = name.chars().collect();
    let mut parted = false;
    // `getWeather` is a program's; "FastAPI" is a product's, unless underscores say otherwise.
    let humps = name.starts_with(char::is_lowercase) || name.contains('_');
    for (at, &c) in characters.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| characters[at]);
        let after = characters.get(at + 1).copied();
        let joint = matches!(c, '_' | '.' | '/' | ':' | '#')
            && before.is_some()
            && after.is_some_and(|c| !c.is_whitespace());
        if joint {
            parted |= c == '_';
            words.push(' ');
            continue;
        }
        let hump = humps
            && c.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_uppercase() && after.is_some_and(char::is_lowercase)
            });
        if hump && !words.is_empty() && !words.ends_with([' ', '-']) {
            parted = true;
            words.push(' ');
        }
        words.push(c);
    }
    let is_product = PRODUCTS.contains(&name);
    (parted && !is_product).then(|| words.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Products that look like a program's names.
const PRODUCTS: [&str; 14] = [
    "eBay", "gRPC", "iOS", "iPad", "iPadOS", "iPhone", "jQuery", "macOS", "npmJS", "tvOS",
    "visionOS", "watchOS", "webOS", "xAI",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cutting_ends_a_clause_or_a_word() {
        assert_eq!(cut("Merge files, split files, and more", 28), "Merge files, split files");
        assert_eq!(cut("Merges many large files", 13), "Merges many");
        assert_eq!(cut("short", 13), "short");
        assert_eq!(cut("计算年终奖，适用于工资薪金", 8), "计算年终奖");
        assert_eq!(
            cut("Test before and after (left and right) of it", 30),
            "Test before and after"
        );
        assert_eq!(cut("Get the text of a PDF as plain text", 26), "Get the text of a PDF");
        assert_eq!(cut("Price questions, such as cheapest fare, median", 40), "Price questions");
        assert_eq!(cut("Find one (carrier, date) in the table", 29), "Find one (carrier, date)");
        assert_eq!(cut("Finds lost work - commits, branches", 20), "Finds lost work");
    }

    #[test]
    fn identifiers_are_read_as_words() {
        assert_eq!(words_of("account_balance_query").as_deref(), Some("account balance query"));
        assert_eq!(words_of("getHTTPResponse").as_deref(), Some("get HTTP Response"));
        assert_eq!(words_of("readSQL").as_deref(), Some("read SQL"));
        for name in ["GitHub", "PyTorch", "FastAPI", "OAuth2", "iOS", "JavaScript", "gRPC"] {
            assert_eq!(words_of(name), None);
        }
        assert_eq!(words_of("qtc-bazett"), None);
        assert_eq!(words_of("Modus Ponens"), None);
    }

    #[test]
    fn sentences_end() {
        assert_eq!(sentence("Adds two numbers"), "Adds two numbers.");
        assert_eq!(sentence("获取账户余额"), "获取账户余额。");
        assert_eq!(sentence("Is it late?"), "Is it late?");
        assert_eq!(sentence("It says \"one way.\""), "It says \"one way.\"");
        assert_eq!(clause("起草报告。"), "起草报告");
    }
}
