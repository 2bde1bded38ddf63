"""One figure a line from standard input, computed by ir_measures: means over data sets of means over requests."""

import json
import sys

import ir_measures

for line in sys.stdin:
    asked = json.loads(line)
    measure = ir_measures.parse_measure(asked["measure"])
    qrels = {query: grades for query, grades in asked["qrels"].items() if max(grades.values(), default=0) > 0}
    scores = dict.fromkeys(qrels, 0.0)
    for metric in ir_measures.iter_calc([measure], qrels, asked["run"]):
        scores[metric.query_id] = metric.value
    sets = {}
    for query, score in scores.items():
        sets.setdefault(asked["sets"].get(query, ""), []).append(score)
    means = [sum(scores) / len(scores) for scores in sets.values()]
    print(json.dumps({"figure": asked["figure"], "value": sum(means) / max(len(means), 1)}), flush=True)
