"""Wrong uses are errors of Python, never a crash or a hang: threads, fork, closed sessions, graphs, functions."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("systole_tpu._core")
import systole_tpu.tensorflow as tf
from processes import python

FUZZ = Path(__file__).with_name("fuzz_tensorflow.py")


@pytest.fixture(autouse=True)
def new_graph():
    tf.reset_default_graph()


def test_a_closed_session_says_so():
    x = tf.constant(1.0)
    session = tf.Session()
    session.run(x)
    session.run(x)
    session.close()
    session.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        session.run(x)


def test_tensors_of_another_graph_are_errors():
    first = tf.constant(1.0)
    other = tf.Graph()
    with other.as_default():
        second = tf.placeholder(tf.float32, [])
        with pytest.raises(ValueError, match="graph"):
            first + second
    with tf.Session() as session:
        for _ in range(3):  # the first run, and those that are kept
            with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=r"graph|element"):
                session.run(second, {second: 1.0})
            with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=r"graph|element"):
                session.run(first, {second: 1.0})


def test_runs_of_many_threads_are_their_own():
    x = tf.placeholder(tf.float32, [None])
    doubled, total = x * 2, tf.reduce_sum(x)
    failures = []

    def work(session, number):
        for i in range(200):
            a = np.full(4 + number, i, np.float32)
            result = session.run([doubled, total], {x: a})
            if not (np.array_equal(result[0], a * 2) and result[1] == a.sum()):
                failures.append((number, i, result))

    with tf.Session() as session:
        threads = [threading.Thread(target=work, args=(session, n)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert failures == []


def test_results_stay_what_they_were():
    x = tf.placeholder(tf.float32, [None])
    fetch = [x * 2, x, tf.reduce_sum(x)]
    with tf.Session() as session:
        kept = []
        for i in range(20):
            a = np.full(3, i, np.float32)
            kept.append(session.run(fetch, {x: a}))
            a[:] = -1
        for i, (doubled, same, total) in enumerate(kept):
            np.testing.assert_array_equal(doubled, np.full(3, 2 * i))
            np.testing.assert_array_equal(same, np.full(3, i))
            assert total == 3 * i and isinstance(total, np.float32)


def test_a_run_takes_shapes_that_change():
    x = tf.placeholder(tf.float32, [None, 2])
    with tf.Session() as session:
        for n in (1, 1, 1, 3, 3, 1, 7, 7):
            assert session.run(tf.identity(x) if n == 7 else x + 0, {x: np.ones((n, 2))}).shape == (n, 2)
        with pytest.raises(ValueError, match="Cannot feed value of shape"):
            session.run(x, {x: np.ones((2, 3))})


@pytest.mark.parametrize("kind", [np.float64, np.float16, np.int8, np.uint32, np.bool_, np.complex64])
def test_arrays_of_other_dtypes_are_converted_or_refused(kind):
    x = tf.placeholder(tf.float32, [2])
    with tf.Session() as session:
        for _ in range(3):
            try:
                np.testing.assert_array_equal(session.run(x + 1, {x: np.ones(2, kind)}), [2, 2])
            except (TypeError, ValueError) as error:
                assert kind is np.complex64, error


@pytest.mark.parametrize("value", [None, object(), "text", [[1, 2], [3]], {"a": 1}, [None], b"bytes", lambda: 1])
def test_values_that_are_no_arrays(value):
    x = tf.placeholder(tf.float32, [2])
    with tf.Session() as session:
        with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
            session.run(x + 1, {x: value})
    with pytest.raises((TypeError, ValueError, tf.errors.InvalidArgumentError)):
        tf.nn.relu(value)


def test_functions_of_the_user_that_return_none():
    def input_fn():
        return tf.data.Dataset.from_tensors((np.ones((1, 2)), np.ones(1)))

    with pytest.raises((TypeError, ValueError)):
        tf.data.Dataset.range(3).map(lambda x: None)
    with pytest.raises((TypeError, ValueError)):
        tf.cond(tf.constant(True), lambda: tf.constant(1), lambda: None)
    with pytest.raises((TypeError, ValueError)):
        tf.estimator.Estimator(lambda features, labels, mode: None).train(input_fn, steps=1)
    with pytest.raises((TypeError, ValueError)):
        tf.estimator.Estimator(lambda features, labels, mode: None).train(lambda: None, steps=1)


def test_exceptions_of_functions_of_the_user_arrive():
    class Mine(Exception):
        pass

    def fail(*_):
        raise Mine("here")

    with pytest.raises(Mine, match="here"):
        tf.data.Dataset.range(3).map(fail)
    value = tf.py_func(fail, [tf.constant(1.0)], tf.float32)
    with tf.Session() as session:
        for _ in range(3):
            with pytest.raises((Mine, tf.errors.OpError), match="here"):
                session.run(value)


def test_wrong_arguments_name_the_function_and_its_arguments():
    with pytest.raises(TypeError, match=r"relu.*no_such"):
        tf.nn.relu(1.0, no_such=2)
    with pytest.raises(TypeError, match=r"tf\.losses\.huber_loss.*labels, predictions, weights=1\.0"):
        tf.losses.huber_loss(1.0)
    with pytest.raises(TypeError, match=r"tf\.train\.AdamOptimizer.*beta1=0\.9"):
        tf.train.AdamOptimizer(rate=0.1)
    with pytest.raises(TypeError, match=r"tf\.layers\.Dense.*units"):
        tf.layers.Dense()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_of_fork_runs_or_says_why_not():
    status, text = python(
        """
        import os, signal, sys, warnings
        warnings.simplefilter("ignore")
        import numpy as np
        import systole_tpu.tensorflow as tf
        x = tf.placeholder(tf.float32, [None, 64])
        y = tf.reduce_sum(tf.matmul(x, tf.ones([64, 64])))
        session = tf.Session()
        for _ in range(3):
            session.run(y, {x: np.ones((256, 64))})
        child = os.fork()
        if child == 0:
            signal.alarm(60)
            try:
                print("child", float(session.run(y, {x: np.ones((256, 64))})), flush=True)
            except Exception as error:
                print("child error", type(error).__name__, error, flush=True)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print("parent", float(session.run(y, {x: np.ones((256, 64))})), "status", status)
        """
    )
    assert status == 0, text
    assert "child" in text and "parent 1048576.0 status 0" in text, text


def test_the_end_of_a_process_with_sessions_and_data_sets_in_use():
    status, text = python(
        """
        import numpy as np
        import systole_tpu.tensorflow as tf
        d = tf.data.Dataset.from_generator(lambda: iter(range(10**9)), tf.int64, []).prefetch(4)
        value = d.make_one_shot_iterator().get_next()
        session = tf.Session()
        print(session.run(value), session.run(value))
        keep = tf.py_func(lambda: np.float32(1), [], tf.float32)
        print(session.run(keep))
        """
    )
    assert (status, text.split()) == (0, ["0", "1", "1.0"])


@pytest.mark.parametrize("seed", [1, 2])
def test_random_arguments_never_crash(seed):
    run = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(FUZZ), str(seed), "2"],
        capture_output=True, text=True, timeout=280,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-500:] + run.stderr[-3000:]
    assert int(run.stdout.split()[-2]) > 500


def test_arguments_that_are_not_computed_are_refused():
    with pytest.raises(NotImplementedError, match="l2_shrinkage_regularization_strength"):
        tf.train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.1)
    with pytest.raises(NotImplementedError, match="summation_method"):
        tf.metrics.auc([True], [0.5], summation_method="careful_interpolation")
    tf.train.FtrlOptimizer(0.1, accum_name="mine", use_locking=True)
    tf.train.MomentumOptimizer(0.1, 0.9, False, "Mine", True)


@pytest.mark.parametrize(
    "call, argument, got",
    [
        (lambda x: tf.reduce_sum(x, axis="a"), "axis", "'a'"),
        (lambda x: tf.nn.softmax(x, axis=[1, "b"]), "axis", r"\[1, 'b'\]"),
        (lambda x: tf.one_hot([0, 1], depth="c"), "depth", "'c'"),
        (lambda x: tf.reshape(x, object()), "shape", "<object"),
        (lambda x: tf.layers.dense(x, "d"), "units", "'d'"),
        (lambda x: tf.cast(x, "no_dtype"), "dtype", "'no_dtype'"),
        (lambda x: tf.nn.dropout(x, 0.5, seed="e"), "seed", "'e'"),
        (lambda x: tf.losses.softmax_cross_entropy(x, x, label_smoothing="f"), "label_smoothing", "'f'"),
        (lambda x: tf.train.exponential_decay(0.1, tf.constant(1), "g", 0.5), "decay_steps", "'g'"),
        (lambda x: tf.train.MomentumOptimizer(0.1, "h"), "momentum", "'h'"),
        (lambda x: tf.train.AdamOptimizer("i"), "learning_rate", "'i'"),
    ],
)
def test_conversions_name_the_argument(call, argument, got):
    x = tf.ones([2, 3])
    with pytest.raises(
        (TypeError, ValueError), match=f"argument '{argument}', got {got}.*, expected .*; tf[.].*[(].*{argument}"
    ):
        call(x)


def test_counts_of_data_sets_name_the_argument():
    numbers = tf.data.Dataset.range(4)
    for method, argument in (
        ("batch", "batch_size"),
        ("repeat", "count"),
        ("shuffle", "buffer_size"),
        ("take", "count"),
    ):
        with pytest.raises(TypeError, match=f"Dataset.{method}: {argument}, got 'a', expected an integer"):
            getattr(numbers, method)("a")


def test_lists_have_the_dtype_that_the_op_says():
    x = tf.constant([[1.5, 2.5], [3.5, 4.5]])
    with tf.Session() as session:
        assert session.run(tf.gather(x, [1])).tolist() == [[3.5, 4.5]]
        assert session.run(tf.gather([1.5, 2.5], tf.constant([1]))).tolist() == [2.5]
        assert session.run(tf.gather_nd(x, [[0, 1]])).tolist() == [2.5]
        assert session.run(tf.nn.embedding_lookup(x, [1, 0])).tolist() == [[3.5, 4.5], [1.5, 2.5]]
        assert session.run(tf.nn.in_top_k(x, [1, 0], 1)).tolist() == [True, False]
        assert session.run(tf.unsorted_segment_sum(x, [1, 1], 2)).tolist() == [[0, 0], [5, 7]]
        assert session.run(tf.scatter_nd([[1]], tf.constant([2.5]), [2])).tolist() == [0, 2.5]
        assert session.run(tf.reverse_sequence(x, [2, 1], seq_axis=1, batch_axis=0)).tolist() == [
            [2.5, 1.5],
            [3.5, 4.5],
        ]
        loss = tf.losses.sparse_softmax_cross_entropy([1, 0], x)
        assert session.run(loss) > 0
        half = tf.constant([1.5], tf.bfloat16)
        assert tf.add(half, [1.0]).dtype == tf.bfloat16
        assert session.run(tf.where(tf.constant([True, False]), [1.5, 2.5], [3.5, 4.5])).tolist() == [1.5, 4.5]


def test_long_values_in_errors_end_with_a_whole_character():
    with pytest.raises(ValueError, match=r"argument 'axis', got '(é)+\.\.\., expected an integer"):
        tf.argmax(tf.constant([1.0]), "é" * 80)


def test_functions_that_return_none_are_named():
    def forgets(x):
        x + 1

    y = tf.py_func(forgets, [tf.constant(1.0)], tf.float32)
    several = tf.py_func(lambda x: (x, None), [tf.constant(1.0)], [tf.float32, tf.float32])
    nothing = tf.py_func(forgets, [tf.constant(1.0)], [])
    with tf.Session() as session:
        with pytest.raises(tf.errors.UnknownError, match=r"py_func: function '.*forgets', got None, expected float32"):
            session.run(y)
        with pytest.raises(tf.errors.UnknownError, match=r"got [(].*None[)], expected float32, float32"):
            session.run(several)
        session.run(nothing)


def test_eager_execution_says_what_to_do():
    for enable in (tf.enable_eager_execution, tf.contrib.eager.enable_eager_execution):
        with pytest.raises(NotImplementedError, match=r"tf\.Session"):
            enable()
    assert not tf.contrib.eager.executing_eagerly()
    assert tf.contrib.eager.defun(len)([1]) == 1


def test_generators_without_shapes():
    def generator():
        yield 1, [1.0, 2.0]
        yield 2, [3.0]

    numbers = tf.data.Dataset.from_generator(generator, (tf.int32, tf.float32))
    assert [d.as_list() for d in numbers.output_shapes] == [[], [None]]
    first, second = numbers.make_one_shot_iterator().get_next()
    with tf.Session() as session:
        assert [session.run([first, second])[1].tolist() for _ in range(2)] == [[1.0, 2.0], [3.0]]
