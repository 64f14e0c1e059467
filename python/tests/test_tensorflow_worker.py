"""Sessions on a worker."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time

import numpy as np
import pytest

pytest.importorskip("systole_tpu._core")
import systole_tpu.tensorflow as tf

COMMAND = os.environ.get("SYSTOLE_COMMAND")


@contextlib.contextmanager
def serving():
    """A worker's process and its address."""
    if not COMMAND:
        pytest.skip("SYSTOLE_COMMAND names no systole")
    process = subprocess.Popen([COMMAND, "worker", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
    try:
        yield process, process.stdout.readline().split()[-1]
    finally:
        process.kill()  # SIGTERM would wait for its clients
        process.wait()


@pytest.fixture
def worker():
    with serving() as (_, address):
        yield address


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


def kinds(session):
    return [(device.device_type, device.name) for device in session.list_devices()]


def test_devices_of_sessions(worker):
    with tf.Graph().as_default():
        with tf.Session() as session:
            assert kinds(session) == [("CPU", "/job:localhost/replica:0/task:0/device:CPU:0")]
        with tf.Session("local:v2-8") as session:
            found = kinds(session)
            assert [kind for kind, _ in found] == ["CPU"] + ["TPU"] * 8
            assert found[-1][1] == "/job:localhost/replica:0/task:0/device:TPU:7"
            assert session.list_devices()[1].memory_limit_bytes > 2**32
        with tf.Session(f"grpc://{worker}") as session:
            found = kinds(session)
            assert found[1] == ("TPU", "/job:worker/replica:0/task:0/device:TPU:0")
            assert {kind for kind, _ in found[1:]} == {"TPU"}


class AtStep(tf.train.SessionRunHook):
    """Calls a function after a step."""

    def __init__(self, step, function):
        self._left, self._function = step, function

    def after_run(self, run_context, run_values):
        self._left -= 1
        if self._left == 0:
            self._function()


def train(address, folder, hooks=()):
    def model_fn(features, labels, mode, params):
        loss = tf.losses.sparse_softmax_cross_entropy(labels, tf.layers.dense(features, 3))
        optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(0.1))
        step = tf.train.get_global_step()
        return tf.contrib.tpu.TPUEstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, step))

    def input_fn(params):
        arrays = (np.zeros((8, 4), np.float32), np.zeros(8, np.int32))
        return tf.data.Dataset.from_tensor_slices(arrays).repeat().batch(params["batch_size"], drop_remainder=True)

    config = tf.contrib.tpu.RunConfig(
        master=f"grpc://{address}", model_dir=str(folder), tpu_config=tf.contrib.tpu.TPUConfig(2, num_shards=1)
    )
    estimator = tf.contrib.tpu.TPUEstimator(model_fn, config=config, train_batch_size=8)
    estimator.train(input_fn, steps=20, hooks=list(hooks))
    return int(estimator.get_variable_value("global_step"))


def test_training_goes_on_after_a_workers_end(tmp_path):
    with serving() as (first, address), serving() as (_, other):

        def end():
            first.terminate()
            time.sleep(1)  # until the notice has come

        with pytest.raises(SystemExit) as stopped:
            train(address, tmp_path, [AtStep(3, end)])
        assert stopped.value.code == 75
        stopped_at = int(tf.train.load_variable(tf.train.latest_checkpoint(str(tmp_path)), "global_step"))
        assert stopped_at < 20
        assert train(other, tmp_path) == stopped_at + 20
        assert train(other, tmp_path) == stopped_at + 40
