"""How fast does faiss find the nearest of a library's vectors, one request at a time?

    python tools/bench/dense_peer.py vectors.f32 requests.f32 DIMENSIONS K

Reads raw little-endian 32-bit floats, rows of length one. IndexFlatIP compares every row, exactly, as
we do; one thread. Prints one JSON object: the median seconds of a request, and the rows found.
"""

from __future__ import annotations

import json
import statistics
import sys
import time

import faiss
import numpy as np


def main() -> None:
    vectors, requests, dimensions, k = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatIP(dimensions)
    index.add(np.fromfile(vectors, dtype="<f4").reshape(-1, dimensions))
    asked = np.fromfile(requests, dtype="<f4").reshape(-1, dimensions)
    seconds, rows = [], []
    for request in asked:
        start = time.perf_counter()
        _, found = index.search(request[None, :], k)
        seconds.append(time.perf_counter() - start)
        rows.append(found[0].tolist())
    json.dump({"seconds": statistics.median(seconds), "rows": rows}, sys.stdout)


if __name__ == "__main__":
    main()
