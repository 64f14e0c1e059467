"""tf.contrib.factorization.KMeans, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("systole_tpu._core")
import systole_tpu.tensorflow as tf
from systole_tpu.tensorflow.contrib.factorization import KMeans


@pytest.fixture(autouse=True)
def _graph():
    tf.reset_default_graph()


def rows(seed=0, count=90):
    rng = np.random.RandomState(seed)
    return (rng.randn(count, 2) + 6.0 * rng.randint(-1, 2, (count, 1)) + 9).astype(np.float32)


def unit(x):
    return x / np.sqrt(np.sum(x * x, 1, keepdims=True))


def nearest(x, centers, cosine):
    if cosine:
        return 1 - x @ unit(centers).T
    return np.sum((x[:, None] - centers[None]) ** 2, 2)


def step(x, centers, counts, cosine, mini):
    at = np.argmin(nearest(x, centers, cosine), 1)
    for c in range(len(centers)):
        own = x[at == c]
        if mini:
            counts[c] += len(own)
            centers[c] += (own.sum(0) - len(own) * centers[c]) / counts[c]
        else:
            centers[c] = own.sum(0) / (len(own) + 1e-6)
    if cosine and not mini:
        centers[:] = unit(centers)


@pytest.mark.parametrize("metric", ["squared_euclidean", "cosine"])
@pytest.mark.parametrize("mini", [False, True])
def test_steps_are_those_of_the_formula(metric, mini):
    cosine, data = metric == "cosine", rows()
    first = data[[0, 30, 60]]
    x = tf.placeholder(tf.float32, [None, 2])
    graph = KMeans(x, 3, initial_clusters=first, distance_metric=metric, use_mini_batch=mini).training_graph()
    all_scores, indices, scores, started, init_op, train_op = graph
    centers, counts = (unit(first) if cosine else first).astype(np.float64), np.ones(3)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert not session.run(started)
        session.run(init_op, {x: data})
        assert session.run(started)
        for _ in range(3):
            fetched = session.run([train_op, all_scores[0], indices[0], scores[0]], {x: data})
            fed = (unit(data) if cosine else data).astype(np.float64)
            distances = nearest(fed, centers, cosine)
            np.testing.assert_allclose(fetched[1], distances, rtol=1e-3, atol=1e-4)
            np.testing.assert_array_equal(fetched[2], np.argmin(distances, 1))
            np.testing.assert_allclose(fetched[3], np.min(distances, 1), rtol=1e-3, atol=1e-4)
            step(fed, centers, counts, cosine, mini)
        variable = tf.global_variables()[0]
        np.testing.assert_allclose(session.run(variable), centers, rtol=1e-4)


def test_random_first_centers_are_rows():
    data = rows(1)
    x = tf.placeholder(tf.float32, [None, 2])
    *_, init_op, train_op = KMeans(x, 5, use_mini_batch=True, random_seed=3).training_graph()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(init_op, {x: data})
        centers = session.run(tf.global_variables()[0])
        assert all(any(np.array_equal(c, row) for row in data) for c in centers)
        session.run(train_op, {x: data})
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(init_op, {x: data[:4]})


def test_updates_that_wait_for_several_steps():
    data = rows(2)
    x = tf.placeholder(tf.float32, [None, 2])
    kmeans = KMeans(x, 3, initial_clusters=data[:3], use_mini_batch=True, mini_batch_steps_per_iteration=2)
    *_, init_op, train_op = kmeans.training_graph()
    centers = tf.global_variables()[0]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(init_op, {x: data})
        seen = []
        for _ in range(5):
            session.run(train_op, {x: data})
            seen.append(session.run(centers))
        assert np.array_equal(seen[0], data[:3])
        assert np.array_equal(seen[0], seen[1])
        assert not np.array_equal(seen[1], seen[2])
        assert np.array_equal(seen[2], seen[3])


def test_arguments():
    x = tf.placeholder(tf.float32, [None, 2])
    with pytest.raises(ValueError, match="Unsupported initialization algorithm"):
        KMeans(x, 3, "first")
    with pytest.raises(ValueError, match="Unsupported distance metric"):
        KMeans(x, 3, distance_metric="manhattan")
    with pytest.raises(NotImplementedError, match="initial_clusters, got 'kmc2'"):
        KMeans(x, 3, "kmc2")
    with pytest.raises(ValueError, match="known number of columns"):
        KMeans(tf.placeholder(tf.float32, [None, None]), 3).training_graph()
