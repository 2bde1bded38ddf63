"""Makes the table of word vectors that is part of the program.

    python tools/lexicon.py FOLDER crates/fingerpost/src/embedding/lexicon/words.bin

FOLDER holds potion-base-8M as `fingerpost model pull potion-8m` fetches it (`fingerpost model path potion-8m`
says where). Kept are pieces of ASCII letters and digits, of each vector the first 128 dimensions (they are principal
components), a byte a number. The same input gives the same bytes.

The file, little-endian: "fplexic1", number of pieces, dimensions (u32 each), a scale a piece (f32), the rows (i8), where
each piece ends in the text (u32), and the text: all pieces, sorted, one after another; "##" begins a piece that goes on.
"""

import hashlib
import json
import re
import struct
import sys
from pathlib import Path

import numpy

SHA256 = "f65d0f325faadc1e121c319e2faa41170d3fa07d8c89abd48ca5358d9a223de2"
DIMENSIONS = 128


def weights(file: Path) -> numpy.ndarray:
    packed = file.read_bytes()
    found = hashlib.sha256(packed).hexdigest()
    if found != SHA256:
        sys.exit(f"{file} is not potion-base-8M: its sha256 is {found}, not {SHA256}")
    size = struct.unpack("<Q", packed[:8])[0]
    (tensor,) = [value for name, value in json.loads(packed[8 : 8 + size]).items() if name != "__metadata__"]
    start, end = tensor["data_offsets"]
    return numpy.frombuffer(packed[8 + size + start : 8 + size + end], "<f4").reshape(tensor["shape"])


def main(folder: Path, out: Path) -> None:
    table = weights(folder / "model.safetensors")[:, :DIMENSIONS]
    vocabulary = json.loads((folder / "tokenizer.json").read_text("utf-8"))["model"]["vocab"]
    pieces = sorted(piece for piece in vocabulary if re.fullmatch(r"(##)?[a-z0-9]+", piece))
    rows = table[[vocabulary[piece] for piece in pieces]]
    scales = (numpy.abs(rows).max(axis=1) / 127).astype("<f4")
    scales[scales == 0] = 1
    numbers = numpy.rint(rows / scales[:, None]).astype("i1")
    ends = numpy.cumsum([len(piece) for piece in pieces]).astype("<u4")
    head = b"fplexic1" + struct.pack("<II", len(pieces), DIMENSIONS)
    text = "".join(pieces).encode("ascii")
    out.write_bytes(head + scales.tobytes() + numbers.tobytes() + ends.tobytes() + text)
    print(f"{len(pieces)} pieces, {out.stat().st_size} bytes")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(Path(sys.argv[1]), Path(sys.argv[2]))
