"""What a person at a prompt sees: help, completion, reprs, stubs."""

from __future__ import annotations

import ast
import inspect
import pydoc
import runpy
from pathlib import Path

import pytest

pytest.importorskip("systole_tpu._core")
import systole_tpu.tensorflow as tf

STUBS = Path(__file__).parents[1] / "make_stubs.py"


@pytest.fixture(autouse=True)
def new_graph():
    tf.reset_default_graph()


def test_help_shows_arguments_and_says_what_a_function_does():
    text = pydoc.render_doc(tf.nn.conv2d, renderer=pydoc.plaintext)
    assert "conv2d(input, filter=None, strides=None, padding=None" in text
    assert "[batch, height, width, in]" in text
    text = pydoc.render_doc(tf.losses.huber_loss, renderer=pydoc.plaintext)
    assert "huber_loss(labels, predictions, weights=1.0, delta=1.0" in text


def test_every_function_has_documentation():
    without = [
        f"{module.__name__}.{name}"
        for module in (tf, tf.nn, tf.layers, tf.losses, tf.metrics, tf.math, tf.train, tf.image)
        for name, value in vars(module).items()
        if callable(value) and not name.startswith("_") and not inspect.getdoc(value)
    ]
    assert without == []


def test_completion():
    assert {"conv2d", "relu", "softmax", "dynamic_rnn"} <= set(dir(tf.nn))
    assert {"placeholder", "Session", "nn", "train", "contrib"} <= set(dir(tf))


def test_reprs_are_those_of_tensorflow():
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    w = tf.get_variable("w", [4, 2])
    assert repr(x) == "<tf.Tensor 'x:0' shape=(?, 4) dtype=float32>"
    assert str(x) == 'Tensor("x:0", shape=(?, 4), dtype=float32)'
    assert repr(w) == "<tf.Variable 'w:0' shape=(4, 2) dtype=float32_ref>"
    assert repr(x.op) == "<tf.Operation 'x' type=Placeholder>"
    assert repr(tf.float32) == "tf.float32"
    assert str(tf.float32) == "<dtype: 'float32'>"
    assert repr(x.shape) == "TensorShape([Dimension(None), Dimension(4)])"
    assert str(x.shape) == "(?, 4)"
    assert repr(x.shape[1]) == "Dimension(4)"


def test_stubs_have_every_name(tmp_path):
    assert runpy.run_path(str(STUBS))["write"](tmp_path) > 20
    for file in tmp_path.rglob("*.pyi"):
        ast.parse(file.read_text(encoding="utf-8"))
    nn = ast.parse((tmp_path / "tensorflow/nn/__init__.pyi").read_text(encoding="utf-8"))
    functions = {node.name: node for node in nn.body if isinstance(node, ast.FunctionDef)}
    assert set(functions) >= {"conv2d", "relu", "softmax_cross_entropy_with_logits"}
    assert [a.arg for a in functions["relu"].args.args] == ["features", "name"]
    assert ast.get_docstring(functions["relu"])
