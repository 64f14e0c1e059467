"""Runs tests of the Python package's TensorFlow 1 with the extension module that the build has made.

usage: python_tests.py [FILE...]        of python/tests, by default all of TensorFlow's. Exit status: pytest's, or 77
where the build made no module. Where the client keras2 is installed, its TensorFlow 2.15 is the oracle
(SYSTOLE_TENSORFLOW_PYTHON): of a sample where files are named.
       python_tests.py --table PAGE     runs all, and writes the page about the names of TensorFlow before
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "python/tests"
ORACLE = ROOT / "build/clients/keras2/bin/python"


def main(words: list[str]) -> int:
    package = ROOT / "python"
    sys.path.insert(0, str(package))
    os.environ["PYTHONPATH"] = str(package)  # of the processes that tests start
    os.environ.setdefault("SYSTOLE_COMMAND", str(ROOT / "build/release/bin/systole"))
    if not list(package.glob("systole_tpu/_core*.so")):
        print("skipped: the build has no module systole_tpu/_core: it needs the headers of Python (python3-dev)")
        return 77
    if ORACLE.exists():
        os.environ.setdefault("SYSTOLE_TENSORFLOW_PYTHON", str(ORACLE))
    if words[:1] == ["--table"]:
        subprocess.run([sys.executable, str(TESTS / "api/compare.py"), *words], check=True)
        words = words[2:]
    elif words:
        os.environ["SYSTOLE_ORACLE_SAMPLE"] = "1"
    import pytest

    files = [str(TESTS / name) for name in words] or sorted(map(str, TESTS.glob("test_tensorflow_*.py")))
    return int(pytest.main(["-q", "-p", "no:cacheprovider", *files]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
