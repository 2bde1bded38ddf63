"""Which skills should k-means buckets and average linkage put together?

    python tools/golden/neighborhoods.py crates/fingerpost/tests/golden/neighborhoods.json
    python tools/golden/neighborhoods.py --live vectors.f32 DIMENSIONS

Asks scikit-learn: KMeans on unit vectors, then AgglomerativeClustering (cosine, average) inside
each bucket, cut by `distance_threshold`, which keeps merges strictly below it. The first form
makes seeded vectors with families of look-alikes in topics, rounded to four digits *before*
anything is asked of them; the second takes raw little-endian 32-bit floats and prints to stdout.

`mean_cosine` is the mean over all rows of the largest cosine with a bucket's direction: the median
of five seeds, because where there is little structure they differ by two per cent. It asserts that
no merge lies so near a cut that the last bits of a mean could decide it.
"""

from __future__ import annotations

import argparse
import json
import statistics
from importlib.metadata import version
from pathlib import Path

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans

CUTS = [0.05, 0.15, 0.3]
SEED = 20261115


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def planted(topics: int, families: int, members: int, dimensions: int) -> np.ndarray:
    draw = np.random.default_rng(SEED)
    rows = []
    for topic in draw.normal(size=(topics, dimensions)):
        for family in draw.normal(size=(families, dimensions)):
            center = topic + 0.8 * family
            spread = draw.uniform(0.1, 0.6)
            rows.append(center + spread * draw.normal(size=(members, dimensions)))
    return unit(np.concatenate(rows)).round(4)


def bucketed(rows: np.ndarray, count: int) -> dict[str, object]:
    starts = [KMeans(count, n_init=1, random_state=seed).fit(rows).labels_ for seed in range(5)]
    of = starts[0]
    cuts = []
    for cut in CUTS:
        labels = np.zeros(len(rows), dtype=int)
        first = 0
        for bucket in range(count):
            inside = np.flatnonzero(of == bucket)
            labels[inside] = first + linked(rows[inside], cut)
            first = labels[inside].max() + 1
        cuts.append({"max_distance": cut, "labels": labels.tolist()})
    mean_cosine = statistics.median(cosine(rows, of, count) for of in starts)
    return {"mean_cosine": round(mean_cosine, 6), "of": of.tolist(), "cuts": cuts}


def cosine(rows: np.ndarray, of: np.ndarray, count: int) -> float:
    centers = unit(np.stack([rows[of == bucket].sum(axis=0) for bucket in range(count)]))
    return float((rows @ centers.T).max(axis=1).mean())


def linked(rows: np.ndarray, cut: float) -> np.ndarray:
    if len(rows) < 2:
        return np.zeros(len(rows), dtype=int)
    model = AgglomerativeClustering(
        n_clusters=None, metric="cosine", linkage="average", distance_threshold=cut
    )
    labels = model.fit_predict(rows)
    assert np.abs(model.distances_ - cut).min() > 2e-6, "a merge too near the cut: change the seed"
    return labels


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path, nargs="?")
    parser.add_argument("--live", nargs=2, metavar=("FILE", "DIMENSIONS"))
    args = parser.parse_args()
    if args.live:
        rows = np.fromfile(args.live[0], dtype="<f4").reshape(-1, int(args.live[1])).astype(float)
        counts = [5, 18]
    else:
        rows = planted(topics=8, families=8, members=5, dimensions=24)
        counts = [1, 4, 8]
    golden = {
        "made_by": f"scikit-learn {version('scikit-learn')}, numpy {version('numpy')}",
        "dimensions": rows.shape[1],
        "values": [] if args.live else rows.ravel().tolist(),
        "buckets": [bucketed(unit(rows), count) for count in counts],
    }
    text = json.dumps(golden, separators=(",", ":"))
    if args.live:
        print(text)
    else:
        args.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
