//! Which field of a record holds what? Benchmarks and collections spell them in several ways.

use std::fmt;

use serde::de::Visitor;
use serde::{Deserialize, Deserializer};

use crate::front_matter;

/// A record as it is written: the spellings of ours, SR-Agents, BEIR, SSL and SkillRet.
#[derive(Deserialize)]
struct Spellings {
    id: Option<Text>,
    skill_id: Option<Text>,
    _id: Option<Text>,
    slug: Option<Text>,
    name: Option<Text>,
    title: Option<Text>,
    description: Option<Text>,
    content: Option<Text>,
    text: Option<Text>,
    body: Option<Text>,
    /// A whole SKILL.md, head included.
    raw_skill_md: Option<Text>,
    skill_md: Option<Text>,
}

/// What a record says, however it spells it. A field that is absent is empty.
pub(super) struct Record {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) content: String,
}

/// The fields that make an object a record by itself.
pub(super) const IDENTIFYING: [&str; 6] = ["id", "skill_id", "_id", "slug", "name", "title"];

impl Record {
    /// Reads an object; one that is no object must have been refused before, since a list would pass for
    /// a record, field by field.
    pub(super) fn parse(json: &[u8]) -> serde_json::Result<Self> {
        let record: Spellings = serde_json::from_slice(json)?;
        let text = |field: Option<Text>| field.map(|Text(text)| text);
        let id = text(record.id).or(text(record.skill_id)).or(text(record._id));
        let id = id.or(text(record.slug));
        let name = text(record.name).or(text(record.title)).filter(|name| !name.trim().is_empty());
        let content = text(record.content).or(text(record.text)).or(text(record.body));
        let document = text(record.raw_skill_md).or(text(record.skill_md));
        let mut record = Self {
            id: id.unwrap_or_default(),
            name: name.unwrap_or_default(),
            description: text(record.description).unwrap_or_default(),
            content: content.unwrap_or_default(),
        };
        if let Some(document) = document {
            record.fill_from(&document);
        }
        Ok(record)
    }

    /// What the record leaves empty its SKILL.md may say.
    fn fill_from(&mut self, document: &str) {
        let document = document.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        let split = front_matter::split(&document);
        let matter = split.head.map(front_matter::parse).unwrap_or_default();
        let fill = |field: &mut String, text: Option<String>| {
            if field.trim().is_empty() {
                *field = text.unwrap_or_default();
            }
        };
        fill(&mut self.name, matter.name);
        fill(&mut self.description, matter.description);
        fill(&mut self.content, Some(split.content.trim().to_owned()));
    }

    /// Does it say anything that a record says?
    pub(super) fn says_anything(&self) -> bool {
        [&self.id, &self.name, &self.description, &self.content].iter().any(|text| !text.is_empty())
    }
}

/// A text field that tolerates numbers, as ids often are.
struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(field: D) -> Result<Self, D::Error> {
        struct AsText;
        impl Visitor<'_> for AsText {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a number")
            }

            fn visit_str<E>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_owned()))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Text, E> {
                Ok(Text(number.to_string()))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Text, E> {
                Ok(Text(number.to_string()))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Text, E> {
                Ok(Text(serde_json::Value::from(number).to_string()))
            }
        }
        field.deserialize_any(AsText)
    }
}
