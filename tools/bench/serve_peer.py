"""A plain Python server over a skill library, as one would write it in an hour.

    python tools/bench/serve_peer.py --library 33441.jsonl --engine bm25s --port 0 --workers 2

FastAPI on uvicorn (uvloop, httptools), with one of two engines behind it:

    bm25s  BM25 of the package bm25s over name, description and content, as in tools/bench/bm25s_peer.py
           (k1=1.5, b=0.75, ATIRE term weight, Robertson idf), scored in compiled code (numba)
    ratel  the SkillCatalog of the package ratel-ai, BM25 in Rust, as it comes: over name and description

GET /search?q=...&k=10 answers the ids, names and scores of the best k. GET /healthz answers when the index is
built and warm. Each worker is a process with an index of its own. Prints the port when it listens.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import socket
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Callable

os.environ["DISABLE_TQDM"] = "1"  # before bm25s is imported: progress bars cost time

from fastapi import FastAPI

NOT_WORD = re.compile(r"[^\w\s]")
Search = Callable[[str, int], list[dict[str, Any]]]


def read(library: Path) -> list[dict[str, str]]:
    # A binary stream splits at \n only; str.splitlines would also cut at U+2028 and the like.
    with library.open("rb") as file:
        return [json.loads(line) for line in file if line.strip()]


async def with_bm25s(skills: list[dict[str, str]]) -> Search:
    import bm25s

    def tokens(text: str) -> list[str]:
        return NOT_WORD.sub(" ", text.lower()).split()

    texts = ["\n".join([s["name"], s["description"], s["content"]]) for s in skills]
    index = bm25s.BM25(k1=1.5, b=0.75, method="atire", idf_method="robertson", backend="numba")
    index.index([tokens(text) for text in texts], show_progress=False)
    known = index.vocab_dict

    def search(query: str, k: int) -> list[dict[str, Any]]:
        asked = [known[t] for t in dict.fromkeys(tokens(query)) if t in known]
        if not asked:
            return []
        rows, scores = index.retrieve([asked], k=k, show_progress=False, n_threads=1)
        hits = zip(rows[0].tolist(), scores[0].tolist())
        return [
            {"skill": skills[row]["id"], "name": skills[row]["name"], "score": score}
            for row, score in hits
        ]

    return search


async def with_ratel(skills: list[dict[str, str]]) -> Search:
    from ratel_ai import Skill, SkillCatalog

    catalog = SkillCatalog()
    made = [
        Skill(id=s["id"], name=s["name"], description=s["description"], body=s["content"])
        for s in skills
    ]

    await catalog.register(made)
    names = {s["id"]: s["name"] for s in skills}

    def search(query: str, k: int) -> list[dict[str, Any]]:
        hits = catalog.search(query, k)
        return [{"skill": h.skill_id, "name": names[h.skill_id], "score": h.score} for h in hits]

    return search


ENGINES = {"bm25s": with_bm25s, "ratel": with_ratel}


def application() -> FastAPI:
    """Made in each worker, from what the first process left in the environment."""
    engine, library = os.environ["SERVE_PEER_ENGINE"], os.environ["SERVE_PEER_LIBRARY"]
    found: dict[str, Search] = {}

    @asynccontextmanager
    async def lifespan(_: FastAPI):
        found["search"] = await ENGINES[engine](read(Path(library)))
        # What is compiled at the first search is compiled before anybody waits for it.
        found["search"]("a first request that warms it up", 10)
        yield

    app = FastAPI(lifespan=lifespan)

    @app.get("/healthz")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/search")
    async def search(q: str, k: int = 10) -> dict[str, Any]:
        return {"query": q, "hits": found["search"](q, k)}

    return app


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--library", type=Path, required=True)
    arguments.add_argument("--engine", choices=sorted(ENGINES), required=True)
    arguments.add_argument("--port", type=int, default=0)
    arguments.add_argument("--workers", type=int, default=1)
    given = arguments.parse_args()
    os.environ["SERVE_PEER_ENGINE"] = given.engine
    os.environ["SERVE_PEER_LIBRARY"] = str(given.library)
    # Python is told where this file is, so that each worker finds it again.
    os.environ["PYTHONPATH"] = str(Path(__file__).parent)
    port = given.port
    if port == 0:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
    print(port, flush=True)
    import uvicorn

    uvicorn.run(
        "serve_peer:application",
        factory=True,
        host="127.0.0.1",
        port=port,
        workers=given.workers,
        log_level="warning",
        access_log=False,
    )


if __name__ == "__main__":
    main()
