"""How fast does bm25s index a skill library and answer its requests?

    python tools/bench/bm25s_peer.py --corpus corpus.jsonl.zst --queries queries.jsonl.zst --threads 2

Prints one JSON object; times are seconds, the median of `--repeats` runs. The tokenizer
and the BM25 variant are those of tools/golden/sparse.py (k1=1.5, b=0.75, ATIRE term
weight, Robertson idf clipped at 0, each distinct query term once). Reading and parsing
the JSON Lines is outside every time.

    tokenize_s             corpus text -> token ids, pure Python, one thread (bm25s.tokenize
                           with token_pattern=r"\\w+" gives the same ids and is no faster)
    index_s                token ids -> index
    index_with_tokenize_s  the sum of the two
    tokenize_queries_s     request text -> distinct token ids
    search_s               token ids -> top k of all requests; search_all_s: each repeat
    warmup_s               first search over all requests minus search_s: numba's compilation

Only the search takes `--threads`; bm25s indexes on one thread. Backends: `numba` scores and
selects in compiled code over threads, `numpy` and `jax` score with numpy and select with
numpy or jax (which must be installed); their threads are Python's, share one lock and
make the search slower.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import platform
import re
import statistics
import time
from importlib.metadata import version
from pathlib import Path
from typing import Callable, TypeVar

os.environ["DISABLE_TQDM"] = "1"  # before bm25s is imported: progress bars cost time

import bm25s
import numpy as np

T = TypeVar("T")
NOT_WORD = re.compile(r"[^\w\s]")


def read_jsonl(path: Path, limit: int | None) -> list[dict[str, str]]:
    if path.suffix == ".zst":
        import zstandard

        with path.open("rb") as file:
            data = zstandard.ZstdDecompressor().stream_reader(file).read()
    else:
        data = path.read_bytes()
    # A binary stream splits at \n only; str.splitlines would also cut at U+2028 and the like.
    rows: list[dict[str, str]] = []
    for line in io.BytesIO(data):
        if limit is not None and len(rows) >= limit:
            break
        if line.strip():
            rows.append(json.loads(line))
    return rows


def tokens(text: str) -> list[str]:
    return NOT_WORD.sub(" ", text.lower()).split()


def corpus_ids(texts: list[str]) -> tuple[list[list[int]], dict[str, int]]:
    vocab: dict[str, int] = {}
    # len(vocab) is evaluated before setdefault runs, so a new token gets the next free id
    ids = [[vocab.setdefault(t, len(vocab)) for t in tokens(text)] for text in texts]
    # An empty column of our own for requests without a known token. The id bm25s would add
    # has no column in the index: numpy raises on it, numba reads past the end and crashes.
    vocab[""] = len(vocab)
    return ids, vocab


def query_ids(texts: list[str], vocab: dict[str, int]) -> list[list[int]]:
    found = ([vocab[t] for t in dict.fromkeys(tokens(text)) if t in vocab] for text in texts)
    return [ids or [vocab[""]] for ids in found]


def timed(work: Callable[[], T]) -> tuple[float, T]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def median_of(repeats: int, work: Callable[[], T]) -> tuple[float, T, list[float]]:
    spent, result = timed(work)
    seconds = [spent]
    for _ in range(repeats - 1):
        del result  # so that two results never share the memory
        spent, result = timed(work)
        seconds.append(spent)
    return statistics.median(seconds), result, seconds


def build(backend: str, ids: list[list[int]], vocab: dict[str, int]) -> bm25s.BM25:
    model = bm25s.BM25(
        k1=1.5,
        b=0.75,
        method="atire",
        idf_method="robertson",
        backend="numba" if backend == "numba" else "numpy",
        csc_backend="scipy",  # measured: a fifth faster than the numba builder, a third than numpy
    )
    model.index((ids, dict(vocab)), show_progress=False)
    return model


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--k", type=int, default=50)
    parser.add_argument("--limit", type=int, help="read only this many documents")
    parser.add_argument("--backend", choices=["numba", "numpy", "jax"], default="numba")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--run", type=Path, help="also write the ranking as a TREC run, to check it")
    args = parser.parse_args()

    docs = read_jsonl(args.corpus, args.limit)
    queries = read_jsonl(args.queries, None)
    texts = ["\n".join((d["name"], d["description"], d["content"])) for d in docs]
    requests = [q["text"] for q in queries]
    k = min(args.k, len(docs))

    # Tokenizing and indexing take seconds and vary little; three runs are enough for both.
    few = min(3, args.repeats)
    tokenize_s, (ids, vocab), _ = median_of(few, lambda: corpus_ids(texts))
    index_s, model, _ = median_of(few, lambda: build(args.backend, ids, vocab))
    tokenize_queries_s, request_ids, _ = median_of(args.repeats, lambda: query_ids(requests, vocab))

    def search() -> bm25s.Results:
        return model.retrieve(
            request_ids,
            k=k,
            show_progress=False,
            # numpy: 0 = a plain loop, 1 would be a pool of one thread
            n_threads=args.threads if args.threads > 1 else 0,
            backend_selection="auto" if args.backend == "numba" else args.backend,
        )

    first_s, _ = timed(search)
    search_s, (found, scores), search_all_s = median_of(args.repeats, search)

    if args.run:
        with args.run.open("w", encoding="utf-8") as out:
            for q, row, values in zip(queries, found, scores):
                for rank, (doc, score) in enumerate(zip(row, values), start=1):
                    if score > 0:
                        print(q["id"], "Q0", docs[doc]["id"], rank, f"{score:.6f}", "bm25s", file=out)

    report = {
        "peer": "bm25s",
        "version": version("bm25s"),
        "backend": args.backend,
        "threads": args.threads,
        "docs": len(docs),
        "queries": len(queries),
        "tokenize_s": tokenize_s,
        "index_s": index_s,
        "index_with_tokenize_s": tokenize_s + index_s,
        "tokenize_queries_s": tokenize_queries_s,
        "search_s": search_s,
        "search_all_s": [round(seconds, 4) for seconds in search_all_s],
        "warmup_s": max(0.0, first_s - search_s),
        "k": k,
        "repeats": args.repeats,
        "tokens": sum(map(len, ids)),
        "vocabulary": len(vocab) - 1,
        "postings": int(len(model.scores["data"])),
        "dtype": str(np.dtype(model.dtype)),
        "python": platform.python_version(),
    }
    print(json.dumps({key: round(v, 4) if isinstance(v, float) else v for key, v in report.items()}))


if __name__ == "__main__":
    main()
