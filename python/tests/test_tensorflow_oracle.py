"""The losses of programs are TensorFlow's own: SYSTOLE_TENSORFLOW_PYTHON is a Python with TensorFlow 2.15."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("systole_tpu._core")
PROGRAMS = Path(__file__).with_name("tensorflow_programs.py")
ORACLE = os.environ.get("SYSTOLE_TENSORFLOW_PYTHON")

# TensorFlow 2.15 has TensorFlow 1 under another name.
_AS_TENSORFLOW_1 = """
import runpy, sys
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
sys.modules["tensorflow"] = tf
runpy.run_path(sys.argv[1], run_name="__main__")
"""


@pytest.fixture(scope="module")
def programs():
    from systole_tpu import _hook

    _hook.install()
    return runpy.run_path(str(PROGRAMS))


@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adam", "adagrad", "adadelta", "rmsprop", "ftrl"])
def test_losses_fall(programs, optimizer):
    losses = programs["train"]("mlp", optimizer, steps=5)
    assert np.isfinite(losses).all()


@pytest.mark.skipif(ORACLE is None, reason="SYSTOLE_TENSORFLOW_PYTHON names no Python with TensorFlow 2.15")
def test_losses_are_those_of_tensorflow(programs):
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    run = subprocess.run(
        [ORACLE, "-c", _AS_TENSORFLOW_1, str(PROGRAMS)],
        capture_output=True, text=True, check=True, timeout=300, env={**environment, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )  # fmt: skip
    expected = json.loads(run.stdout.strip().splitlines()[-1])
    for name, losses in expected.items():
        model, optimizer = name.split()
        np.testing.assert_allclose(programs["train"](model, optimizer), losses, rtol=1e-5, err_msg=name)
