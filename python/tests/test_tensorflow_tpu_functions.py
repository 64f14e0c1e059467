"""Computations on the cores of a TPU in a program's own session."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("systole_tpu._core")
import systole_tpu.tensorflow as tf


@pytest.fixture
def session():
    with tf.Graph().as_default(), tf.Session("local:v2-8") as made:
        yield made


def test_rewrite_gives_a_list(session):
    def axy(a, x, y):
        return a * x + y

    x = np.arange(3, dtype=np.float32)
    results = tf.contrib.tpu.rewrite(axy, [tf.constant(2.0), tf.constant(x), x])
    session.run(tf.contrib.tpu.initialize_system())
    np.testing.assert_array_equal(session.run(results)[0], 3 * x)
    assert tf.contrib.tpu.rewrite is tf.tpu.rewrite


def test_rewrite_of_a_training_step(session):
    w = tf.get_variable("w", [3], initializer=tf.ones_initializer())

    def step(x):
        loss = tf.reduce_sum(w * x)
        return loss, tf.train.GradientDescentOptimizer(0.5).minimize(loss)

    def steps():
        return tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(w))

    loss = tf.tpu.rewrite(step, [tf.constant([1.0, 2.0, 4.0])])
    alone = tf.tpu.rewrite(steps)
    session.run(tf.global_variables_initializer())
    assert session.run(loss) == [7.0]
    np.testing.assert_array_equal(session.run(w), [0.5, 0.0, -1.0])
    session.run(alone)
    np.testing.assert_array_equal(session.run(w), [-0.5, -1.0, -2.0])


def test_replicas_and_shards(session):
    def total(x):
        return {"sum": tf.tpu.cross_replica_sum(tf.reduce_sum(x)), "own": [tf.reduce_max(x)]}

    replicas = tf.contrib.tpu.replicate(total, [[tf.constant([1.0, 2.0])], [tf.constant([3.0, 4.0])]])
    assert session.run(replicas) == [{"sum": 10.0, "own": [2.0]}, {"sum": 10.0, "own": [4.0]}]
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    (doubled,) = session.run(tf.contrib.tpu.shard(lambda v: v * 2, [tf.constant(x)], num_shards=2))
    np.testing.assert_array_equal(doubled, 2 * x)
    (one,) = session.run(tf.contrib.tpu.batch_parallel(lambda v: v + 1, [tf.constant(x)], 4))
    np.testing.assert_array_equal(one, x + 1)
    with pytest.raises(NotImplementedError, match=r"outputs_from_all_shards, got \[True, False\], expected"):
        tf.tpu.shard(lambda v: (v, v), [tf.constant(x)], 2, outputs_from_all_shards=[True, False])


def test_loops_and_the_host(session):
    def computation(x):
        tripled = tf.contrib.tpu.repeat(3, lambda v: v * 2, [x])
        return tripled, tf.contrib.tpu.outside_compilation(lambda v: v + 1, x)

    assert session.run(tf.tpu.rewrite(computation, [tf.constant(1.5)])) == [12.0, 2.5]


def test_bad_replicas(session):
    with pytest.raises(ValueError, match=r"replica|inputs"):
        tf.tpu.replicate(lambda x: x, [[tf.constant(1.0)], [tf.constant([1.0])]])
