"""Which documents does bm25s find for each request, with the settings it comes with?

    python tools/bench/bm25s_ranking.py work.json hits.json

work.json is `{"documents": [text, ...], "requests": [text, ...], "k": 100}`. hits.json becomes one list
a request, in their order: `[[row of the document, score], ...]`, best first, at most `k`, and no document
that shares no term with the request. Tokenizer, stop words, BM25 variant and constants are bm25s's own
defaults; nothing is said but the texts.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ["DISABLE_TQDM"] = "1"  # before bm25s is imported: no progress bars

import bm25s


def main() -> None:
    work = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    model = bm25s.BM25()
    model.index(bm25s.tokenize(work["documents"], show_progress=False), show_progress=False)
    k = min(work["k"], len(work["documents"]))
    # Terms as words: an id that bm25s makes for an unknown one has no column in the index.
    requests = bm25s.tokenize(work["requests"], return_ids=False, show_progress=False)
    found = []
    for terms in requests:
        terms = [term for term in terms if term in model.vocab_dict]
        if not terms:
            found.append([])
            continue
        rows, scores = model.retrieve([terms], k=k, show_progress=False)
        hits = zip(rows[0].tolist(), scores[0].tolist())
        found.append([[row, score] for row, score in hits if score > 0])
    Path(sys.argv[2]).write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
