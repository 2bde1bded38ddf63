//! Which program is this: its version, its commit, and the atlases that it writes?

use std::sync::LazyLock;

use fingerpost::snapshot::FORMAT;

/// As `--version` says it.
pub(crate) fn told() -> &'static str {
    static TOLD: LazyLock<String> =
        LazyLock::new(|| line(env!("CARGO_PKG_VERSION"), env!("FINGERPOST_COMMIT")));
    &TOLD
}

fn line(version: &str, commit: &str) -> String {
    match commit {
        "" => format!("{version} (atlas format {FORMAT})"),
        commit => format!("{version} (commit {commit}, atlas format {FORMAT})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_that_nobody_knows_is_left_out() {
        assert_eq!(line("1.2.3", ""), format!("1.2.3 (atlas format {FORMAT})"));
        let known = format!("1.2.3 (commit abc, atlas format {FORMAT})");
        assert_eq!(line("1.2.3", "abc"), known);
    }
}
