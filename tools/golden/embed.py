"""What vectors should our embedders give?

    python tools/golden/embed.py MODELS crates/fingerpost-models/tests/golden/vectors.json

MODELS is the folder that `fingerpost model pull` fills (FINGERPOST_MODELS). The reference is
onnxruntime, one text at a time and unpadded, with pooling in numpy; for the static model the
table itself, read with safetensors. Components are kept as whole ten-thousandths, which moves a
cosine by less than 0.000001.
"""

from __future__ import annotations

import json
import statistics
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import numpy as np
import onnxruntime
from safetensors.numpy import load_file
from tokenizers import Tokenizer

SCALE = 10_000
MAX_CHARACTERS = 32_768

ENGLISH = [
    "correct the QT interval with Bazett's square root",
    "QT 380 at 72 bpm",
    "How much tax do I owe on a year-end bonus?",
    "Convert a PDF table into a CSV file, keeping merged cells",
    "a",
    "naïve café — it's 3:45 p.m., $1,299.99 (incl. 18% GST)",
    "def f(x): return x**2  # squares\nprint(f(3))",
    "Use this skill when a measured QT interval must be corrected for heart rate with the cube-root formula. "
    "Not for slopes per beat: that is the Hodges method.",
    "MEDICAL CALCULATION; CREATININE CLEARANCE, mL/min. Cockcroft-Gault needs age, weight and sex.",
    "Antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis",
    "Rename every photo by the date it was taken, and put each year in its own folder.",
    "roll back a failed database migration",
    "SELECT name, count(*) FROM visits GROUP BY name HAVING count(*) > 3;",
    "Machine gave me Bazett 478 but he's tachycardic. What is it with RR to the one third instead?",
    "e\u0301 é ﬁ ① 👍🏽 \u200b zero-width\tand\r\ncontrol",
    "Plan a week of vegetarian dinners for four, with one shopping list and no recipe twice.",
]
CHINESE = [
    "年终奖怎么计税？",
    "用Bazett公式校正QT间期，心率72次/分",
    "把PDF里的表格导出为CSV文件，保留合并单元格。",
    "当用户需要按累计预扣法计算工资薪金个人所得税时使用本技能；劳务报酬请使用另一项技能。",
    "查询北京明天的天气",
    "GDP 增长率 5.2%",
    "将会议录音整理成纪要，列出每个人的待办事项和截止日期",
    "Python 报错 KeyError 怎么办",
    "股票的市盈率和市净率有什么区别？",
    "繁體中文與簡體中文的轉換",
]


def texts() -> list[str]:
    """Short ones, one that is empty of known words, and long ones that no window holds."""
    long_english = " ".join(ENGLISH[i % len(ENGLISH)] + f" Step {i}." for i in range(90))
    long_chinese = "".join(CHINESE[i % len(CHINESE)] + f"第{i}步。" for i in range(60))
    medium = " ".join(ENGLISH[:8])
    return [*ENGLISH, *CHINESE, medium, long_english, long_chinese, long_english[:1500]]


class Encoder:
    """An ONNX graph and its tokenizer, as fingerpost-model.toml says to use them."""

    def __init__(self, folder: Path, settings: dict) -> None:
        self.settings = settings
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, ["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()  # both are baked into some files
        self.tokenizer.enable_truncation(settings["max_tokens"])

    def vector(self, text: str) -> np.ndarray:
        ids = np.array([self.tokenizer.encode(text).ids], dtype=np.int64)
        feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        wanted = self.settings.get("output", "last_hidden_state")
        names = {i.name for i in self.session.get_inputs()}
        (out,) = self.session.run([wanted], {k: v for k, v in feeds.items() if k in names})
        match self.settings["pooling"]:
            case "mean":
                return out[0].mean(axis=0)
            case "cls":
                return out[0][0]
            case "last-token":
                return out[0][-1]
            case "model":
                return out[0]
        raise SystemExit(f"unknown pooling {self.settings['pooling']}")


class Table:
    """Static token vectors: their mean, the unknown token left out."""

    def __init__(self, folder: Path, settings: dict) -> None:
        self.max_tokens = settings["max_tokens"]
        self.table = load_file(folder / "model.safetensors")["embeddings"]
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.unknown = self.tokenizer.token_to_id("[UNK]")
        # model2vec cuts characters before it cuts tokens: so many times a token's usual length.
        lengths = sorted(len(token.encode()) for token in self.tokenizer.get_vocab(with_added_tokens=False))
        self.usual = lengths[len(lengths) // 2]
        assert abs(self.usual - statistics.median(lengths)) <= 1

    def vector(self, text: str) -> np.ndarray:
        ids = self.tokenizer.encode(text[: self.max_tokens * self.usual], add_special_tokens=False).ids
        rows = [self.table[i] for i in ids[: self.max_tokens] if i != self.unknown]
        return np.mean(rows, axis=0, dtype=np.float64) if rows else np.zeros(self.table.shape[1])


def main() -> None:
    models, out = Path(sys.argv[1]), Path(sys.argv[2])
    corpus = texts()
    plan = {  # name: (precision, whether it reads Chinese)
        "gte-small": ("fp32", False),
        "minilm-fp32": ("fp32", False),
        "minilm": ("int8", False),
        "bge-small-zh": ("int8", True),
        "potion-8m": ("fp32", False),
    }
    lines = []
    for name, (precision, chinese) in plan.items():
        folder = models / name
        settings = tomllib.loads((folder / "fingerpost-model.toml").read_text(encoding="utf-8"))
        static = settings["model"].endswith(".safetensors")
        model = Table(folder, settings) if static else Encoder(folder, settings)
        rows = []
        for i, text in enumerate(corpus):
            is_chinese = any("\u4e00" <= c <= "\u9fff" for c in text)
            few = name == "minilm-fp32" and i % 5 != 1
            # Each model on its own language, and a little of the other.
            if few or (is_chinese != chinese and i % 4 != 0):
                continue
            role = "query" if len(text) < 40 else "document"
            full = settings[f"{role}_prefix"] + text[:MAX_CHARACTERS]
            vector = model.vector(full.lower() if settings["lowercase"] else full).astype(np.float64)
            norm = np.linalg.norm(vector)
            unit = vector / norm if norm > 0 else vector
            rows.append({"text": i, "role": role, "vector": [round(x * SCALE) for x in unit.tolist()]})
        head = {"name": name, "precision": precision, "dimensions": settings["dimensions"]}
        body = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows)
        lines.append(json.dumps(head)[:-1] + ',"rows":[\n' + body + "]}")
        print(f"{name}: {len(rows)} texts", file=sys.stderr)
    head = {
        "made_by": "tools/golden/embed.py",
        "versions": {p: version(p) for p in ("numpy", "onnxruntime", "safetensors", "tokenizers")},
        "scale": SCALE,
        "texts": corpus,
    }
    text = json.dumps(head, ensure_ascii=False)[:-1] + ',\n"models":[\n' + ",\n".join(lines) + "]}\n"
    out.write_text(text, encoding="utf-8")
    print(f"{out}: {len(text.encode())} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
