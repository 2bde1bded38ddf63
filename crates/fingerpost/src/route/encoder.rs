//! What does an encoder that the user has, fetched or served, say of a request?
//!
//! It reads what each skill says it is for, and the request, and tells how near they are. Encoders differ
//! in how near they find any two texts: some give unrelated ones 0.1, others 0.8. So a cosine counts as far
//! as it is above that of the request with the library as a whole, and relative to how much room there is
//! above the likeness of any two skills. That makes encoders comparable, and libraries.

use crate::embedding::{EmbedError, Embedder, Role, Vectors, dot};
use crate::index::{DenseIndex, Hit};
use crate::request::{Encoded, EncodedBy, Request};
use crate::skill::SkillIdx;

/// Rows that the middle of a library is taken from at most: a mean of so many is steady.
const SAMPLED: usize = 1024;

/// Where all skills are alike, there is no room to divide by.
const LEAST_ROOM: f32 = 0.05;

/// An encoder, and what it made of the skills of one generation.
pub struct Encoder {
    embedder: Box<dyn Embedder>,
    index: DenseIndex,
    /// The mean of the skills' vectors.
    middle: Vec<f32>,
    /// How far above the likeness of any two skills a cosine can be.
    room: f32,
    by: EncodedBy,
}

impl Encoder {
    /// With the vectors that it made ([`Snapshot::encoded`](crate::snapshot::Snapshot::encode)).
    pub fn new(embedder: Box<dyn Embedder>, index: DenseIndex) -> Self {
        Self::by(EncodedBy::Model, embedder, index)
    }

    /// The library's own vectors in the place of a model's.
    pub(crate) fn of_library(embedder: Box<dyn Embedder>, index: DenseIndex) -> Self {
        Self::by(EncodedBy::Library, embedder, index)
    }

    fn by(by: EncodedBy, embedder: Box<dyn Embedder>, index: DenseIndex) -> Self {
        let middle = middle(index.vectors());
        let room = (1.0 - dot(&middle, &middle)).max(LEAST_ROOM);
        Self { embedder, index, middle, room, by }
    }

    /// The model's name.
    pub fn name(&self) -> &str {
        &self.embedder.profile().name
    }

    /// The vectors of many requests at once, which is what servers and models are good at.
    pub(super) fn read(&self, requests: &mut [Request<'_>]) -> Result<(), EmbedError> {
        let wanted: Vec<&str> = requests.iter().map(|request| &*request.wanted).collect();
        let vectors = self.embedder.embed(&wanted, Role::Query)?;
        for (request, row) in requests.iter_mut().zip(vectors.rows()) {
            request.encoded = Some(Encoded { vector: row.to_vec(), by: self.by });
        }
        Ok(())
    }

    /// The nearest skills.
    pub(super) fn search(&self, encoded: &[f32], k: usize) -> Vec<Hit> {
        self.index.search(encoded, k)
    }

    /// How near a skill is: 0 is as near as any, 1 the same text.
    pub(super) fn score(&self, skill: SkillIdx, encoded: &[f32]) -> f32 {
        (self.index.score(skill, encoded) - dot(&self.middle, encoded)) / self.room
    }
}

fn middle(vectors: &Vectors) -> Vec<f32> {
    let step = vectors.len().div_ceil(SAMPLED).max(1);
    let mut sum = vec![0.0_f64; vectors.dimensions()];
    let mut rows = 0;
    for row in vectors.rows().step_by(step) {
        sum.iter_mut().zip(row).for_each(|(sum, &value)| *sum += f64::from(value));
        rows += 1;
    }
    sum.into_iter().map(|sum| (sum / f64::from(rows.max(1))) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atlas::Atlas;
    use crate::embedding::{Pooling, Profile};
    use crate::index::Scratch;
    use crate::library::Library;
    use crate::page::name::tests::skill;
    use crate::protocol::Protocol;
    use crate::route::Decision;
    use crate::snapshot::Snapshot;

    /// Knows what texts are about by a word of each topic, in whatever language; finds any two texts alike
    /// by `common`.
    struct Topics {
        profile: Profile,
        common: f32,
    }

    const TOPICS: [[&str; 2]; 3] =
        [["currency", "Geldbetrag"], ["parcel", "Paket"], ["flight", "Flug"]];

    impl Topics {
        fn boxed(common: f32) -> Box<Self> {
            let profile = Profile {
                name: "topics".into(),
                engine: "test".into(),
                weights: common.to_string(),
                dimensions: TOPICS.len() + 1,
                max_tokens: 99,
                pooling: Pooling::Mean,
                query_prefix: String::new(),
                document_prefix: String::new(),
            };
            Box::new(Self { profile, common })
        }
    }

    impl Embedder for Topics {
        fn profile(&self) -> &Profile {
            &self.profile
        }

        fn embed(&self, texts: &[&str], _: Role) -> Result<Vectors, EmbedError> {
            let row = |text: &&str| {
                let has = |words: &[&str; 2]| words.iter().any(|word| text.contains(word));
                let topics = TOPICS.iter().map(|words| f32::from(u8::from(has(words))));
                topics.chain([self.common]).collect::<Vec<f32>>()
            };
            Ok(Vectors::new(TOPICS.len() + 1, texts.iter().flat_map(row).collect()))
        }
    }

    fn snapshot() -> Snapshot {
        let skills = [
            ("convert", "Converts an amount from one currency to another."),
            ("post", "Weighs a parcel."),
            ("travel", "Finds a flight and books it."),
        ];
        let skills = skills.map(|(id, description)| skill(id, id, description, ""));
        let library = Library::from_skills(skills.into()).value;
        Atlas::in_memory().compile(&library, &Protocol::ours()).unwrap().0
    }

    fn encoder(snapshot: &Snapshot, common: f32) -> Encoder {
        let topics = Topics::boxed(common);
        let index = snapshot.encode(&*topics).unwrap();
        Encoder::new(topics, index)
    }

    /// Some encoders find all texts alike: what is near is as near by them.
    #[test]
    fn encoders_are_brought_to_one_scale() {
        let snapshot = snapshot();
        let scores = |common: f32| -> Vec<f32> {
            let encoder = encoder(&snapshot, common);
            let mut requests = [Request::read("ein Paket nach Bonn")];
            encoder.read(&mut requests).unwrap();
            let [request] = requests;
            let encoded = request.vector().unwrap();
            snapshot.rows().map(|row| encoder.score(row, encoded)).collect()
        };
        let (even, alike) = (scores(0.0), scores(3.0));
        assert!(even[1] > 0.9 && even[0] < 0.1 && even[2] < 0.1, "{even:?}");
        for (a, b) in even.iter().zip(&alike) {
            assert!((a - b).abs() < 0.1, "{even:?} {alike:?}");
        }
    }

    /// No word of the request is in any document: only the encoder can tell.
    #[test]
    fn an_encoder_finds_candidates_and_chooses() {
        let snapshot = snapshot();
        let mut router = snapshot.router(snapshot.route_config(), 10);
        let request = "wieviel wiegt das Paket";
        let alone = router.route(request, &mut Scratch::default()).unwrap().0;
        assert_eq!(alone.decision, Decision::None);
        router.encoder = Some(std::sync::Arc::new(encoder(&snapshot, 0.5)));
        let hits = router.rank(request, 3, &mut Scratch::default()).unwrap();
        assert_eq!(snapshot.row(hits[0].skill).id, "post");
        let read = router.read(request).unwrap();
        let hits = router.gather(&read, &mut Scratch::default()).unwrap();
        let pages = router.pages(&hits);
        let candidates = router.candidates(&read, &hits, &pages).unwrap();
        let nearest = candidates.iter().map(|candidate| candidate.encoder).fold(0.0, f32::max);
        assert!(nearest > 0.9, "{nearest}");
    }

    /// The program's word vectors are English. A library in another script has its own vectors in their place.
    #[test]
    fn a_library_in_another_script_is_its_own_encoder() {
        let skills = [
            ("weather", "查询城市未来几天的天气预报，包括温度、降雨和风力。"),
            ("train", "查询火车票余票和列车时刻表，按出发站和到达站。"),
            ("hotel", "预订酒店房间，按城市、入住日期和价格筛选。"),
        ];
        let skills = skills.map(|(id, description)| skill(id, id, description, ""));
        let library = Library::from_skills(skills.into()).value;
        let chinese = Atlas::in_memory().compile(&library, &Protocol::ours()).unwrap().0;
        let router = chinese.router(chinese.route_config(), 10);
        let request = router.read("明天会降雨吗，天气怎么样").unwrap();
        assert!(request.meaning.iter().all(|&value| value == 0.0), "no English word");
        let encoder = router.encoder.as_ref().expect("the library's own vectors");
        let encoded = request.vector().expect("read by them");
        let nearest = encoder.search(encoded, 1)[0].skill;
        assert_eq!(chinese.row(nearest).id, "weather");
        let english = snapshot();
        assert!(english.router(english.route_config(), 10).encoder.is_none());
    }

    /// What was kept for other pages or another model is not taken for this one.
    #[test]
    fn vectors_are_kept_by_what_they_are_of() {
        let snapshot = snapshot();
        let topics = Topics::boxed(0.5);
        assert!(snapshot.encoded_at_hand(&*topics).unwrap().is_none());
        let index = snapshot.encode(&*topics).unwrap();
        snapshot.keep_encoded(&index, &*topics).unwrap();
        let kept = snapshot.encoded_at_hand(&*topics).unwrap().unwrap();
        assert!(*kept.vectors() == *index.vectors());
        assert!(snapshot.encoded_at_hand(&*Topics::boxed(0.6)).unwrap().is_none());
    }
}
