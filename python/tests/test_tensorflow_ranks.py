"""Placeholders without a shape: runs feed them numbers, vectors and matrices."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("systole_tpu._core")
import systole_tpu.tensorflow as tf


@pytest.fixture(autouse=True)
def _graph():
    tf.reset_default_graph()


def test_values_of_any_rank():
    a, b = tf.placeholder(tf.float32), tf.placeholder(tf.float32, name="b")
    total = a + b
    triple = total * 3.0
    with tf.Session() as session:
        assert session.run(triple, {a: 3, b: 4.5}) == 22.5
        np.testing.assert_array_equal(session.run(triple, {a: [1, 3], b: [2, 4]}), [9, 21])
        np.testing.assert_array_equal(session.run(total, {a: np.ones((2, 3)), b: 1}), np.full((2, 3), 2))
        nested = session.run({"sum": total, "all": [triple, a]}, {a: [[1.0]], "b:0": [2.0]})
        np.testing.assert_array_equal(nested["sum"], [[3]])
        np.testing.assert_array_equal(nested["all"][0], [[9]])
        np.testing.assert_array_equal(nested["all"][1], [[1]])
        assert session.run(triple, {a: 1, b: 1}) == 6


def test_one_program_trains_on_numbers_and_on_vectors():
    rng = np.random.RandomState(1)
    xs = rng.randn(17).astype(np.float32)
    ys = (2 * xs + 1).astype(np.float32)
    x, y = tf.placeholder("float"), tf.placeholder("float")
    w, b = tf.Variable(0.5, name="weight"), tf.Variable(0.0, name="bias")
    cost = tf.reduce_sum(tf.pow(x * w + b - y, 2)) / (2 * 17)
    one = tf.train.GradientDescentOptimizer(0.1).minimize(cost)
    adam = tf.train.AdamOptimizer(0.01).minimize(cost)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        wanted = np.array([0.5, 0.0])
        for one_x, one_y in zip(xs, ys, strict=True):
            session.run(one, {x: one_x, y: one_y})
            error = wanted[0] * one_x + wanted[1] - one_y
            wanted -= 0.1 / 17 * error * np.array([one_x, 1.0])
        np.testing.assert_allclose(session.run([w, b]), wanted, rtol=1e-5)
        for _ in range(5):
            session.run(one, {x: xs, y: ys})
            error = wanted[0] * xs + wanted[1] - ys
            wanted -= 0.1 / 17 * np.array([np.sum(error * xs), np.sum(error)])
        np.testing.assert_allclose(session.run([w, b]), wanted, rtol=1e-5)
        error = wanted[0] * xs + wanted[1] - ys
        assert session.run(cost, {x: xs, y: ys}) == pytest.approx(np.sum(error**2) / 34, rel=1e-4)
        before = session.run(w)
        session.run(adam, {x: xs, y: ys})
        assert abs(session.run(w) - before) == pytest.approx(0.01, rel=1e-3)


def test_means_and_their_gradients_count_what_is_fed():
    x = tf.placeholder(tf.float32)
    w = tf.Variable(2.0)
    mean = tf.reduce_mean(x * w)
    (gradient,) = tf.gradients(mean, [w])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([mean, gradient], {x: [[1, 2], [3, 6]]}) == [6, 3]
        assert session.run([mean, gradient], {x: 5}) == [10, 5]


def test_ops_that_need_axes_are_built_for_those():
    x = tf.placeholder(tf.float32)
    w = tf.constant(np.arange(6, dtype=np.float32).reshape(3, 2))
    product = tf.nn.softmax(tf.matmul(x * 2.0, w))
    first = x[0]
    best = tf.argmax(product, 1)
    rows = np.array([[1, 0, 0], [0, 0.5, 0]], np.float32)
    with tf.Session() as session:
        logits = 2 * rows @ np.arange(6).reshape(3, 2)
        wanted = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        np.testing.assert_allclose(session.run(product, {x: rows}), wanted, rtol=1e-6)
        np.testing.assert_array_equal(session.run(best, {x: rows}), [1, 1])
        np.testing.assert_array_equal(session.run(first, {x: [7.0, 8.0]}), 7)


def test_a_rank_that_does_not_fit_is_an_error():
    x = tf.placeholder(tf.float32, name="x")
    joined = tf.concat([tf.stack([x, x]), [1.0]], 0)
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(joined, {x: 2}), [2, 2, 1])
        with pytest.raises(ValueError, match="ConcatV2"):
            session.run(joined, {x: [1, 2]})
        with pytest.raises(TypeError, match=r"cannot be a tf\.Tensor object"):
            session.run(joined, {x: joined})


def test_scalars_stay_scalars():
    keep, training = tf.placeholder(tf.float32), tf.placeholder(tf.bool)
    dropped = tf.nn.dropout(tf.ones([4, 4]), keep)
    chosen = tf.cond(training, lambda: tf.constant(1), lambda: tf.constant(2))
    rate = tf.placeholder(tf.float32)
    w = tf.Variable(1.0)
    step = tf.train.GradientDescentOptimizer(rate).minimize(w * 2.0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(dropped, {keep: 1.0}), np.ones((4, 4)))
        assert session.run(chosen, {training: False}) == 2
        session.run(step, {rate: 0.25})
        assert session.run(w) == 0.5
