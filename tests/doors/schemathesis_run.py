"""Does the server do what its own description says? Asked by schemathesis, with what nobody would think of.

    python tests/doors/schemathesis_run.py target/debug/fingerpost examples/library [--examples 50]

The library is copied, since edits and compilations are asked for too. Streams of events are left out: they
end with the server. Schemathesis must be installed for this Python.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

CHECKS = ",".join(
    [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
        "negative_data_rejection",
        "positive_data_acceptance",
        "missing_required_header",
        "unsupported_method",
        "allow_header_conformance",
        "ignored_auth",
    ]
)


# What no schema can tell: a page that is drawn may break a rule of pages, and a server that was started without
# a model cannot have one write.
RULES = """
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "401", "403", "404", "409", "422", "5xx"]
"""

# The first time, only one address may refuse what its schema allows.
RULES_OF_COMPILE = """
[[operations]]
include-path = "/v1/compile"
checks.positive_data_acceptance.expected-statuses = ["2xx", "401", "403", "404", "409", "422", "5xx"]
"""

# Ids that are drawn are nobody's. With these, what lies behind them is reached.
REAL = """
[parameters]
"path.id" = "qtc-bazett"
"query.first" = "qtc-bazett"
"query.second" = "qtc-hodges"
"""


def until_ready(address: str) -> None:
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{address}readyz", timeout=5)
            return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    sys.exit("the server never became ready")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("program", type=Path)
    arguments.add_argument("library", type=Path)
    arguments.add_argument("--examples", type=int, default=50)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "library"
        shutil.copytree(given.library, library, ignore=shutil.ignore_patterns(".fingerpost"))
        command = [given.program.resolve(), "serve", "--library", library, "--port", "0"]
        # Nothing of whoever runs this: neither a home, nor a token, nor a model that costs.
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("FINGERPOST_", "XDG_"))}
        server = subprocess.Popen(
            [*command, "--print-token", "--quiet"],
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
            env={**kept, "HOME": folder},
        )
        try:
            line = server.stdout.readline().strip()
            address, token = line.split("#token=")
            until_ready(address)
            schemathesis = [Path(sys.executable).parent / "schemathesis"]
            asked = [
                "run",
                f"{address}openapi.json",
                *("--header", f"Authorization: Bearer {token}"),
                *("--checks", CHECKS),
                *("--phases", "examples,coverage,fuzzing"),
                *("--max-examples", str(given.examples)),
                *("--exclude-path-regex", "/events$"),
                *("--seed", "42"),
                *("--request-timeout", "60"),
            ]
            first, second = Path(folder) / "first.toml", Path(folder) / "second.toml"
            first.write_text(RULES_OF_COMPILE)
            second.write_text(REAL + RULES)
            only = ["--include-path-regex", "[{]id[}]|/compare$"]
            runs = [
                [*schemathesis, "--config-file", first, *asked],
                [*schemathesis, "--config-file", second, *asked, *only],
            ]
            codes = [subprocess.run(run, cwd=folder).returncode for run in runs]
            if server.poll() is not None:
                sys.exit(f"the server ended with {server.returncode}")
        finally:
            server.terminate()
            server.wait(30)
        sys.exit(max(codes))


if __name__ == "__main__":
    main()
