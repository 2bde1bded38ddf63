//! What is a skill called on a line: by its id, by its name, or by both?
//!
//! Most ids end in the name: `pdf-tools/pdf-merge`. One like `tl_259` or a digest says nothing to a person, so the
//! name stands beside it.

use std::borrow::Cow;

use crate::output::{console_width, cut, plain};

/// Between an id and a name.
const BETWEEN: &str = " · ";

/// Columns of a name that is cut off, beside an id, at least.
const LEAST: usize = 10;

/// The id, and the name where the id does not say it.
pub(crate) fn label(id: &str, name: &str) -> String {
    match says(id, name) {
        true => plain(id).into_owned(),
        false => format!("{}{BETWEEN}{}", plain(id), plain(name)),
    }
}

/// The same in so many columns: of an id that is too long, the name says more than the beginning.
pub(crate) fn label_in(id: &str, name: &str, columns: usize) -> String {
    let whole = label(id, name);
    let beside = columns.saturating_sub(console_width(&plain(id)) + console_width(BETWEEN));
    match says(id, name) {
        _ if console_width(&whole) <= columns => whole,
        false if beside >= LEAST => format!("{}{BETWEEN}{}", plain(id), cut(name, beside)),
        _ => cut(name, columns),
    }
}

/// Skills in a list, in so many columns each: by their names, which are shorter than ids and as good, where no
/// two have the same; a name that its id does not tell stands behind it.
pub(crate) fn labels(skills: &[(&str, &str)], columns: usize) -> Vec<String> {
    let is_alone = |name: &str| skills.iter().filter(|(_, other)| *other == name).count() == 1;
    let label = |&(id, name): &(&str, &str)| match says(id, name) && is_alone(name) {
        true if !name.trim().is_empty() => cut(name, columns),
        _ => label_in(id, name, columns),
    };
    skills.iter().map(label).collect()
}

/// Does an id tell the name?
fn says(id: &str, name: &str) -> bool {
    let letters = |text: &str| -> String {
        plain(text).chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
    };
    letters(id).contains(&letters(name))
}

/// Text in a column of this width.
pub(crate) fn padded(text: &str, columns: usize) -> Cow<'_, str> {
    let left = columns.saturating_sub(console_width(text));
    if left == 0 { text.into() } else { format!("{text}{}", " ".repeat(left)).into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_beside_an_id_that_does_not_tell_it() {
        assert_eq!(label("pdf-tools/pdf-merge", "PDF Merge"), "pdf-tools/pdf-merge");
        assert_eq!(label("tl_259", "Veggie Me"), "tl_259 · Veggie Me");
        assert_eq!(label("ut:select_ticket", "select_ticket"), "ut:select_ticket");
        assert_eq!(label("a7f3", "年终奖计税"), "a7f3 · 年终奖计税");
    }

    #[test]
    fn where_both_do_not_fit_the_name_says_more() {
        assert_eq!(label_in("tl_259", "Veggie Me / restaurants", 20), "tl_259 · Veggie Me…");
        assert_eq!(label_in("6fa459ea-ee8a-3ca4-894e", "Veggie Me", 20), "Veggie Me");
        assert_eq!(label_in("unit-conversion/convert-mass", "convert-mass", 20), "convert-mass");
        assert_eq!(label_in("a/b", "b", 20), "a/b");
    }

    #[test]
    fn in_a_list_names_do_where_they_differ() {
        let skills =
            [("a/pdf", "pdf"), ("b/pdf", "pdf"), ("c/csv", "csv"), ("x1", "XML"), ("d", "")];
        assert_eq!(labels(&skills, 20), ["a/pdf", "b/pdf", "csv", "x1 · XML", "d"]);
    }
}
