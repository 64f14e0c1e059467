"""tf.contrib and TensorFlow's own modules, as programs import them."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

pytest.importorskip("systole_tpu._core")
import systole_tpu.tensorflow as tf
from systole_tpu import _check, _hook


@pytest.fixture(autouse=True)
def _graph():
    tf.reset_default_graph()


def run(*fetches, feeds=None):
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer(), tf.tables_initializer()])
        values = session.run(list(fetches), feeds)
    return values[0] if len(values) == 1 else values


def test_own_modules_have_the_names_of_public_ones():
    _hook.install()
    from tensorflow.contrib.framework.python.ops import arg_scope
    from tensorflow.contrib.layers.python.layers import layers as contrib_layers
    from tensorflow.contrib.tpu.python.tpu import tpu_config
    from tensorflow.core.protobuf import rewriter_config_pb2
    from tensorflow.python.client import device_lib
    from tensorflow.python.framework import ops
    from tensorflow.python.keras import backend
    from tensorflow.python.ops import array_ops, math_ops, variable_scope
    from tensorflow.python.platform import tf_logging
    from tensorflow.python.training import session_run_hook

    assert array_ops.concat is tf.concat and math_ops.reduce_mean is tf.reduce_mean
    assert ops.GraphKeys is tf.GraphKeys and variable_scope.variable_scope is tf.variable_scope
    assert contrib_layers.conv2d is tf.contrib.layers.conv2d and arg_scope is tf.contrib.framework.arg_scope
    assert tpu_config.TPUConfig is tf.contrib.tpu.TPUConfig and tf_logging.info is tf.logging.info
    assert session_run_hook.SessionRunHook is tf.train.SessionRunHook and backend is tf.keras.backend
    assert rewriter_config_pb2.RewriterConfig(disable_meta_optimizer=True).disable_meta_optimizer
    assert [d.device_type for d in device_lib.list_local_devices()] == ["CPU"]
    with pytest.raises(AttributeError, match=r"array_ops' has no attribute 'no_such"):
        array_ops.no_such_function  # noqa: B018
    with pytest.raises(ImportError):
        from tensorflow.python.ops import no_such_ops  # noqa: F401


def test_check_knows_own_modules(tmp_path):
    program = tmp_path / "old.py"
    program.write_text(
        "import tensorflow as tf\nfrom tensorflow.python.ops import array_ops, no_such_ops\n"
        "array_ops.concat\narray_ops.Session2\ntf.newaxis\ntf.contrib.training.python.training.hparam.HParams\n"
    )
    report = _check.check(str(program))
    assert [use.name for use in report.missing] == ["python.ops.no_such_ops", "python.ops.array_ops.Session2"]
    assert "newaxis" in [use.name for use in report.present]


def test_arguments_of_scopes():
    slim = tf.contrib.slim

    @slim.add_arg_scope
    def layer(x, units=1, scale=1.0):
        return x, units, scale

    with slim.arg_scope([layer], units=5) as outer:
        assert layer(0) == (0, 5, 1.0)
        with slim.arg_scope([layer], scale=2.0):
            assert layer(0, units=3) == (0, 3, 2.0)
    assert layer(0) == (0, 1, 1.0)
    with slim.arg_scope(outer):
        assert layer(1) == (1, 5, 1.0)
    with pytest.raises(ValueError, match="not decorated"), slim.arg_scope([len], x=1):
        pass
    x = tf.ones([2, 8, 8, 3])
    with slim.arg_scope([slim.conv2d], activation_fn=None, padding="VALID"):
        y = slim.conv2d(x, 4, [3, 3], scope="conv")
    z = slim.separable_conv2d(y, 5, 3, depth_multiplier=2, scope="separable")
    deep = slim.repeat(z, 2, slim.conv2d, 6, [3, 3], scope="deep")
    assert [t.shape.as_list() for t in (y, z, deep)] == [[2, 6, 6, 4], [2, 6, 6, 5], [2, 6, 6, 6]]
    assert [v.op.name for v in tf.trainable_variables()][2:5] == [
        "separable/depthwise_weights",
        "separable/pointwise_weights",
        "separable/biases",
    ]
    assert [v.op.name for v in slim.get_variables("deep", suffix="biases")] == [
        "deep/conv2d_1/biases",
        "deep/conv2d_2/biases",
    ]


def test_hyperparameters():
    params = tf.contrib.training.HParams(rate=0.1, units=[1, 2], train=True, name="x")
    params.parse("rate=0.5,units=[3,4,5],train=false,name=deep")
    assert params.values() == {"rate": 0.5, "units": [3, 4, 5], "train": False, "name": "deep"}
    params.override_from_dict({"rate": 2})
    assert params.rate == 2.0 and "rate" in params and params.get("depth", 7) == 7
    assert tf.contrib.training.HParams(**params.values()).to_json() == params.to_json()
    with pytest.raises(ValueError, match="Unknown hyperparameter"):
        params.parse("depth=3")
    with pytest.raises(ValueError, match="Could not parse"):
        params.parse("rate=high")
    with pytest.raises(KeyError):
        params.override_from_dict({"depth": 3})
    with pytest.raises(ValueError, match="reserved"):
        params.add_hparam("rate", 1)


def test_checkpoints_as_they_come(tmp_path):
    variable = tf.Variable(1.5, name="v")
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())

        def write():
            for step in (1, 2):
                saver.save(session, str(tmp_path / "model.ckpt"), global_step=step)
                time.sleep(1.2)

        writer = threading.Thread(target=write)
        writer.start()
        found = list(tf.contrib.training.checkpoints_iterator(str(tmp_path), timeout=4))
        writer.join()
    assert [path.rpartition("-")[2] for path in found][-1] == "2"
    state = tf.train.get_checkpoint_state(str(tmp_path))
    assert state.model_checkpoint_path == found[-1] and len(state.all_model_checkpoint_paths) == 2
    assert tf.train.get_checkpoint_state(str(tmp_path / "none")) is None
    reader = tf.train.NewCheckpointReader(found[-1])
    assert reader.has_tensor("v") and reader.get_variable_to_shape_map() == {"v": []}
    assert reader.get_tensor("v") == 1.5
    restore = tf.contrib.framework.assign_from_checkpoint_fn(found[0], [variable])
    with tf.Session() as session:
        session.run(variable.assign(0.0))
        restore(session)
        assert session.run(variable) == 1.5


def test_branches_before_cond():
    from systole_tpu.tensorflow import _places

    flow = _places.place("python.ops.control_flow_ops")
    x, choice = tf.constant(3.0), tf.placeholder(tf.int32, [])
    parts = [flow.switch(x, tf.equal(choice, i))[1] * (i + 1) for i in range(3)]
    value, number = flow.merge(parts)
    for i in range(3):
        assert run(value, number, feeds={choice: i}) == [3.0 * (i + 1), i]


def test_moving_averages_of_tensorflow():
    from systole_tpu.tensorflow import _places

    averages = _places.place("python.training.moving_averages")
    plain, corrected = tf.Variable(1.0, name="plain"), tf.Variable(0.0, name="corrected")
    steps = [
        averages.assign_moving_average(plain, 3.0, 0.5, zero_debias=False),
        averages.assign_moving_average(corrected, 3.0, 0.9),
    ]
    assert run(*steps) == [2.0, pytest.approx(3.0, rel=1e-5)]


def test_losses_of_sequences():
    rng = np.random.RandomState(0)
    logits, targets = rng.randn(2, 3, 4).astype(np.float32), np.array([[0, 1, 2], [3, 0, 1]])
    weights = np.array([[1, 1, 0], [1, 0, 1]], np.float32)
    loss = tf.contrib.seq2seq.sequence_loss
    all_of_it = loss(tf.constant(logits), tf.constant(targets), tf.constant(weights))
    steps = loss(tf.constant(logits), tf.constant(targets), tf.constant(weights), average_across_timesteps=False)
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    losses = -np.log(np.take_along_axis(p, targets[..., None], 2)[..., 0]) * weights
    got = run(all_of_it, steps)
    np.testing.assert_allclose(got[0], losses.sum() / weights.sum(), rtol=1e-5)
    np.testing.assert_allclose(got[1], losses.sum(0) / weights.sum(0), rtol=1e-5)


def test_tables_of_words(tmp_path):
    (tmp_path / "words.txt").write_text("red\ngreen\n")
    lookup = tf.contrib.lookup
    numbers = lookup.index_table_from_tensor(["a", "b"], num_oov_buckets=1).lookup(tf.constant(["b", "z"]))
    lines = lookup.index_table_from_file(str(tmp_path / "words.txt"), default_value=9).lookup(
        tf.constant(["green", "x"])
    )
    words = lookup.index_to_string_table_from_tensor(["a", "b"], default_value="?").lookup(
        tf.constant([1, 5], tf.int64)
    )
    got = run(numbers, lines, words)
    assert got[0].tolist() == [1, 2] and got[1].tolist() == [1, 9] and got[2].tolist() == [b"b", b"?"]


def test_gradients_are_clipped_together():
    x = tf.Variable([3.0, 4.0])
    optimizer = tf.contrib.estimator.clip_gradients_by_norm(tf.train.GradientDescentOptimizer(1.0), 1.0)
    step = optimizer.minimize(tf.reduce_sum(tf.square(x)) / 2)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        np.testing.assert_allclose(session.run(x), [3 - 0.6, 4 - 0.8], rtol=1e-6)


def test_supervisor_restores_what_it_wrote(tmp_path):
    def program(steps):
        with tf.Graph().as_default():
            step = tf.train.get_or_create_global_step()
            x = tf.Variable(0.0, name="x")
            update = tf.group(x.assign_add(2.0), step.assign_add(1))
            supervisor = tf.train.Supervisor(logdir=str(tmp_path))
            with supervisor.managed_session() as session:
                while not supervisor.should_stop() and session.run(step) < steps:
                    session.run(update)
                return session.run(x)

    assert program(3) == 6.0
    assert program(5) == 10.0
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-5")


def test_timers():
    timer = tf.train.SecondOrStepTimer(every_steps=10)
    assert timer.should_trigger_for_step(3)
    assert timer.update_last_triggered_step(3) == (None, None)
    assert not timer.should_trigger_for_step(12) and timer.should_trigger_for_step(13)
    assert timer.update_last_triggered_step(14)[1] == 11
    with pytest.raises(ValueError, match="Exactly one"):
        tf.train.SecondOrStepTimer()


def test_event_files_are_read(tmp_path):
    writer = tf.summary.FileWriter(str(tmp_path))
    for step in (1, 2):
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=0.5 * step)]), step)
    writer.close()
    file = next(tmp_path.iterdir())
    found = [(e.step, v.tag, v.simple_value) for e in tf.train.summary_iterator(str(file)) for v in e.summary.value]
    assert found == [(1, "loss", 0.5), (2, "loss", 1.0)]


def test_flags_are_those_of_absl():
    absl = pytest.importorskip("absl.flags")
    tf.flags.DEFINE_string(flag_name="flag_of_contrib_test", default_value="x", docstring="help")
    assert "flag_of_contrib_test" in absl.FLAGS
    absl.FLAGS(["program", "--flag_of_contrib_test=y"])
    assert tf.app.flags.FLAGS.flag_of_contrib_test == "y"


def test_exported_graphs_are_the_default_ones():
    with tf.Graph().as_default() as first:
        x = tf.get_variable("x", [], initializer=tf.constant_initializer(3.0))
        tf.add_to_collection("results", x * 2)
        meta = tf.train.export_meta_graph()
    with tf.Graph().as_default():
        saver = tf.train.import_meta_graph(meta)
        assert saver is not None and tf.get_default_graph() is first
        assert run(tf.get_collection("results")[0]) == 6.0
    assert tf.get_default_graph() is not first
    tf.constant(1)
    with pytest.raises(NotImplementedError, match="empty"):
        tf.train.import_meta_graph(meta)


def test_modules_under_a_second_name():
    _hook.install()
    import tensorflow.compat.v1 as tf1
    import tensorflow.contrib.keras as keras
    from tensorflow.compat.v1.data import Dataset

    assert tf1 is tf and tf.compat.v1.nn.relu is tf.nn.relu and keras is tf.keras and Dataset is tf.data.Dataset


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB", ""])
def test_records_are_compressed(tmp_path, compression):
    path = str(tmp_path / "records")
    options = tf.python_io.TFRecordOptions(compression)
    with tf.python_io.TFRecordWriter(path, options) as writer:
        for text in (b"one", b"two"):
            writer.write(text)
    assert list(tf.python_io.tf_record_iterator(path, options)) == [b"one", b"two"]
    dataset = tf.data.TFRecordDataset(path, compression_type=compression).with_options(tf.data.Options())
    assert list(dataset.as_numpy_iterator()) == [b"one", b"two"]


def test_producers_of_windows():
    data = tf.constant(np.arange(24).reshape(2, 12))
    epoch = tf.identity((tf.size(data) // 2 - 1) // 3)
    i = tf.train.range_input_producer(epoch, shuffle=False).dequeue()
    x = tf.strided_slice(data, [0, i * 3], [2, (i + 1) * 3])
    y = data[:, 1 + i * 3 : i * 3 + 4]
    assert x.shape.as_list() == [2, 3] and y.shape.as_list() == [2, 3]
    with tf.Session() as session:
        for step in range(4):
            got = session.run([x, y])
            first = step % 3 * 3
            np.testing.assert_array_equal(got[0], np.arange(24).reshape(2, 12)[:, first : first + 3])
            np.testing.assert_array_equal(got[1], got[0] + 1)
    with pytest.raises(NotImplementedError, match="places that are tensors"):
        tf.strided_slice(data, tf.stack([i, i]), [2, 3])


def test_steps_are_in_a_collection():
    x = tf.Variable(1.0)
    step = tf.train.GradientDescentOptimizer(0.5).minimize(tf.square(x))
    assert tf.get_collection(tf.GraphKeys.TRAIN_OP) == [step]
