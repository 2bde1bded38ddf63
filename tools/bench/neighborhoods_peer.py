"""How fast do scikit-learn and faiss cluster the vectors of a skill library?

    python tools/bench/neighborhoods_peer.py scikit-learn|faiss vectors.f32 DIMENSIONS BUCKETS DISTANCE [COSINE]

Reads raw little-endian 32-bit floats, rows of length one, and prints one JSON object; times are
seconds of one run, without reading. scikit-learn: KMeans (one start, greedy k-means++, its
defaults else), then AgglomerativeClustering (cosine, average) in each bucket. faiss: spherical
Kmeans with its default 25 rounds, on all rows; it has no linkage. Given a COSINE, it may start again
until its buckets are as good, at most MOST_STARTS times; `starts` says how often. `mean_cosine` is the mean over
all rows of the largest cosine with a bucket's direction, computed outside the times.
"""

from __future__ import annotations

import json
import sys
import time

import numpy as np

MOST_STARTS = 5


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


def faiss_kmeans(rows: np.ndarray, buckets: int, cosine: float) -> dict[str, object]:
    import faiss

    spent, best, centers = 0.0, -1.0, None
    for starts in range(1, MOST_STARTS + 1):
        model = faiss.Kmeans(
            rows.shape[1], buckets, spherical=True, seed=starts, max_points_per_centroid=1 << 30
        )
        start = time.perf_counter()
        model.train(rows)
        spent += time.perf_counter() - start
        found = mean_cosine(rows, model.centroids)
        if found > best:
            best, centers = found, model.centroids
        if best >= cosine:
            break
    return {"buckets_s": spent, "plain_s": None, "centers": centers, "groups": None, "starts": starts}


def mean_cosine(rows: np.ndarray, centers: np.ndarray) -> float:
    centers = centers / np.linalg.norm(centers, axis=1, keepdims=True)
    parts = np.array_split(rows, max(1, len(rows) // 4096))
    return float(np.sum([(part @ centers.T).max(axis=1).sum() for part in parts]) / len(rows))


def main() -> None:
    peer, file, dimensions, buckets, distance, *cosine = sys.argv[1:]
    rows = np.fromfile(file, dtype="<f4").reshape(-1, int(dimensions))
    found = (
        faiss_kmeans(rows, int(buckets), float(cosine[0]) if cosine else -1.0)
        if peer == "faiss"
        else scikit_learn(rows, int(buckets), float(distance))
    )
    cosine = mean_cosine(rows, found.pop("centers"))
    print(json.dumps({**found, "repaired_s": None, "memory": None, "mean_cosine": cosine}))


if __name__ == "__main__":
    main()
