"""Ctrl-C and SIGTERM: what a program sees of them, and what is saved."""

from __future__ import annotations

import pytest

pytest.importorskip("systole_tpu._core")
from processes import python

# send(signal) is what a shell or an operator does.
BEGIN = """
import os, signal, sys, tempfile
import numpy as np
import systole_tpu.tensorflow as tf
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background process ignores it
def send(name):
    os.kill(os.getpid(), getattr(signal, name))
"""
KERAS = (
    BEGIN
    + """
class Stop(tf.keras.callbacks.Callback):
    def __init__(self, name):
        super().__init__()
        self.name, self.batches = name, 0
    def on_batch_end(self, batch, logs=None):
        self.batches += 1
        if self.batches == 3:
            send(self.name)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
model.compile("sgd", "mse")
x, y = np.ones((64, 2), np.float32), np.ones((64, 1), np.float32)
def fit(name):
    stop = Stop(name)
    try:
        model.fit(x, y, batch_size=4, epochs=100, verbose=0, callbacks=[stop])
    finally:
        print("batches", stop.batches)
"""
)
ESTIMATOR = (
    BEGIN
    + """
def model_fn(features, labels, mode):
    w = tf.get_variable("w", [])
    loss = tf.reduce_mean(tf.square(features * w - labels))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(loss, tf.train.get_or_create_global_step())
    return tf.estimator.EstimatorSpec(mode, w, loss, step)
def input_fn():
    return tf.data.Dataset.from_tensors((np.ones(1, np.float32), np.ones(1, np.float32))).repeat()
class Stop(tf.train.SessionRunHook):
    def __init__(self, name):
        self.name, self.runs = name, 0
    def after_run(self, context, values):
        self.runs += 1
        if self.runs == 3:
            send(self.name)
estimator = tf.estimator.Estimator(model_fn, tempfile.mkdtemp())
"""
)


def test_ctrl_c_ends_fit_and_another_fit_trains():
    status, text = python(
        KERAS
        + """
try:
    fit("SIGINT")
except KeyboardInterrupt:
    print("interrupted")
print(len(model.fit(x, y, epochs=2, verbose=0).epoch))
"""
    )
    assert status == 0 and text.startswith("batches 3\ninterrupted\n2\n"), text
    assert "refused" not in text


def test_sigterm_ends_fit_and_the_program():
    status, text = python(KERAS + 'fit("SIGTERM")\nprint("not reached")\n')
    assert status == 75, text  # "temporary failure": it may be started again
    assert "batches 3\n" in text and "not reached" not in text and "Traceback" not in text, text


def test_the_end_by_a_signal_is_an_exception():
    status, text = python(
        KERAS
        + """
try:
    fit("SIGTERM")
except SystemExit as end:
    print("status", end.code)
"""
    )
    assert status == 0 and text.startswith("batches 3\nstatus 75\n"), text


def test_ctrl_c_ends_a_training_which_is_saved():
    status, text = python(
        ESTIMATOR
        + """
try:
    estimator.train(input_fn, hooks=[Stop("SIGINT")])
except KeyboardInterrupt:
    print("interrupted at", int(estimator.get_variable_value("global_step")))
estimator.train(input_fn, steps=2)
print(int(estimator.get_variable_value("global_step")))
"""
    )
    first, second, *_ = text.splitlines()
    assert status == 0 and first.startswith("interrupted at "), text
    step = int(first.rpartition(" ")[2])
    assert 3 <= step < 1000 and int(second) == step + 2, text  # hooks see a step when others are under way


def test_sigterm_ends_a_training_and_the_program():
    status, text = python(
        ESTIMATOR
        + """
try:
    estimator.train(input_fn, hooks=[Stop("SIGTERM")])
finally:
    print("saved", int(estimator.latest_checkpoint().rpartition("-")[2]) >= 3)
"""
    )
    assert status == 75 and text.startswith("saved True\n"), text


def test_ctrl_c_ends_an_evaluation():
    status, text = python(
        ESTIMATOR
        + """
estimator.train(input_fn, steps=1)
try:
    estimator.evaluate(input_fn, hooks=[Stop("SIGINT")])
except KeyboardInterrupt:
    print("interrupted")
"""
    )
    assert status == 0 and text.startswith("interrupted\n"), text


def test_ctrl_c_ends_a_loop_with_an_exception_of_the_program():
    status, text = python(
        BEGIN
        + """
import threading
x = tf.constant(1.0) + 1
with tf.Session() as session:
    threading.Timer(0.5, send, ["SIGINT"]).start()
    while True:
        session.run(x)
"""
    )
    assert "KeyboardInterrupt" in text and status != 0, text
