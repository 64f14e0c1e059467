"""signatures.txt: its functions are there, and have TensorFlow's arguments in TensorFlow's order."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("systole_tpu._core")
import systole_tpu.tensorflow as tf

ORACLE = os.environ.get("SYSTOLE_TENSORFLOW_PYTHON")
_LINES = (Path(tf.__file__).parent / "signatures.txt").read_text(encoding="utf-8").splitlines()
NAMES = [line.partition("(")[0] for line in _LINES if line and not line.startswith("#")]

# Prints {name: [arguments]} of the names that it reads.
_ARGUMENTS = """
import inspect, json, sys
import tensorflow.compat.v1 as tf
found = {}
for name in json.load(sys.stdin):
    value = tf
    for part in name.split("."):
        value = getattr(value, part, None)
    if value is not None:
        found[name] = list(inspect.signature(value).parameters)
print(json.dumps(found))
"""


# Arguments that came after 1.15.
_LATER = {
    "linalg.diag_part": ["align"],
    "matrix_diag_part": ["align"],
    "linalg.matmul": ["output_type"],
    "matmul": ["output_type"],
}


def arguments(name):
    value = tf
    for part in name.split("."):
        value = getattr(value, part)
    return list(inspect.signature(value).parameters)


def test_functions_are_there_with_their_documentation():
    for name in NAMES:
        assert arguments(name) is not None, name
    assert "product" in tf.matmul.__doc__.lower() or tf.matmul.__doc__
    assert arguments("reduce_mean") == ["input_tensor", "axis", "keepdims", "name", "reduction_indices", "keep_dims"]


@pytest.mark.skipif(ORACLE is None, reason="SYSTOLE_TENSORFLOW_PYTHON names no Python with TensorFlow 2.15")
def test_arguments_are_those_of_tensorflow():
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    run = subprocess.run(
        [ORACLE, "-c", _ARGUMENTS], input=json.dumps(NAMES), capture_output=True, text=True, check=True, timeout=120,
        env={**environment, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )  # fmt: skip
    expected = json.loads(run.stdout.strip().splitlines()[-1])
    assert len(expected) > 250
    differ = {}
    for name, names in expected.items():
        # 1.15 has one argument before, against calls by position.
        others = ("_sentinel", *_LATER.get(name, ()))
        got, wanted = ([a for a in found if a not in others] for found in (arguments(name), names))
        if got != wanted:
            differ[name] = (got, wanted)
    assert not differ
