//! Which characters act on a reader, or are there and not seen?

use icu_properties::props::{DefaultIgnorableCodePoint, GeneralCategory, NoncharacterCodePoint};
use icu_properties::{CodePointMapData, CodePointSetData};

/// Is it a control, a mark of reading direction or format, a line separator, a selector, a filler, a tag,
/// a character of private use or none at all? A terminal obeys some of them, and in the others strangers
/// hide words. Marks that are written on letters are seen, and none of these.
pub fn is_hidden(c: char) -> bool {
    use GeneralCategory::{Control, Format, LineSeparator, ParagraphSeparator, PrivateUse};
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    matches!(
        CodePointMapData::<GeneralCategory>::new().get(c),
        Control | Format | LineSeparator | ParagraphSeparator | PrivateUse
    ) || CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c)
        || CodePointSetData::new::<NoncharacterCodePoint>().contains(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_seen_is_not_hidden() {
        let seen = "a é e\u{301} हिन्दी ที่นี่ עברית العربية 年终奖 Ⅷ ½ 👩 ⚠ ≤ — \u{fffd}\u{3000}";
        assert_eq!(seen.chars().find(|&c| is_hidden(c)), None);
        let hidden = "\0\t\x1b\x7f\u{85}\u{9b}\u{ad}\u{34f}\u{61c}\u{115f}\u{180e}\u{200b}\u{200d}\u{202e}\u{2028}\u{2029}\u{2060}\u{206f}\u{3164}\u{e000}\u{fe0f}\u{feff}\u{fdd0}\u{fffe}\u{e0041}\u{e0100}\u{10ffff}";
        assert_eq!(hidden.chars().find(|&c| !is_hidden(c)), None);
    }

    #[test]
    fn tidy_text_has_nothing_hidden() {
        let text = "Merge\u{61c} PDF\u{ad}s\u{e0041} and\u{2028}\n more\u{200b} \u{fffd}";
        assert_eq!(crate::text::tidy(text), "Merge PDFs and more");
    }
}
