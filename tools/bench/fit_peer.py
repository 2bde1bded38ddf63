"""How fast does scikit-learn make vectors of the library itself?

    python tools/bench/fit_peer.py corpus.jsonl.zst queries.jsonl.zst THREADS

The plain way: words (of Chinese, pairs of characters), log tf, idf, rows of length one, randomised
SVD to 256 dimensions with scikit-learn's defaults. Prints one JSON object; seconds go from the
texts to the vectors of the skills, without reading files. `ranking` has the ten nearest skills of
every request, made outside the times.
"""

from __future__ import annotations

import json
import re
import sys
import time
from pathlib import Path

import numpy as np
import zstandard
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

DIMENSIONS = 256
RUN = re.compile(r"[\u3400-\u9fff]+|[^\W\u3400-\u9fff]+")


def read_jsonl(file: Path) -> list[dict[str, str]]:
    with file.open("rb") as packed:
        text = zstandard.ZstdDecompressor().stream_reader(packed).read().decode("utf-8")
    return [json.loads(line) for line in text.split("\n") if line]


def words(text: str) -> list[str]:
    found: list[str] = []
    for run in RUN.findall(text.lower()):
        chinese = len(run) > 1 and "\u3400" <= run[0] <= "\u9fff"
        found.extend(run[at : at + 2] for at in range(len(run) - 1)) if chinese else found.append(run)
    return found


def main() -> None:
    corpus, queries, threads = sys.argv[1:]
    skills = read_jsonl(Path(corpus))
    texts = ["\n".join((s["name"], s["description"], s["content"])) for s in skills]
    requests = [q["text"] for q in read_jsonl(Path(queries))]
    weigh = TfidfVectorizer(tokenizer=words, token_pattern=None, lowercase=False, sublinear_tf=True, dtype=np.float32)
    reduce = TruncatedSVD(DIMENSIONS, random_state=0)
    with threadpool_limits(int(threads)):
        start = time.perf_counter()
        vectors = normalize(reduce.fit_transform(weigh.fit_transform(texts)))
        seconds = time.perf_counter() - start
    asked = normalize(reduce.transform(weigh.transform(requests)))
    best = np.argsort(-(asked @ vectors.T), axis=1, kind="stable")[:, :10]
    ranking = [[skills[at]["id"] for at in row] for row in best]
    print(json.dumps({"seconds": seconds, "skills": len(skills), "ranking": ranking}))


if __name__ == "__main__":
    main()
