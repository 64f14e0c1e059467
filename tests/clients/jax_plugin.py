"""Runs the tests of the Python package that run JAX's features on the plugin.

usage: jax_plugin.py LIBRARY        libsystole_pjrt.so. Exit status: pytest's.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

if __name__ == "__main__":
    os.environ["SYSTOLE_PJRT_LIBRARY"] = str(Path(sys.argv[1]).resolve())
    sys.path.insert(0, str(ROOT / "python"))
    os.environ["PYTHONPATH"] = str(ROOT / "python")  # of the processes that tests start
    import pytest

    tests = ROOT / "python/tests"
    # Those of TensorFlow 1 are python_tests.py's.
    sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", f"--ignore-glob={tests}/test_tensorflow_*", str(tests)]))
