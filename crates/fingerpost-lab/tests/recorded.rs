//! What readers chose is recorded: does it give the figures that the documents quote?

use std::path::Path;

use fingerpost_lab::judged::{Judged, Places, STRONG};
use fingerpost_lab::record::Choices;

fn here() -> Places {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Places { data: project.join("no-such-folder"), project }
}

/// A strong model was asked every fifth request of the examples, with its own pages on the cards.
#[test]
fn a_strong_model_is_right_wherever_the_right_card_is_shown() {
    let judged = Judged::open(STRONG, &here()).unwrap();
    let choices = Choices::of("strong-model", &here()).unwrap();
    let arms = ["base", "boundary"].map(str::to_owned);
    let paired = choices.paired(STRONG, &arms);
    assert_eq!(paired.len(), 187);
    for (at, arm) in arms.iter().enumerate() {
        let (mut answerable, mut right, mut shown, mut rightly_none) = (0, 0, 0, 0);
        for paired in &paired {
            let choice = paired.choices[at];
            let grades = judged.qrels.get(paired.request);
            let is_right = |skill: &String| {
                grades.and_then(|grades| grades.get(skill)).is_some_and(|&grade| grade > 0)
            };
            if grades.is_none_or(|grades| grades.values().all(|&grade| grade <= 0)) {
                rightly_none += usize::from(choice.choice.is_none());
                continue;
            }
            answerable += 1;
            right += usize::from(choice.choice.as_ref().is_some_and(is_right));
            shown += usize::from(choice.candidates.iter().any(is_right));
        }
        // The right card was not among the ten for seven; those that nothing fits were all refused.
        assert_eq!((answerable, shown, right, rightly_none), (163, 156, 156, 24), "{arm}");
    }
}
