//! What does a protocol say, for people, and which of those with a name is it?

use super::{Alone, Protocol, ProtocolName};
use crate::neighborhood::{Probing, Threshold};
use crate::page::Page;
use crate::route::llm::{Answering, NamedSkill};
use crate::view::{ClusteringText, Extent};

impl Protocol {
    /// Every setting that the protocols with a name are compared by, in words. What a user brings to any of
    /// them (embedder, language, seed, which skills are kept) is not among them.
    pub fn settings(&self) -> Vec<(&'static str, String)> {
        let Self { neighborhood, against, clustering, indexed, writing, choosing, solving, .. } =
            self;
        let clustering = match clustering {
            ClusteringText::WithoutExclusions => "the document without what it is not for",
            ClusteringText::Document => "the document",
        };
        let buckets = match neighborhood.buckets {
            None => "as 200 are for 26,262 skills".to_owned(),
            Some(buckets) => buckets.to_string(),
        };
        let max_distance = match neighborhood.max_distance {
            Threshold::Calibrated => "measured; 0.15 for Qwen3-Embedding".to_owned(),
            Threshold::Fixed(distance) => distance.to_string(),
        };
        let linking = match neighborhood.probing {
            Probing::Plain => "inside buckets only".to_owned(),
            Probing::Repaired { buckets } => format!("across the {buckets} nearest buckets"),
        };
        let alone = match writing.alone {
            Alone::Document => "from the document, or empty",
            Alone::Imagined => "imagined by a model, never empty",
        };
        let indexed = match indexed {
            Extent::New => "document, then what body and trigger add".to_owned(),
            Extent::Whole { document, page } => {
                format!("document up to {document} tokens, then body and trigger up to {page}")
            }
        };
        let named = match choosing.named {
            NamedSkill::Taken => "taken without asking",
            NamedSkill::Asked => "asked about like any other",
        };
        let answering = match choosing.answering {
            Answering::OrNone => "a skill or none",
            Answering::Always => "always a skill",
        };
        let [trigger, boundary, body] = [Page::MAX_TRIGGER, Page::MAX_BOUNDARY, Page::MAX_BODY];
        vec![
            ("clustering text", clustering.to_owned()),
            ("buckets", buckets),
            ("max distance", max_distance),
            ("linking", linking),
            ("max size", neighborhood.max_size.to_string()),
            ("contrast", format!("from {} members on", neighborhood.min_contrast)),
            ("pages against", against.to_string()),
            ("fields", format!("{trigger}, {boundary} and {body} characters")),
            ("boundary of one alone", alone.to_owned()),
            ("attempts at a page", writing.attempts.to_string()),
            ("index text", indexed),
            ("candidates", choosing.pool.to_string()),
            ("cards", choosing.cards.to_string()),
            ("named skill", named.to_owned()),
            ("answer", answering.to_owned()),
            ("votes", choosing.rotate.to_string()),
            ("attempts at a choice", choosing.attempts.to_string()),
            ("choosing temperature", choosing.temperature.to_string()),
            ("solving temperature", solving.temperature.to_string()),
            ("solving rounds", solving.rounds.to_string()),
        ]
    }

    /// The protocol with a name that it is, or comes nearest to, and the settings in which it differs.
    pub fn name(&self) -> (ProtocolName, Vec<(&'static str, String)>) {
        let differing = |name: ProtocolName| {
            let theirs = name.protocol().settings();
            let settings = self.settings().into_iter().zip(theirs);
            let differing = settings.filter(|(own, theirs)| own != theirs).map(|(own, _)| own);
            (name, differing.collect::<Vec<_>>())
        };
        let all = ProtocolName::ALL.map(differing).into_iter();
        all.min_by_key(|(_, differing)| differing.len()).expect("there are two")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::neighborhood::NeighborhoodConfig;
    use crate::protocol::{Choosing, Writing};

    #[test]
    fn a_protocol_knows_its_name() {
        for name in ProtocolName::ALL {
            assert_eq!(name.to_string().parse(), Ok(name));
            assert_eq!(name.protocol().name(), (name, vec![]));
        }
        let mut pairs = Protocol::paper();
        pairs.neighborhood.min_contrast = 2;
        let differs = vec![("contrast", "from 2 members on".to_owned())];
        assert_eq!(pairs.name(), (ProtocolName::Paper, differs));
        // What a user brings to any protocol is no difference.
        pairs = Protocol::ours();
        pairs.neighborhood.seed = 7;
        assert_eq!(pairs.name(), (ProtocolName::Ours, vec![]));
    }

    /// What ours wrote before there was a choice, to the byte; and what it does not say is as it was then.
    #[test]
    fn ours_is_recorded_as_it_was() {
        let ours = Protocol { numbers: 4, ..Protocol::ours() };
        let before = r#"{"embedder":{"kind":"fit"},"neighborhood":{"buckets":null,"max_distance":"calibrated","max_size":10,"min_contrast":2,"seed":42,"probing":{"repaired":{"buckets":4}}},"language":null,"include_manual":false,"against":"neighborhood","numbers":4}"#;
        assert_eq!(serde_json::to_string(&ours).unwrap(), before);
        assert_eq!(serde_json::from_str::<Protocol>(before).unwrap(), ours);
    }

    #[test]
    fn the_papers_is_recorded_whole_and_read_back() {
        let paper = Protocol::paper();
        let text = serde_json::to_string(&paper).unwrap();
        assert_eq!(serde_json::from_str::<Protocol>(&text).unwrap(), paper);
        let NeighborhoodConfig { min_contrast, probing, max_size, .. } = paper.neighborhood;
        assert_eq!((min_contrast, probing, max_size), (3, Probing::Plain, 10));
        let Writing { alone, .. } = paper.writing;
        let Choosing { named, answering, temperature, .. } = paper.choosing;
        assert_eq!((alone, named), (Alone::Imagined, NamedSkill::Asked));
        assert_eq!((answering, temperature), (Answering::Always, 0.0));
        assert_eq!((paper.solving.temperature, paper.solving.rounds), (0.7, 5));
        assert_eq!(paper.indexed, Extent::Whole { document: 4096, page: 4096 });
    }
}
