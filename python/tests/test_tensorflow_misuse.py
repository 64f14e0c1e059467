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
