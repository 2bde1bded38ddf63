//! A person's word over a page, and that it lasts.

use serde_json::json;

use crate::FAMILIES;
use crate::folder::Fixture;
use crate::server::Server;

const PAGE: &str = "/v1/pages/qt-correction%2Fqtc-bazett";

#[test]
fn an_edit_survives_a_restart() {
    let fixture = Fixture::new(&FAMILIES);
    let server = Server::start(&fixture, &[]);
    let before = server.json(PAGE);
    assert_eq!(before["status"], "written");
    let page = json!({
        "trigger": "Correct QT with Bazett's square root of RR.",
        "boundary": [{"request": "The cube root of RR", "skill": "qtc-fridericia"}],
        "body": "QTcB = QT / sqrt(RR)",
    });
    let edited = server.put(PAGE, &page, &server.token).json();
    assert_eq!(edited["status"], "pinned", "{edited}");
    assert_eq!(edited["trigger"], page["trigger"]);
    assert_eq!(edited["cases"][0]["skill"], "qt-correction/qtc-fridericia", "names become ids");
    assert!(edited["generation"].as_u64() > before["generation"].as_u64());
    assert_eq!(server.json(PAGE)["trigger"], page["trigger"]);
    let boundary = "/v1/skills?status=pinned";
    assert_eq!(server.json(boundary)["total"], 1);
    drop(server);

    let server = Server::start(&fixture, &[]);
    let shown = server.json(PAGE);
    assert_eq!((&shown["trigger"], &shown["status"]), (&page["trigger"], &json!("pinned")));
    assert_eq!(
        fixture.show("qtc-bazett")["trigger"],
        page["trigger"],
        "and the command line knows it"
    );

    let kept = server.order(&format!("{PAGE}/rewrite"), &json!({})).problem(409);
    assert!(kept["hint"].as_str().unwrap().contains("unpin"), "{kept}");
    let unpinned = server.order(&format!("{PAGE}/unpin"), &json!({})).json();
    assert_eq!(
        (&unpinned["status"], &unpinned["trigger"]),
        (&json!("written"), &before["trigger"])
    );
    server.order(&format!("{PAGE}/unpin"), &json!({})).problem(409);
    let rewritten = server.order(&format!("{PAGE}/rewrite"), &json!({})).json();
    assert_eq!(rewritten["trigger"], before["trigger"], "the same documents give the same page");
    let pinned = server.order(&format!("{PAGE}/pin"), &json!({})).json();
    assert_eq!((&pinned["status"], &pinned["trigger"]), (&json!("pinned"), &before["trigger"]));
}

#[test]
fn a_page_that_breaks_a_rule_is_not_kept() {
    let fixture = Fixture::new(&FAMILIES[..1]);
    let server = Server::start(&fixture, &[]);
    let before = server.json(PAGE);
    let put = |page| server.put(PAGE, &page, &server.token);
    let long = put(json!({"trigger": "word ".repeat(100), "boundary": [], "body": ""}));
    let checks = long.problem(422);
    assert!(!checks["checks"].as_array().unwrap().is_empty(), "{checks}");
    assert!(checks["checks"][0]["rule"].is_string());
    put(json!({"trigger": "x".repeat(5000), "boundary": [], "body": ""})).problem(422);
    let stranger = json!([{"request": "A cube root", "skill": "no-such-skill"}]);
    put(json!({"trigger": "Square root", "boundary": stranger, "body": ""})).problem(422);
    let silent = json!([{"request": " ", "skill": null}]);
    put(json!({"trigger": "Square root", "boundary": silent, "body": ""})).problem(422);
    put(json!({"trigger": "Square root"})).problem(422);
    server
        .put(
            "/v1/pages/nobody",
            &json!({"trigger": "a", "boundary": [], "body": ""}),
            &server.token,
        )
        .problem(404);
    let after = server.json(PAGE);
    assert_eq!(
        (&after["trigger"], &after["generation"]),
        (&before["trigger"], &before["generation"])
    );
}
