"""How fast do scikit-learn and faiss cluster the vectors of a skill library?

    python tools/bench/neighborhoods_peer.py scikit-learn|faiss vectors.f32 DIMENSIONS BUCKETS DISTANCE

Reads raw little-endian 32-bit floats, rows of length one, and prints one JSON object; times are
seconds of one run, without reading. scikit-learn: KMeans (one start, greedy k-means++, its
defaults else), then AgglomerativeClustering (cosine, average) in each bucket. faiss: spherical
Kmeans with its default 25 rounds, on all rows; it has no linkage. `mean_cosine` is the mean over
all rows of the largest cosine with a bucket's direction, computed outside the times.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np


def scikit_learn(rows: np.ndarray, buckets: int, distance: float) -> dict[str, object]:
    from sklearn.cluster import AgglomerativeClustering, KMeans

    start = time.perf_counter()
    of = KMeans(buckets, n_init=1, random_state=0).fit(rows).labels_
    buckets_s = time.perf_counter() - start
    start = time.perf_counter()
    groups = 0
    for bucket in range(buckets):
        inside = rows[of == bucket]
        if len(inside) > 1:
            model = AgglomerativeClustering(
                n_clusters=None, metric="cosine", linkage="average", distance_threshold=distance
            )
            groups += int((np.bincount(model.fit_predict(inside)) > 1).sum())
    plain_s = time.perf_counter() - start
    centers = np.stack([rows[of == bucket].sum(axis=0) for bucket in range(buckets)])
    return {"buckets_s": buckets_s, "plain_s": plain_s, "centers": centers, "groups": groups}


def faiss_kmeans(rows: np.ndarray, buckets: int) -> dict[str, object]:
    import faiss

    model = faiss.Kmeans(
        rows.shape[1], buckets, spherical=True, seed=1, max_points_per_centroid=1 << 30
    )
    start = time.perf_counter()
    model.train(rows)
    return {"buckets_s": time.perf_counter() - start, "plain_s": None, "centers": model.centroids, "groups": None}


def main() -> None:
    peer, file, dimensions, buckets, distance = sys.argv[1:]
    rows = np.fromfile(file, dtype="<f4").reshape(-1, int(dimensions))
    found = (
        faiss_kmeans(rows, int(buckets))
        if peer == "faiss"
        else scikit_learn(rows, int(buckets), float(distance))
    )
    centers = found.pop("centers")
    centers = centers / np.linalg.norm(centers, axis=1, keepdims=True)
    mean_cosine = float(np.mean([(part @ centers.T).max(axis=1).mean() for part in np.array_split(rows, max(1, len(rows) // 4096))]))
    print(json.dumps({**found, "repaired_s": None, "memory": None, "mean_cosine": mean_cosine}))


if __name__ == "__main__":
    main()
