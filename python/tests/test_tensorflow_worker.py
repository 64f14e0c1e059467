"""Sessions on a worker."""

from __future__ import annotations

import os
import subprocess

import numpy as np
import pytest

pytest.importorskip("systole_tpu._core")
import systole_tpu.tensorflow as tf

COMMAND = os.environ.get("SYSTOLE_COMMAND")


@pytest.fixture
def worker():
    if not COMMAND:
        pytest.skip("SYSTOLE_COMMAND names no systole")
    process = subprocess.Popen([COMMAND, "worker", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    try:
        yield process.stdout.readline().split()[-1]
    finally:
        process.kill()  # SIGTERM would wait for its clients
        process.wait()


def test_a_session_trains_on_a_worker(worker):
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 4])
        w = tf.get_variable("w", [4, 3], initializer=tf.ones_initializer())
        y = tf.matmul(x, w)
        step = tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(y))
        with tf.Session(f"grpc://{worker}") as session:
            session.run(tf.global_variables_initializer())
            session.run(step, {x: np.ones((2, 4), np.float32)})
            np.testing.assert_array_equal(session.run(w), np.zeros((4, 3)))
