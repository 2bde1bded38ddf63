"""Which documents, with which scores, should BM25 and TF-IDF return on a skill library?

    python tools/golden/sparse.py examples/library crates/fingerpost/tests/golden/sparse.json

Asks two reference packages, `bm25s` and `gensim`, both in 64-bit floats, and asserts
that each agrees with the direct formulas below for every query and every document.

Documents: every SKILL.md under the library; id = its folder relative to the library;
index text = name, description and content joined by newlines, content being what
follows the closing `---` of the front matter, stripped.
Tokens: lower-case; every character that is neither `\\w` nor white space becomes a
space; split on white space. No stemming, no stop words. Python's `\\w` is exactly the
categories L* and N* and the underscore. Combining marks (Mn, Mc) and circled letters
(So) are NOT in it, although Unicode's Alphabetic property holds 1,442 of them.
BM25: idf = max(0, ln((N - df + 0.5) / (df + 0.5))); weight = tf (k1 + 1) / (tf + k1 (1 -
b + b dl / avgdl)); a query term counts once, however often it is repeated.
TF-IDF: tf = count / length; idf = ln(N / (1 + df)), zero for df = N - 1, negative for
df = N; cosine. The query's length is that of its in-vocabulary tokens. No cosine is
negative: the query and the document hold the same idf, so it comes in squared.

Per query: the 20 best of each model, zero scores left out. Scores are rounded to 9
significant digits *before* ranking, ties go to the smaller id (bytes), so that the
last bits of a sum cannot decide the order. A reader should compare likewise.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections import Counter
from importlib.metadata import version
from pathlib import Path

from blake3 import blake3
import bm25s
import numpy as np
import yaml
from gensim.matutils import corpus2csc
from gensim.models import TfidfModel

K1, B = 1.5, 0.75
TOP = 20
EVERY = 10
NOT_WORD = re.compile(r"[^\w\s]")

# Always in the file, whatever the library's own queries are.
BUILT_IN = [
    "",
    "   \t\n ",
    "?! ... --- ***",
    "zzyzx qwrtplk xxyyzz",
    "the",
    "the the the the",
    "correct the QT interval for heart rate",
    "QT QT QT interval interval correction",
    "QTc Bazett formula, heart rate 110 bpm",
    "How do I convert a CSV file to JSON?",
    "convert csv to json json json",
    "merge two pdf files into one, keeping the bookmarks",
    "read_csv",
    "snake_case_name and __init__",
    "x_1 + x_2 = 3.14159",
    "HTTP 404 vs. 500 errors: retry with back-off?",
    "python3.11 utf-8 sha256",
    "1 2 3 10 100",
    "2024-01-31T23:59:59Z",
    "e-mail: someone@example.org",
    "don't can't won't",
    "C++ and C# and F#",
    "write unit tests for a function, then run the tests and fix the function",
    "when should this skill be used, and when not?",
    "use this skill when the user asks for a summary",
    "estimate the sample size of a clinical trial with two arms",
    "plot a histogram; label both axes; save it as PNG",
    "Unknownword42 with a known word: file",
    "STEP 1: INPUT. STEP 2: OUTPUT.",
    "naïve café résumé — “smart quotes” …",
    "nai\u0308ve cafe\u0301 decomposed accents",
    "x² ½ ① Ⅳ ٣ Ⓐlpha",
    "ΣΊΣΥΦΟΣ Straße İstanbul",
    "हिन्दी में खोज",
    "计算心率校正的QT间期",
    "如何 把 CSV 文件 转换 为 JSON？",
    "数据 数据 数据，清洗",
    "什么时候使用这个技能",
    "emoji 🚀 between🚀words",
    "zero\u200bwidth non\u00a0breaking\u3000ideographic",
]


def tokens(text: str) -> list[str]:
    return NOT_WORD.sub(" ", text.lower()).split()


def index_text(skill_md: Path) -> str:
    # Bytes, not text mode: CRLF must reach the digest as it is in the file.
    lines = skill_md.read_bytes().decode("utf-8").split("\n")
    marks = [i for i, line in enumerate(lines) if line.rstrip() == "---"][:2]
    if len(marks) < 2 or marks[0] != 0:
        raise ValueError(f"{skill_md}: no front matter")
    front = yaml.safe_load("\n".join(lines[1 : marks[1]]))
    name, description = front["name"], front["description"]
    if not (isinstance(name, str) and isinstance(description, str)):
        raise ValueError(f"{skill_md}: name and description must be strings")
    content = "\n".join(lines[marks[1] + 1 :]).strip()
    return "\n".join((name, description, content))


def read_library(library: Path) -> dict[str, str]:
    found = {p.parent.relative_to(library).as_posix(): index_text(p) for p in library.rglob("SKILL.md")}
    if not found:
        raise ValueError(f"{library}: no SKILL.md")
    return dict(sorted(found.items()))  # by code point = by UTF-8 bytes


def read_queries(library: Path, every: int) -> list[tuple[str, str]]:
    queries = [(f"built-in-{i:02}", text) for i, text in enumerate(BUILT_IN)]
    path = library / "queries.jsonl"
    if path.exists():
        # Split at \n only: str.splitlines would also cut at U+2028 and the like.
        rows = [json.loads(line) for line in path.read_bytes().split(b"\n") if line.strip()]
        queries += [(row["id"], row["text"]) for row in rows[::every]]
    return queries


class Corpus:
    def __init__(self, docs: dict[str, str]) -> None:
        self.ids = list(docs)
        self.tokens = [tokens(text) for text in docs.values()]
        self.vocab: dict[str, int] = {}
        for doc in self.tokens:
            for token in doc:
                self.vocab.setdefault(token, len(self.vocab))
        self.counts = [Counter(self.vocab[t] for t in doc) for doc in self.tokens]
        self.df = Counter(t for doc in self.counts for t in doc)

    def known(self, text: str) -> list[int]:
        """The query's in-vocabulary token ids, repetitions kept."""
        return [self.vocab[t] for t in tokens(text) if t in self.vocab]


class Bm25:
    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.model = bm25s.BM25(k1=K1, b=B, method="atire", idf_method="robertson", dtype="float64")
        ids = [[corpus.vocab[t] for t in doc] for doc in corpus.tokens]
        # A copy: bm25s adds an entry for the empty token to the vocabulary it is given.
        self.model.index((ids, dict(corpus.vocab)), show_progress=False)

    def reference(self, query: list[int]) -> np.ndarray:
        if not query:  # bm25s has no answer to an empty query, its documents all score 0
            return np.zeros(len(self.corpus.ids))
        return self.model.get_scores_from_ids(list(dict.fromkeys(query)))

    def direct(self, query: list[int]) -> list[float]:
        c = self.corpus
        n = len(c.ids)
        average = sum(map(len, c.tokens)) / n
        scores = []
        for doc, counts in zip(c.tokens, c.counts):
            norm = K1 * (1 - B + B * len(doc) / average)
            score = 0.0
            for t in set(query) & counts.keys():
                idf = max(0.0, math.log((n - c.df[t] + 0.5) / (c.df[t] + 0.5)))
                score += idf * counts[t] * (K1 + 1) / (counts[t] + norm)
            scores.append(score)
        return scores


class TfIdf:
    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        bows = [sorted(doc.items()) for doc in corpus.counts]
        # gensim keeps negative weights, drops zero ones (|idf| <= 1e-12) and leaves a
        # zero vector as it is: just what a cosine wants.
        self.model = TfidfModel(
            bows,
            wlocal=lambda tf: tf / tf.sum(),
            wglobal=lambda df, n: math.log(n / (1 + df)),
            normalize=True,
        )
        rows = [self.model[bow] for bow in bows]
        self.matrix = corpus2csc(rows, num_terms=len(corpus.vocab), dtype=np.float64).T.tocsr()

    def reference(self, query: list[int]) -> np.ndarray:
        vector = np.zeros(len(self.corpus.vocab))
        for t, weight in self.model[sorted(Counter(query).items())] if query else []:
            vector[t] = weight
        return self.matrix @ vector

    def direct(self, query: list[int]) -> list[float]:
        c = self.corpus

        def unit(counts: Counter[int]) -> dict[int, float]:
            length = sum(counts.values())
            raw = {t: tf / length * math.log(len(c.ids) / (1 + c.df[t])) for t, tf in counts.items()}
            norm = math.sqrt(sum(w * w for w in raw.values()))
            return {t: w / norm for t, w in raw.items()} if norm > 0 else {}

        if not hasattr(self, "units"):
            self.units = [unit(counts) for counts in c.counts]
        q = unit(Counter(query))
        return [sum(w * doc.get(t, 0.0) for t, w in q.items()) for doc in self.units]


def best(ids: list[str], scores: np.ndarray) -> list[list[str | float]]:
    rows = [(float(f"{s:.9g}"), doc, s) for doc, s in zip(ids, scores.tolist()) if s > 0]
    rows.sort(key=lambda row: (-row[0], row[1]))
    # Two equal scores that rounding tore apart would make the order a matter of luck.
    for (a, _, x), (b, _, y) in zip(rows, rows[1 : TOP + 1]):
        assert a == b or not math.isclose(x, y, rel_tol=1e-13), (x, y)
    return [[doc, rounded] for rounded, doc, _ in rows[:TOP]]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("library", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--every", type=int, default=EVERY, help="take every n-th request of queries.jsonl")
    args = parser.parse_args()

    docs = read_library(args.library)
    corpus = Corpus(docs)
    models: dict[str, Bm25 | TfIdf] = {"bm25": Bm25(corpus), "tfidf": TfIdf(corpus)}
    queries = []
    for query_id, text in read_queries(args.library, args.every):
        known = corpus.known(text)
        row: dict[str, object] = {"id": query_id, "text": text, "tokens": tokens(text)}
        for name, model in models.items():
            scores = model.reference(known)
            np.testing.assert_allclose(scores, model.direct(known), rtol=1e-11, atol=1e-14, err_msg=f"{name} {text}")
            assert scores.min(initial=0.0) >= 0.0, (name, text)
            row[name] = best(corpus.ids, scores)
        queries.append(row)

    head = {
        "made_by": "tools/golden/sparse.py",
        "versions": {p: version(p) for p in ("bm25s", "gensim", "numpy", "scipy", "pyyaml")},
        "parameters": {"k1": K1, "b": B, "top": TOP, "every": args.every, "significant_digits": 9},
        "bm25": "idf=max(0,ln((N-df+0.5)/(df+0.5))); tf*(k1+1)/(tf+k1*(1-b+b*dl/avgdl)); distinct query terms",
        "tfidf": "tf=count/length; idf=ln(N/(1+df)); cosine; query length over in-vocabulary tokens",
        "statistics": {
            "documents": len(docs),
            "tokens": sum(map(len, corpus.tokens)),
            "vocabulary": len(corpus.vocab),
        },
    }

    def dump(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    lines = [f"{dump(key)}:{dump(value)}" for key, value in head.items()]
    digests = [f"{dump(i)}:{dump(blake3(text.encode()).hexdigest())}" for i, text in docs.items()]
    lines.append('"digests":{\n' + ",\n".join(digests) + "\n}")
    lines.append('"queries":[\n' + ",\n".join(map(dump, queries)) + "\n]")
    args.out.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")
    size = args.out.stat().st_size
    print(f"{args.out}: {len(docs)} documents, {len(queries)} queries, {size} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
