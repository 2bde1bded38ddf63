//! What was measured, as it stands in docs/lab/serve.md.

use std::fmt::Write;

use super::load::Load;

/// A server, asked for one kind of thing.
pub(super) struct Asked {
    pub(super) name: String,
    /// What it was asked.
    pub(super) path: &'static str,
    /// As fast as it could.
    pub(super) most: Load,
    /// At half of that.
    pub(super) half: Load,
    /// Megabytes that it held then.
    pub(super) resident: f64,
    pub(super) is_ours: bool,
}

/// Our own, for a while, with new states.
pub(super) struct Endured {
    pub(super) load: Load,
    /// Requests a second that it was asked.
    pub(super) rate: f64,
    /// New states that were ordered, and those that began to answer.
    pub(super) ordered: u64,
    pub(super) swaps: u64,
    /// Megabytes, one a second.
    pub(super) resident: Vec<f64>,
}

pub(super) struct Report {
    pub(super) skills: usize,
    pub(super) requests: usize,
    pub(super) connections: usize,
    pub(super) seconds: f64,
    pub(super) cores: usize,
    pub(super) asked: Vec<Asked>,
    pub(super) endured: Endured,
    /// Peers that could not take part, and why.
    pub(super) missing: Vec<String>,
}

impl Report {
    pub(super) fn markdown(&self) -> String {
        let Self { skills, requests, connections, seconds, cores, .. } = self;
        let mut text = format!(
            "# The server under load\n\n\
             Made by `cargo xtask bench serve`. {skills} skills (`sra`, then `pool-zh`), {requests} requests of `sra` in turn over \
             {connections} connections that are kept, {seconds:.0} s for each figure, on {cores} cores that the servers share with the client; \
             all in one run, one after the other. The first column of figures is the greatest rate: over each connection the next request \
             as soon as the one before is answered. The waits are at half of that rate, whether or not earlier requests are answered; a \
             request that could not be sent in time has waited since.\n\n\
             | server | asked | answers a second | failed | median wait, ms | 99 of 100 within, ms | ratio | MB |\n\
             |---|---|---|---|---|---|---|---|\n"
        );
        for Asked { name, path, most, half, resident, .. } in &self.asked {
            let (median, most_wait) = (half.wait(0.5), half.wait(0.99));
            let _ = writeln!(
                text,
                "| {name} | `{path}` | {:.0} | {} | {median:.2} | {most_wait:.2} | {:.1} | {resident:.0} |",
                most.rate(),
                most.failed + half.failed,
                most_wait / median,
            );
        }
        text.push_str(
            "\n- *fingerpost* is `fingerpost serve`, one process. `retriever=bm25` is the same work as that of the peers: BM25 over words, the ten best. \
             Without it `search` ranks as `route` does, by words, phrases and meaning.\n\
             - *FastAPI + bm25s* and *FastAPI + ratel* are tools/bench/serve_peer.py on uvicorn with uvloop and httptools, a process for each core. bm25s scores in compiled code (numba) over \
             name, description and content; ratel-ai's SkillCatalog over name and description, which is what it indexes.\n",
        );
        for missing in &self.missing {
            let _ = writeln!(text, "- {missing}");
        }
        text.push_str("\n| beside | our rate by theirs |\n|---|---|\n");
        let ours = self.asked.iter().find(|asked| asked.is_ours);
        for peer in self.asked.iter().filter(|asked| !asked.is_ours) {
            if let Some(ours) = ours {
                let ratio = ours.most.rate() / peer.most.rate();
                let _ = writeln!(text, "| {} | {ratio:.1} × |", peer.name);
            }
        }
        let Endured { load, rate, ordered, swaps, resident } = &self.endured;
        let quarter = resident.len() / 4;
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
        let (early, late) = (mean(&resident[quarter..2 * quarter]), mean(&resident[3 * quarter..]));
        let most = resident.iter().copied().fold(0.0, f64::max);
        let _ = writeln!(
            text,
            "\n## While the library changes\n\n\
             {:.0} s at {rate:.0} requests a second (half of the greatest rate of `search`), while a page is pinned or given back every 5 s: each time the library is compiled and another state answers.\n\n\
             | | |\n|---|---|\n\
             | answered | {} |\n| failed | {} |\n| new states ordered, and answering in the end | {ordered}, {swaps} |\n\
             | median wait, 99 of 100 within | {:.2} ms, {:.2} ms |\n\
             | memory: second quarter of the time, last quarter, most | {early:.0} MB, {late:.0} MB, {most:.0} MB |",
            load.seconds,
            load.answered,
            load.failed,
            load.wait(0.5),
            load.wait(0.99),
        );
        text
    }
}
