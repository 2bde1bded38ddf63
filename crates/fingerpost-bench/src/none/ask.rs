//! What does a library make of each request?

use fingerpost::index::Scratch;
use fingerpost::request::Request;
use fingerpost::route::none::Signs;
use fingerpost::route::none::manner::buckets;
use fingerpost::route::{Router, weigh};
use rayon::prelude::*;

use super::NoSkill;
use super::foreign::Meant;
use super::manner::Manners;
use crate::choose::asked::Pool;
use crate::encoder::EncoderModel;
use crate::folds::{AGAIN, Fold, Opened};

/// Candidates that each way of searching brings, as in the program.
const POOL: usize = 10;

/// What kind of request it is, for a library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Its own, and some skill is right.
    Own,
    /// Its own, and none is: nearly all the words of one, and something else is meant.
    Near,
    /// It needs no skill.
    NoSkill,
    /// The same, and nothing was fitted to it.
    Sealed,
    /// It is meant for another library.
    Foreign,
}

/// What was found for a request.
pub(super) struct Found {
    pub(super) kind: Kind,
    pub(super) id: String,
    /// What kind of request that needs no skill.
    pub(super) sort: String,
    pub(super) words: usize,
    signs: [f64; Signs::COUNT],
    /// What it sounds like is made of these.
    buckets: Vec<u16>,
    /// Of the library that it is meant for; if for none, of the one that is asked.
    fold: &'static Fold,
    pub(super) pool: Pool,
    /// Which candidates are right.
    pub(super) right: Vec<bool>,
}

impl Found {
    /// The signs where a fold is left out, for a library of another one or of the same: what it sounds like is told by
    /// a table that has seen neither, nor any request like this one.
    pub(super) fn signs(&self, manners: &Manners, out: &Fold, asked: &Fold) -> [f64; Signs::COUNT] {
        let mut signs = self.signs;
        let manner = manners.without([out, asked, self.fold]);
        let [_, at] = Signs::OF_ITSELF;
        signs[at] = manner.of_buckets(&self.buckets);
        signs
    }
}

/// A library with all that was asked of it.
pub(super) struct Asked<'a> {
    pub(super) fold: &'static Fold,
    pub(super) opened: &'a Opened,
    pub(super) found: Vec<Found>,
}

impl Asked<'_> {
    pub(super) fn name(&self) -> &str {
        &self.opened.judged.name
    }

    /// Does it ask what another library of its fold asks too?
    pub(super) fn is_again(&self) -> bool {
        AGAIN.contains(&self.name())
    }
}

struct Asking<'a> {
    kind: Kind,
    id: &'a str,
    sort: &'a str,
    text: &'a str,
    /// Of the library that it is meant for, if for any.
    fold: &'static Fold,
}

pub(super) fn ask<'a>(
    opened: &'a Opened,
    no_skill: &[&NoSkill],
    foreign: &[Meant<'_>],
    encoder: Option<&EncoderModel>,
) -> anyhow::Result<Asked<'a>> {
    let judged = &opened.judged;
    let snapshot = judged.compile()?;
    let mut router = snapshot.router(snapshot.route_config(), POOL);
    router.set_encoder(encoder.map(|encoder| encoder.encoder(&snapshot)).transpose()?);
    let own = judged.queries.iter().map(|query| Asking {
        kind: if judged.is_answerable(query) { Kind::Own } else { Kind::Near },
        id: &query.id,
        sort: "",
        text: &query.text,
        fold: opened.fold,
    });
    let no_skill = no_skill.iter().map(|request| Asking {
        kind: if request.is_sealed { Kind::Sealed } else { Kind::NoSkill },
        id: &request.id,
        sort: &request.kind,
        text: &request.text,
        fold: opened.fold,
    });
    let foreign = foreign.iter().map(|meant| Asking {
        kind: Kind::Foreign,
        id: &meant.query.id,
        sort: "",
        text: &meant.query.text,
        fold: meant.fold,
    });
    let all: Vec<Asking<'_>> = own.chain(no_skill).chain(foreign).collect();
    let texts: Vec<&str> = all.iter().map(|asking| asking.text).collect();
    let requests = router.read_all(&texts)?;
    let found = all
        .par_iter()
        .zip(&requests)
        .map_init(Scratch::default, |scratch, (asking, request)| {
            let (signs, pool) = find(&router, request, scratch)?;
            let grades = judged.qrels.get(asking.id).filter(|_| asking.kind == Kind::Own);
            let is_right = |skill: &String| {
                grades.and_then(|grades| grades.get(skill)).is_some_and(|&grade| grade > 0)
            };
            Ok(Found {
                kind: asking.kind,
                id: asking.id.to_owned(),
                sort: asking.sort.to_owned(),
                words: words(asking.text),
                right: pool.skills.iter().map(is_right).collect(),
                signs: signs.to_array(),
                buckets: buckets(asking.text),
                fold: asking.fold,
                pool,
            })
        })
        .collect::<anyhow::Result<_>>()?;
    Ok(Asked { fold: opened.fold, opened, found })
}

fn find(
    router: &Router<'_>,
    request: &Request<'_>,
    scratch: &mut Scratch,
) -> anyhow::Result<(Signs, Pool)> {
    let hits = router.gather(request, scratch)?;
    let pages = router.pages(&hits);
    let candidates = router.candidates(request, &hits, &pages)?;
    let signs = router.signs(request.text, &hits, scratch)?;
    let evidence = weigh(request, &candidates, signs.fit(), router.snapshot.phrases())?;
    let pool = Pool::of(router, request, &candidates, signs.fit())?;
    Ok((signs.among(request, &candidates, &evidence), pool))
}

/// Words of a request; of scripts without spaces, characters.
fn words(text: &str) -> usize {
    let is_alone = |c: char| matches!(c, '\u{2e80}'..='\u{9fff}') && c.is_alphanumeric();
    let alone = text.chars().filter(|&c| is_alone(c)).count();
    let spaced = text.split(|c: char| !c.is_alphanumeric() && c != '\'' || is_alone(c));
    alone + spaced.filter(|word| !word.is_empty()).count()
}
