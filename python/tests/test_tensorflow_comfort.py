"""What a person at a prompt sees: help, completion, reprs, stubs."""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import pydoc
import runpy
import sys
from pathlib import Path

import numpy as np
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


def test_progress_goes_where_sys_stdout_does(monkeypatch):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    model.compile("sgd", "mse")
    x, y = np.ones((64, 2), np.float32), np.ones((64, 1), np.float32)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        model.fit(x, y, epochs=2, validation_data=(x, y))
    lines = out.getvalue().splitlines()
    assert lines[0] == "Train on 64 samples, validate on 64 samples"
    assert lines[1].startswith("Epoch 1/2 64/64 [==============================] - ") and "val_loss" in lines[1]
    # A notebook's object is no terminal, and shows a bar that is drawn over itself.
    monkeypatch.setitem(sys.modules, "ipykernel", None)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        model.evaluate(x, y, batch_size=1, verbose=1)
        model.predict(x, verbose=0)
    assert out.getvalue().startswith("\r 1/64 [") and "\r64/64 [" in out.getvalue() and out.getvalue().endswith("\n")
