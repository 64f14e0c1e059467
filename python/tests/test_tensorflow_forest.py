"""tf.contrib.tensor_forest: forests that grow while they are fed."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("systole_tpu._core")
import systole_tpu.tensorflow as tf

tensor_forest = tf.contrib.tensor_forest.client.random_forest


@pytest.fixture(autouse=True)
def _graph():
    tf.reset_default_graph()


def forest(**settings):
    params = tensor_forest.ForestHParams(
        num_classes=3, num_features=4, **{"num_trees": 4, "max_nodes": 31, "split_after_samples": 40, **settings}
    ).fill()
    x, y = tf.placeholder(tf.float32, [None, 4]), tf.placeholder(tf.int32, [None])
    graphs = tensor_forest.RandomForestGraphs(params)
    return x, y, graphs, graphs.training_graph(x, y), graphs.inference_graph(x), graphs.average_size()


def batch(rng, count=64):
    """Three classes by two of four features."""
    x = rng.rand(count, 4).astype(np.float32)
    return x, np.where(x[:, 0] < 0.5, 0, np.where(x[:, 2] < 0.5, 1, 2)).astype(np.int32)


def test_a_forest_learns_boxes():
    tf.set_random_seed(2)
    x, y, _, train, (probabilities, leaves, variance), size = forest()
    rng = np.random.RandomState(0)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(size) == 1
        sizes = []
        for _ in range(40):
            session.run(train, dict(zip((x, y), batch(rng), strict=True)))
            sizes.append(session.run(size))
        assert sizes == sorted(sizes)
        assert 5 < sizes[-1] <= 31
        xs, ys = batch(rng, 300)
        shares, at, spread = session.run([probabilities, leaves, variance], {x: xs})
        np.testing.assert_allclose(shares.sum(1), np.ones(300), rtol=1e-5)
        assert np.mean(shares.argmax(1) == ys) > 0.93
        assert at.shape == (300, 4)
        assert at.max() < 31
        assert spread.min() >= 0


def test_counts_are_those_of_the_rows():
    x, y, graphs, train, (probabilities, *_), _ = forest(num_trees=2, split_after_samples=10**6)
    labels = np.array([0, 0, 1, 2, 0, 1], np.int32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(2):
            session.run(train, {x: np.random.rand(6, 4), y: labels})
        shares = session.run(probabilities, {x: np.zeros((1, 4))})
        np.testing.assert_allclose(shares, [[3 / 6, 2 / 6, 1 / 6]], rtol=1e-6)
        nodes = graphs._nodes
        assert session.run(nodes.candidates).tolist().count(10) == 2  # the roots have all that they may have


def test_a_split_sends_rows_to_both_sides():
    """One feature tells the class: whatever candidate is best separates the classes where it can."""
    x, y, _, train, (probabilities, leaves, _), size = forest(num_trees=1, max_nodes=3, split_after_samples=20)
    values = np.repeat(np.array([[0.0], [1.0]], np.float32), 4, 1)
    rows, labels = np.tile(values, (10, 1)), np.tile([0, 2], 10).astype(np.int32)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train, {x: rows, y: labels})
        assert session.run(size) == 3
        session.run(train, {x: rows, y: labels})
        assert session.run(size) == 3  # no room for more
        shares, at = session.run([probabilities, leaves], {x: values})
        np.testing.assert_allclose(shares, [[1, 0, 0], [0, 0, 1]])
        assert at.tolist() == [[1], [2]]


def test_trees_of_a_bag_see_parts():
    x, y, graphs, train, *_ = forest(bagging_fraction=0.5, split_after_samples=10**6, base_random_seed=7)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train, dict(zip((x, y), batch(np.random.RandomState(1), 400), strict=True)))
        seen = session.run(graphs._nodes.seen).reshape(4, 31, 3).sum((1, 2))
        assert all(120 < s < 280 for s in seen)
        assert len(set(seen.tolist())) > 1


def test_settings():
    params = tensor_forest.ForestHParams(num_classes=10, num_features=784).fill()
    assert params.num_splits_to_consider == 28
    assert params.values()["num_output_columns"] == 11
    with pytest.raises(AttributeError, match="num_classes and num_features"):
        tensor_forest.ForestHParams(num_classes=3).fill()
    with pytest.raises(NotImplementedError, match="regression, got True"):
        tensor_forest.ForestHParams(num_classes=3, num_features=4, regression=True).fill()
