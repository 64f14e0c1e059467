"""Graphs, sessions, variables, control flow and errors of tf.*, against NumPy."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

pytest.importorskip("systole_tpu._core")
import systole_tpu.tensorflow as tf


@pytest.fixture(autouse=True)
def _graph():
    tf.reset_default_graph()


def run(fetches, feeds=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        return session.run(fetches, feeds)


def test_version_is_1_15():
    assert tf.__version__ == "1.15.0"


@pytest.mark.parametrize(
    ("name", "expected"),
    [("reduce_sum", np.sum), ("reduce_mean", np.mean), ("reduce_max", np.max), ("reduce_prod", np.prod)],
)
def test_reductions_take_old_and_new_names(name, expected):
    x = np.arange(6, dtype=np.float32).reshape(2, 3) + 1
    function = getattr(tf, name)
    results = run(
        [
            function(x),
            function(x, 1),
            function(x, axis=0, keepdims=True),
            function(x, reduction_indices=1, keep_dims=True),
        ]
    )
    np.testing.assert_allclose(results[0], expected(x), rtol=1e-6)
    np.testing.assert_allclose(results[1], expected(x, axis=1), rtol=1e-6)
    np.testing.assert_allclose(results[2], expected(x, axis=0, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(results[3], expected(x, axis=1, keepdims=True), rtol=1e-6)


def test_operators_broadcast_and_convert_numbers():
    a = np.array([[1.0, -2.0], [3.0, 4.0]], np.float32)
    x = tf.constant(a)
    results = run([x + 1, 2 - x, x * a, 1 / x, x**2, -x, abs(x), x > 0, x @ x, x % 3.0, np.float64(2) * x])
    expected = [a + 1, 2 - a, a * a, 1 / a, a**2, -a, abs(a), a > 0, a @ a, a % 3, 2 * a]
    for result, value in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, value, rtol=1e-6)


@pytest.mark.parametrize(
    "key",
    [
        0,
        -1,
        slice(1, None),
        slice(None, None, 2),
        (slice(None), 1),
        (Ellipsis, 0),
        (0, None, slice(None, 2)),
        (1, -1, 2),
    ],
)
def test_slices_are_numpys(key):
    a = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    np.testing.assert_array_equal(run(tf.constant(a)[key]), a[key])


def test_feeds_take_the_placeholders_dtype_and_keep_their_memory():
    x = tf.placeholder("float", shape=[None, 2])
    doubled = x * 2
    a = np.arange(4.0).reshape(2, 2)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(doubled, {x: a}), a * 2)
        np.testing.assert_allclose(session.run(doubled, {x: a[::-1]}), a[::-1] * 2)
        np.testing.assert_allclose(session.run(doubled, {x: [[1, 2]]}), [[2, 4]])
        b = np.ones((2, 2), np.float32)
        fetched = session.run(x, {x: b})
        b[:] = 5
        np.testing.assert_allclose(fetched, 1)


def test_fetches_keep_their_structure():
    a, b = tf.constant(1.0), tf.constant([2, 3])
    operation = tf.no_op()
    result = run({"a": a, "rest": (b, [a.name, operation])})
    assert result["a"] == 1.0 and isinstance(result["a"], np.float32)
    assert isinstance(result["rest"], tuple) and result["rest"][1] == [1.0, None]
    np.testing.assert_array_equal(result["rest"][0], [2, 3])


def test_values_outlive_their_session():
    value = run(tf.range(1000))
    gc.collect()
    np.testing.assert_array_equal(value, np.arange(1000))


def test_errors_are_pythons_own():
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    with pytest.raises(ValueError, match=r"MatMul.*test_tensorflow_core\.py"):
        tf.matmul(x, tf.zeros([4, 2]))
    with pytest.raises(TypeError, match="missing"):
        tf.matmul(x)
    with pytest.raises(NotImplementedError, match="renorm"):
        tf.layers.batch_normalization(x, renorm=True)
    session = tf.Session()
    with pytest.raises(tf.errors.InvalidArgumentError, match="placeholder 'x'"):
        session.run(x * 2)
    with pytest.raises(ValueError, match="Cannot feed value of shape"):
        session.run(x * 2, {x: np.zeros(4)})
    with pytest.raises(TypeError, match="cannot be interpreted as a Tensor"):
        session.run(x, {3: 1})
    with pytest.raises(TypeError, match="Fetch argument"):
        session.run(None)
    with pytest.raises(tf.errors.FailedPreconditionError):
        session.run(tf.Variable(1.0))
    session.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(x, {x: np.zeros((1, 3))})
    with pytest.raises(TypeError, match="bool"):
        bool(x)
    other = tf.Graph()
    with other.as_default():
        foreign = tf.constant(1.0)
    with pytest.raises((ValueError, tf.errors.OpError)):
        tf.Session().run(foreign)


def test_variables_and_scopes():
    with tf.variable_scope("a"):
        w = tf.get_variable("w", [2, 3], initializer=tf.zeros_initializer())
        assert tf.nn.relu(w).op.name == "a/Relu"
    with tf.variable_scope("a", reuse=True):
        assert tf.get_variable("w", [2, 3]) == w
    with tf.variable_scope("b", reuse=tf.AUTO_REUSE) as scope:
        tf.get_variable("v", [])
        tf.get_variable("v", [])
    with tf.variable_scope(scope, reuse=True):
        assert tf.get_variable("v", []).name == "b/v:0"
    with pytest.raises(ValueError, match="'a/w'"), tf.variable_scope("a"):
        tf.get_variable("w", [2, 3])
    assert [v.name for v in tf.trainable_variables()] == ["a/w:0", "b/v:0"]
    assert isinstance(w, tf.Variable) and w.shape.as_list() == [2, 3]
    step = tf.Variable(0, trainable=False, name="step")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(tf.assign_add(step, 2)) == 2
        step.load(7, session)
        assert step.eval() == 7


def test_gradients_branches_and_loops():
    x = tf.placeholder(tf.float32, [])
    y = tf.cond(x > 0, lambda: x * x, lambda: -x)
    (dx,) = tf.gradients(y, x)
    i, total = tf.while_loop(lambda i, s: i < 10, lambda i, s: (i + 1, s + i), [tf.constant(0), tf.constant(0)])
    squares = tf.map_fn(lambda r: r * r, tf.constant([1.0, 2.0, 3.0]))
    sums = tf.scan(lambda a, b: a + b, tf.constant([1.0, 2.0, 3.0]))
    with tf.Session() as session:
        assert session.run([y, dx], {x: 3.0}) == [9.0, 6.0]
        assert session.run([y, dx], {x: -3.0}) == [3.0, -1.0]
        assert session.run([i, total]) == [10, 45]
        np.testing.assert_allclose(session.run(squares), [1, 4, 9])
        np.testing.assert_allclose(session.run(sums), [1, 3, 6])


def test_exceptions_of_user_functions_arrive():
    def broken(value):
        raise KeyError("mine")

    x = tf.py_func(broken, [tf.constant(1.0)], tf.float32)
    with pytest.raises(Exception, match="mine"):
        run(x)
    with pytest.raises(ZeroDivisionError):
        tf.map_fn(lambda r: 1 // 0, tf.constant([1.0]))


def test_threads_run_one_session():
    x = tf.placeholder(tf.float32, [4])
    y = tf.reduce_sum(x * x)
    results = []
    with tf.Session() as session:

        def work(k):
            results.append((k, session.run(y, {x: np.full(4, k)})))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(results) == [(k, 4.0 * k * k) for k in range(8)]


def test_saver_writes_and_reads(tmp_path):
    w = tf.Variable([1.0, 2.0], name="w")
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        prefix = saver.save(session, str(tmp_path / "model"), global_step=3)
        session.run(w.assign([5.0, 6.0]))
        saver.restore(session, prefix)
        np.testing.assert_allclose(session.run(w), [1, 2])
    assert tf.train.latest_checkpoint(str(tmp_path)) == prefix
    assert tf.train.list_variables(prefix) == [("w", [2])]


def test_variables_begin_with_those_of_a_checkpoint(tmp_path):
    tf.Variable([1.0, 2.0], name="old/w")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        prefix = tf.train.Saver().save(session, str(tmp_path / "model"))
    tf.reset_default_graph()
    w = tf.Variable([0.0, 0.0], name="new/w")
    other = tf.Variable(3.0, name="new/other")
    tf.train.init_from_checkpoint(prefix, {"old/": "new/"})
    values = run([w, other])
    np.testing.assert_allclose(values[0], [1, 2])
    assert values[1] == 3.0
    with pytest.raises(ValueError, match="not found"):
        tf.train.init_from_checkpoint(prefix, {"none": w})


def test_tensors_of_a_body_that_failed_can_be_shown():
    kept = []

    def body(i):
        kept.append(i + 1)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])
    gc.collect()
    assert "shape=()" in repr(kept[0])


def test_operations_have_the_types_of_variables_of_1_15():
    w = tf.get_variable("w", [2])
    types = {o.name: o.type for o in tf.get_default_graph().get_operations()}
    assert types["w"] == "VariableV2"
    assert w.initializer.type == "Assign"
    assert [t.name for t in w.initializer.outputs] == ["w:0"]
    # What initializes leads to the assignments, and they to the first values.
    init = tf.global_variables_initializer()
    assert w.initializer in init.control_inputs
    assert w.initial_value in w.initializer.inputs


def test_lists_of_numpy_numbers_take_the_dtypes_of_pythons():
    values = [[np.int64(3)], [np.float64(3)], (np.float64(2), 1), [[np.int64(2**40)]], np.int64(3), np.float64(3)]
    dtypes = [tf.convert_to_tensor(v).dtype.name for v in values]
    assert dtypes == ["int32", "float32", "float32", "int64", "int64", "float64"]


def test_lists_of_places_stay_integers_beside_real_numbers():
    x = tf.constant(np.arange(12).reshape(4, 3).astype(np.float32))
    y = [
        tf.gather(x, [0, 2]),
        tf.gather_nd(x, [[1, 2], [3, 0]]),
        tf.nn.embedding_lookup(x, [[3], [1]]),
        tf.scatter_nd([[1]], x[:1], [2, 3]),
        tf.unsorted_segment_sum(x, [0, 1, 1, 0], 2),
        tf.nn.in_top_k(x, [2, 0, 2, 1], 1),
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[2, 2, 2, 2], logits=x),
        tf.add(x, [1, 2, 3]),
    ]
    with tf.Session() as session:
        got = session.run(y)
    assert got[0].tolist() == [[0, 1, 2], [6, 7, 8]] and got[1].tolist() == [5, 9]
    assert got[2].tolist() == [[[9, 10, 11]], [[3, 4, 5]]] and got[3].tolist() == [[0, 0, 0], [0, 1, 2]]
    assert got[4].tolist() == [[9, 11, 13], [9, 11, 13]] and got[5].tolist() == [True, False, True, False]
    np.testing.assert_allclose(got[6], [0.4076] * 4, atol=1e-4)
    assert got[7][0].tolist() == [1, 3, 5]
