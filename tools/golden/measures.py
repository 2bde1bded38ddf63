"""Which value should each ranking measure have, query by query?

Makes seeded random cases (qrels + run) and asks the reference implementations,
trec_eval (through pytrec_eval) and ir_measures, for the expected values.

    python tools/golden/measures.py crates/fingerpost/tests/golden/measures.json

What the references do. `check_facts` proves each line before anything is written;
the same lines go into the file as `notes`:

* Ties: trec_eval orders by score descending, then by document id DESCENDING (bytes
  of the UTF-8 id). It compares scores as 32-bit floats.
* ir_measures takes RR@k from its `msmarco` provider, which breaks ties by id
  ASCENDING; every other measure here, RR without a cutoff included, comes from
  trec_eval. On one tied run RR and RR@k can therefore contradict each other.
* nDCG: gain = the judged grade itself (linear, not 2^grade - 1), discount
  log2(rank + 1). The ideal ranking is made of all judged documents of the query,
  retrieved or not, cut at the same k.
* P@k divides by k, also when fewer than k documents were retrieved.
* R@k, AP and AP@k divide by the number of all relevant documents (grade >= 1),
  AP@k not by min(k, relevant).
* An unjudged document counts as not relevant and keeps its rank.
* A query judged without any relevant document scores 0 in every measure.
* A query that is judged but absent from the run scores 0 in ir_measures and counts
  in its mean; pytrec_eval leaves it out. A query that is in the run but not judged
  is ignored by both.

Two blocks of expected values, each `{query: [value per entry of measures]}`:
`expected_trec_ties` (id descending) and `expected_our_ties` (id ascending, the rule
of this project). Both are computed on runs re-scored to 1000 - rank, so that no
reference sees a tie; the first block is then asserted to equal what trec_eval says
of the raw run, and both are asserted to equal the direct formulas in `direct`.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import ir_measures
import pytrec_eval

Qrels = dict[str, dict[str, int]]
Run = dict[str, dict[str, float]]
Values = dict[str, dict[str, float]]  # query -> measure -> value

SEED = 20240611
CASES = 40
MEASURES = (
    "R@1 R@3 R@10 nDCG@3 nDCG@10 nDCG@50 RR@3 RR@10 RR P@1 P@3 P@10 Success@1 Success@3 Success@10 AP AP@10"
).split()
PARSED = [ir_measures.parse_measure(name) for name in MEASURES]

# Ids whose byte order differs from natural, case-blind, locale and UTF-16 order
# (the ligature is above the emoji in UTF-16, below it in UTF-8).
ODD_IDS = ["D2", "D10", "d-1", "d_1", "d.1", "Z", "z", "zz", "é", "中", "\ufb00", "😀", "fam/s2", "fam/s10", "fam-s1"]
IDS = [f"d{i}" for i in range(1, 26)] + ODD_IDS
LONG_IDS = IDS + [f"long{i}" for i in range(60)]


def ranked(scores: dict[str, float], id_descending: bool) -> list[str]:
    """Ids by score descending. Python orders strings by code point = UTF-8 byte order."""
    ids = sorted(scores, reverse=id_descending)
    return sorted(ids, key=lambda d: -scores[d])  # stable, so the id order survives in ties


def without_ties(run: Run, id_descending: bool) -> Run:
    return {
        q: {d: 1000.0 - rank for rank, d in enumerate(ranked(scores, id_descending), start=1)}
        for q, scores in run.items()
    }


def reference(qrels: Qrels, run: Run) -> Values:
    out: Values = {q: {} for q in qrels}
    for metric in ir_measures.iter_calc(PARSED, qrels, run):
        out[metric.query_id][str(metric.measure)] = float(metric.value)
    return out


def trec_raw(qrels: Qrels, run: Run, name: str) -> dict[str, float]:
    """One trec_eval measure without ir_measures in between."""
    found = pytrec_eval.RelevanceEvaluator(qrels, {name}).evaluate(run)
    return {q: next(iter(values.values())) for q, values in found.items()}


def direct(grades: dict[str, int], order: list[str], name: str) -> float:
    """The formulas, stated once without any library: what the Rust side has to do."""
    base, _, cut = name.partition("@")
    k = int(cut) if cut else max(len(order), 1)
    gains = [grades.get(d, 0) for d in order[:k]]
    hits = [rank for rank, gain in enumerate(gains, start=1) if gain >= 1]
    relevant = sum(g >= 1 for g in grades.values())
    if relevant == 0:
        return 0.0
    if base == "R":
        return len(hits) / relevant
    if base == "P":
        return len(hits) / k
    if base == "Success":
        return float(bool(hits))
    if base == "RR":
        return 1 / hits[0] if hits else 0.0
    if base == "AP":
        return sum(i / rank for i, rank in enumerate(hits, start=1)) / relevant

    def dcg(values: list[int]) -> float:
        return sum(g / math.log2(rank + 1) for rank, g in enumerate(values, start=1))

    return dcg(gains) / dcg(sorted(grades.values(), reverse=True)[:k])


def providers() -> dict[str, str]:
    """Which provider ir_measures really dispatches each measure to."""
    evaluator: Any = ir_measures.evaluator(PARSED, {"q": {"d": 1}})
    return {
        name: next(
            type(e).__module__.rsplit(".", 1)[-1].removesuffix("_provider")
            for e in evaluator.evaluators
            if ir_measures.parse_measure(name) in e.measures
        )
        for name in MEASURES
    }


def check_facts() -> None:
    """Every claim of the docstring, on the smallest input that can tell."""

    def one(name: str, grades: dict[str, int], scores: dict[str, float]) -> float:
        return trec_raw({"q": grades}, {"q": scores}, name)["q"]

    def same(got: float, want: float) -> None:
        assert math.isclose(got, want, abs_tol=1e-15), (got, want)

    for low, high in [("d10", "d2"), ("D2", "d2"), ("-", "_"), ("a", "aa"), ("z", "é"), ("\ufb00", "😀")]:
        assert low.encode() < high.encode()
        tied = {low: 1.0, high: 1.0}
        same(one("recip_rank", {high: 1}, tied), 1.0)
        same(one("recip_rank", {low: 1}, tied), 0.5)
        mixed = reference({"q": {low: 1}}, {"q": tied})["q"]
        assert (mixed["RR"], mixed["RR@3"]) == (0.5, 1.0), mixed
    same(one("recip_rank", {"a": 1}, {"a": 1 + 1e-8, "b": 1.0}), 0.5)  # equal as f32
    same(one("recip_rank", {"a": 1}, {"a": 1 + 1e-6, "b": 1.0}), 1.0)

    # linear gain: 3 at rank 2 behind 1 at rank 1; the ideal is 3, 1
    want = (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
    same(one("ndcg_cut_3", {"a": 1, "b": 3}, {"a": 2.0, "b": 1.0}), want)
    # the ideal counts a judged document that was never retrieved, and is cut at k
    same(one("ndcg_cut_3", {"a": 1, "b": 3}, {"a": 2.0}), 1 / (3 + 1 / math.log2(3)))
    same(one("ndcg_cut_1", {"a": 2, "b": 2, "c": 2}, {"a": 2.0}), 1.0)

    same(one("P_10", {"a": 1}, {"a": 1.0}), 0.1)
    same(one("recall_3", {"a": 1, "b": 2, "c": 0}, {"a": 1.0}), 0.5)
    same(one("map", {"a": 1, "b": 1, "c": 1}, {"a": 1.0}), 1 / 3)
    same(one("map_cut_1", {"a": 1, "b": 1, "c": 1}, {"a": 1.0}), 1 / 3)
    same(one("recip_rank", {"a": 1}, {"unjudged": 2.0, "a": 1.0}), 0.5)

    qrels: Qrels = {"no-relevant": {"a": 0}, "missing": {"a": 1}, "found": {"a": 1}}
    run: Run = {"no-relevant": {"a": 1.0}, "unjudged-query": {"a": 1.0}, "found": {"a": 1.0}}
    values = reference(qrels, run)
    assert set(values) == set(qrels)
    assert not any(values["no-relevant"].values()) and not any(values["missing"].values())
    assert set(trec_raw(qrels, run, "map")) == {"no-relevant", "found"}
    mean = ir_measures.calc_aggregate([ir_measures.RR], qrels, run)[ir_measures.RR]
    same(mean, 1 / 3)


NOTES = {
    "ties_trec": "score descending, then doc id descending by UTF-8 bytes; scores compared as f32",
    "ties_ours": "score descending, then doc id ascending by UTF-8 bytes",
    "ties_rr_cutoff": "ir_measures RR@k (msmarco provider) breaks ties by id ascending, RR (trec_eval) by id "
    "descending; in this file both blocks are free of that, each block has one tie rule",
    "ndcg": "gain = grade (linear, not 2^grade-1), discount log2(rank+1); ideal = all judged docs of the query by "
    "grade descending, retrieved or not, cut at k; 0 if the query has no grade above 0",
    "p_at_k": "divides by k, also if fewer than k were retrieved",
    "recall_and_ap": "divide by all relevant docs (grade >= 1) of the query; AP@k too, not by min(k, relevant)",
    "unjudged_docs": "not relevant, keep their rank",
    "no_relevant_docs": "a judged query without a relevant doc scores 0 everywhere and counts in ir_measures' mean",
    "missing_from_run": "scores 0 and counts in ir_measures' mean; pytrec_eval leaves the query out",
    "missing_from_qrels": "ignored: no value, not in the mean",
}


def make_case(rng: random.Random, long: bool) -> tuple[Qrels, Run]:
    # A small pool for each case, so that the retrieved and the judged documents overlap.
    pool = LONG_IDS if long else rng.sample(IDS, 24)
    queries = [f"q{i}" for i in range(1, 1 + rng.randint(3, 6))]
    qrels: Qrels = {}
    run: Run = {}
    for q in queries:
        judged = rng.sample(pool, rng.randint(1, 40 if long else 12))
        none_positive = rng.random() < 0.15
        qrels[q] = {d: 0 if none_positive else rng.choice([0, 0, 1, 1, 2, 3]) for d in judged}
        if rng.random() < 0.12:
            continue  # judged, but missing from the run
        # Few distinct scores: nearly every rank is a tie. Some are negative or zero.
        levels = rng.choice([[1.0], [0.0, 0.5, 1.0], [-2.0, -1.5, 0.0, 0.25, 3.0], [i / 8 for i in range(20)]])
        retrieved = rng.sample(pool, rng.randint(55, 80) if long else rng.randint(1, 22))
        run[q] = {d: rng.choice(levels) for d in retrieved}
    if rng.random() < 0.5:
        run["only-in-run"] = {d: 1.0 for d in rng.sample(pool, 3)}
    return qrels, run


def block(qrels: Qrels, run: Run, id_descending: bool) -> dict[str, list[float]]:
    got = reference(qrels, without_ties(run, id_descending))
    for q, grades in qrels.items():
        order = ranked(run.get(q, {}), id_descending)
        for name in MEASURES:
            want = direct(grades, order, name)
            assert math.isclose(got[q][name], want, abs_tol=1e-12), (q, name, got[q][name], want)
    return {q: [got[q][name] for name in MEASURES] for q in qrels}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=SEED)
    args = parser.parse_args()
    out: Path = args.out
    check_facts()
    rng = random.Random(args.seed)
    by_provider = providers()
    cases: list[dict[str, dict[str, Any]]] = []
    for number in range(CASES):
        qrels, run = make_case(rng, long=number % 20 == 19)
        trec, ours = block(qrels, run, True), block(qrels, run, False)
        # trec_eval itself, on the raw run with its ties, must agree with the re-scored run.
        raw = reference(qrels, run)
        for q in qrels:
            for name, value in zip(MEASURES, trec[q]):
                assert by_provider[name] != "pytrec_eval" or raw[q][name] == value, (number, q, name)
        cases.append({"qrels": qrels, "run": run, "expected_trec_ties": trec, "expected_our_ties": ours})

    # The file is only worth keeping if it holds what it promises.
    everything = [(c, q) for c in cases for q in c["qrels"]]
    assert sum(not any(c["qrels"][q].values()) for c, q in everything) >= 5, "queries without a positive"
    assert sum(q not in c["run"] for c, q in everything) >= 5, "queries missing from the run"
    assert sum(c["expected_trec_ties"][q] != c["expected_our_ties"][q] for c, q in everything) >= 50, "tie rule matters"

    head = {
        "made_by": "tools/golden/measures.py",
        "seed": args.seed,
        "versions": {p: version(p) for p in ("ir-measures", "pytrec-eval-terrier")},
        "notes": NOTES,
        "providers": by_provider,
        "measures": MEASURES,
    }

    def dump(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    lines = [f"{dump(key)}:{dump(value)}" for key, value in head.items()]
    lines.append('"cases":[\n' + ",\n".join(map(dump, cases)) + "\n]")
    out.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")
    print(f"{out}: {len(cases)} cases, {len(everything)} queries, {out.stat().st_size} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
