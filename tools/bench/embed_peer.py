"""How fast does Python's onnxruntime embed texts?

    python tools/bench/embed_peer.py MODEL_FOLDER texts.json --threads 2 --batch 32

texts.json is a list of strings. Prints one JSON object: `seconds` for tokenizing, running and
pooling all texts, loading left out, and `cpu_seconds` of all threads. Texts are sorted by length, so that a batch has little
padding; `--batch 1` has none.
"""

from __future__ import annotations

import argparse
import json
import time
import tomllib
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Tokenizer


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--max-tokens", type=int)
    parser.add_argument("--vectors", type=Path, help="also write the vectors, as rows of a JSON list")
    args = parser.parse_args()

    settings = tomllib.loads((args.folder / "fingerpost-model.toml").read_text(encoding="utf-8"))
    texts = json.loads(args.texts.read_text(encoding="utf-8"))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = args.threads
    # Threads that spin while they wait would burn the time of others on a shared machine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = onnxruntime.InferenceSession(str(args.folder / settings["model"]), options, ["CPUExecutionProvider"])
    names = {i.name for i in session.get_inputs()}
    tokenizer = Tokenizer.from_file(str(args.folder / settings["tokenizer"]))
    tokenizer.enable_truncation(args.max_tokens or settings["max_tokens"])
    tokenizer.enable_padding()

    def embed(batch: list[str]) -> tuple[np.ndarray, int]:
        encoded = tokenizer.encode_batch(batch)
        ids = np.array([e.ids for e in encoded], dtype=np.int64)
        mask = np.array([e.attention_mask for e in encoded], dtype=np.int64)
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        wanted = settings.get("output", "last_hidden_state")
        (out,) = session.run([wanted], {k: v for k, v in feeds.items() if k in names})
        match settings["pooling"]:
            case "mean":
                out = (out * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
            case "cls":
                out = out[:, 0]
            case "last-token":
                out = out[np.arange(len(out)), mask.sum(axis=1) - 1]
        return out / np.linalg.norm(out, axis=1, keepdims=True), int(mask.sum())

    prefix = settings["document_prefix"]
    texts = [(prefix + t).lower() if settings["lowercase"] else prefix + t for t in texts]
    embed(texts[:1])  # the first run allocates
    start, cpu = time.perf_counter(), time.process_time()
    order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
    vectors: list[np.ndarray | None] = [None] * len(texts)
    tokens = 0
    for at in range(0, len(order), args.batch):
        rows = order[at : at + args.batch]
        found, read = embed([texts[i] for i in rows])
        tokens += read
        for i, vector in zip(rows, found):
            vectors[i] = vector
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu

    if args.vectors:
        args.vectors.write_text(json.dumps([[round(float(x), 6) for x in v] for v in vectors]))
    report = {"seconds": seconds, "cpu_seconds": cpu_seconds, "tokens": tokens}
    print(json.dumps(report | {"version": version("onnxruntime")}))


if __name__ == "__main__":
    main()
