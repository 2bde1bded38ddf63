//! What is given away, and what is not: cases of real libraries that readers found good or harmful, in our own words.

use crate::page::local::{Draft, LocalConfig, write};
use crate::page::name::tests::skill;
use crate::skill::Skill;

fn named(id: &str, description: &str, content: &str) -> Skill {
    skill(id, id, description, content)
}

/// The cases of the first skill beside the second, without names.
fn cases(skill: &Skill, neighbor: &Skill) -> Vec<String> {
    let mut members = [skill, neighbor];
    members.sort_by(|a, b| a.id.cmp(&b.id));
    let at = members.iter().position(|member| member.id == skill.id).expect("a member");
    let page = write(&members, &LocalConfig::default(), Draft::First).swap_remove(at);
    page.boundary.into_iter().map(|case| case.request).collect()
}

fn gives(skill: &Skill, neighbor: &Skill, request: &str) {
    assert_eq!(cases(skill, neighbor), [request], "{}", skill.name);
}

fn keeps(skill: &Skill, neighbor: &Skill) {
    assert_eq!(cases(skill, neighbor), [""; 0], "{}", skill.name);
}

#[test]
fn what_differs_in_one_name_is_given_away() {
    let heron = named(
        "area-heron",
        "Compute the area of a triangle by Heron's formula from three sides.",
        "Take the root of s(s-a)(s-b)(s-c).",
    );
    let shoelace = named(
        "area-shoelace",
        "Compute the area of a polygon by the shoelace formula from its corners.",
        "Sum the cross products and halve them.",
    );
    gives(
        &heron,
        &shoelace,
        "Compute the area of a polygon by the shoelace formula from its corners",
    );
    let turbo = named(
        "turborepo-caching",
        "Speed up builds of a monorepo with remote caching in Turborepo.",
        "",
    );
    let nx = named("nx-workspaces", "Configure Nx for a monorepo and speed up its builds.", "");
    // More than half of what Nx says of itself is said by the other one too.
    keeps(&turbo, &nx);
}

/// All but one word is shared, and that one decides.
#[test]
fn a_pair_may_share_all_the_rest() {
    let bazett = named(
        "QTc Bazett Calculator",
        "QTc Bazett Calculator. Computed from: heart rate, QT interval.",
        "",
    );
    let hodges = named(
        "QTc Hodges Calculator",
        "QTc Hodges Calculator. Computed from: heart rate, QT interval.",
        "",
    );
    gives(&bazett, &hodges, "QTc Hodges Calculator");
}

#[test]
fn siblings_need_not_say_their_names() {
    let heron = named(
        "area-heron",
        "Compute the area of a triangle by Heron's formula from three sides.",
        "Take the root of s(s-a)(s-b)(s-c).",
    );
    let shoelace = named(
        "area-shoelace",
        "Compute the area of a polygon from the coordinates of its corners.",
        "Sum the cross products and halve them.",
    );
    gives(&heron, &shoelace, "Compute the area of a polygon from the coordinates of its corners");
}

/// Two services for newsletters: what the other one says of itself, this one does as well.
#[test]
fn silence_is_no_exclusion() {
    let ours = named(
        "letterbird",
        "Write and send newsletters to subscribers with Letterbird.",
        "# Letterbird\n\nCampaigns go out on a schedule.",
    );
    let theirs = named(
        "mailheron",
        "Manage newsletter subscribers, organize segments and look at posts.",
        "Calls the Mailheron API.",
    );
    keeps(&ours, &theirs);
    let general = named(
        "market-odds",
        "Analyze prediction markets and size bets on them.",
        "Compare the odds of venues.",
    );
    let finder = named(
        "alpha-finder",
        "Verify the probabilities of a market before betting on it.",
        "Looks for an edge.",
    );
    keeps(&general, &finder);
}

#[test]
fn what_is_the_same_work_seen_more_closely_stays() {
    let planner =
        named("content-planner", "Plan content calendars and find gaps between topics.", "");
    let calendar = named(
        "blog-calendar",
        "Generate editorial calendars for blogs, with clusters of topics and dates.",
        "",
    );
    keeps(&planner, &calendar);
    let any = named("extract-fields", "Extract structured data from any document format.", "");
    let pdf = named("pdf-lab", "Extract structured tables and data from PDF pages.", "");
    keeps(&any, &pdf);
}

#[test]
fn what_claims_a_field_or_is_no_request_stays() {
    let risks = named(
        "clause-risks",
        "Score the risks of a contract, clause by clause, before it is signed.",
        "",
    );
    let counsel = named(
        "counsel-advice",
        "Counsel reviews any contract or term sheet and its regulatory exposure.",
        "",
    );
    keeps(&risks, &counsel);
    let learn = named("scikit-recipes", "Train models in Python with scikit-learn.", "");
    let senior = named(
        "statistician",
        "Senior statistician skill for models in Python, experiments and training plans.",
        "",
    );
    keeps(&learn, &senior);
    let store = named("store-backups", "Back up a database to object storage.", "");
    let garbled = named(
        "recovery-runner",
        "Process recovery use when you need to work with database operations and storage.",
        "",
    );
    keeps(&store, &garbled);
}
