"""Losses and files of programs are TensorFlow's own: SYSTOLE_TENSORFLOW_PYTHON is a Python with TensorFlow 2.15."""

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
EXCHANGE = Path(__file__).with_name("tensorflow_exchange.py")
ORACLE = os.environ.get("SYSTOLE_TENSORFLOW_PYTHON")
OPTIMIZERS = (
    "sgd", "momentum", "nesterov", "adam", "adagrad", "adadelta", "rmsprop", "rmsprop_centered", "ftrl", "ftrl_l1",
    "proximal_sgd", "proximal_adagrad", "adagrad_da",
)  # fmt: skip
# SYSTOLE_ORACLE_SAMPLE: what is compared takes a minute less.
COMPARED = ("adam",) if os.environ.get("SYSTOLE_ORACLE_SAMPLE") else OPTIMIZERS

# TensorFlow 2.15 has TensorFlow 1 under another name.
_AS_TENSORFLOW_1 = """
import runpy, sys
import tensorflow.compat.v1 as tf
tf.disable_v2_behavior()
sys.modules["tensorflow"] = tf
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
with_oracle = pytest.mark.skipif(
    ORACLE is None, reason="SYSTOLE_TENSORFLOW_PYTHON names no Python with TensorFlow 2.15"
)


def tensorflow(*words):
    """What a program prints last, in TensorFlow."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    run = subprocess.run(
        [ORACLE, "-c", _AS_TENSORFLOW_1, *map(str, words)],
        capture_output=True, text=True, timeout=600, env={**environment, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr[-3000:]
    return json.loads(run.stdout.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def programs():
    from systole_tpu import _hook

    _hook.install()
    return runpy.run_path(str(PROGRAMS))


@pytest.fixture(scope="module")
def exchange(programs):
    return runpy.run_path(str(EXCHANGE))


@pytest.fixture(scope="module")
def expected():
    return tensorflow(PROGRAMS, *COMPARED)


def test_the_programs_have_every_optimizer(programs):
    assert tuple(programs["OPTIMIZERS"]) == OPTIMIZERS


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_losses_are_finite(programs, optimizer):
    assert np.isfinite(programs["train"]("mlp", optimizer, steps=5)).all()


@with_oracle
@pytest.mark.parametrize("optimizer", COMPARED)
@pytest.mark.parametrize("model", ["mlp", "cnn", "lstm", "bert"])
def test_losses_are_those_of_tensorflow(programs, expected, model, optimizer):
    np.testing.assert_allclose(programs["train"](model, optimizer), expected[f"{model} {optimizer}"], rtol=1e-5)


def check_equal(found, wanted):
    assert found["records"] == wanted["records"]
    for key in ("losses", "after", "logits"):
        np.testing.assert_allclose(found[key], wanted[key], rtol=1e-5, atol=1e-6, err_msg=key)


def test_files_are_read_back(exchange, tmp_path):
    wanted = exchange["write"](str(tmp_path))
    check_equal(exchange["read"](str(tmp_path)), wanted)


@with_oracle
@pytest.mark.parametrize(("model", "optimizer"), [("mlp", "adam"), ("bert", "adagrad_da"), ("cnn", "ftrl")])
def test_tensorflow_reads_our_files(exchange, tmp_path, model, optimizer):
    wanted = exchange["write"](str(tmp_path), model, optimizer)
    check_equal(tensorflow(EXCHANGE, "read", tmp_path, model, optimizer), wanted)


@with_oracle
@pytest.mark.parametrize(("model", "optimizer"), [("mlp", "adam"), ("bert", "adagrad_da"), ("cnn", "ftrl")])
def test_our_package_reads_files_of_tensorflow(exchange, tmp_path, model, optimizer):
    wanted = tensorflow(EXCHANGE, "write", tmp_path, model, optimizer)
    check_equal(exchange["read"](str(tmp_path), model, optimizer), wanted)
