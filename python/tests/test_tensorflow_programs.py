"""Whole programs: data sets, estimators, records, the import hook and `systole check`."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest

pytest.importorskip("systole_tpu._core")
import systole_tpu.tensorflow as tf
from systole_tpu import __main__ as command
from systole_tpu import _check

IRIS = """
    import numpy as np
    import tensorflow as tf
    from tensorflow.contrib.cluster_resolver import TPUClusterResolver

    tf.set_random_seed(42)
    rng = np.random.RandomState(0)
    data = rng.randn(60, 5)
    target = np.argmax(data @ rng.randn(5, 3), axis=1)
    X = tf.placeholder("float", shape=[None, 5])
    y = tf.placeholder("float", shape=[None, 3])
    w_1 = tf.Variable(tf.random_normal((5, 32), stddev=0.1))
    w_2 = tf.Variable(tf.random_normal((32, 3), stddev=0.1))
    yhat = tf.matmul(tf.nn.sigmoid(tf.matmul(X, w_1)), w_2)
    predict = tf.argmax(yhat, axis=1)
    cost = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels=y, logits=yhat))
    updates = tf.train.GradientDescentOptimizer(0.05).minimize(cost)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for epoch in range(30):
            for i in range(len(data)):
                sess.run(updates, feed_dict={X: data[i: i + 1], y: np.eye(3)[target[i: i + 1]]})
        accuracy = np.mean(target == sess.run(predict, feed_dict={X: data}))
    print("accuracy", accuracy)
    assert accuracy > 0.8
"""


@pytest.fixture(autouse=True)
def _graph():
    tf.reset_default_graph()


def write(path, text):
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return str(path)


def test_a_program_runs_as_it_is(tmp_path, capsys):
    assert command.main([write(tmp_path / "iris_session.py", IRIS)]) == 0
    assert "accuracy" in capsys.readouterr().out


def test_check_lists_names_with_their_lines(tmp_path, capsys):
    write(tmp_path / "model.py", "from tensorflow import layers\nlayers.no_such_layer\n")
    program = write(
        tmp_path / "main.py", "import tensorflow as tf\nimport model\ntf.nn.relu\ntf.contrib.crf.crf_decode\n"
    )
    report = _check.check(program)
    assert "nn.relu" in {use.name for use in report.present}
    found = {(use.line, use.name) for use in report.missing}
    assert found == {(4, "contrib.crf.crf_decode"), (2, "layers.no_such_layer")}
    old = write(tmp_path / "old.py", 'import tensorflow as tf\nprint "hello"\n')
    assert command.main(["check", old]) == 1
    assert "old.py:2" in capsys.readouterr().out


def test_what_python_3_has_not_is_reported_with_the_edit(tmp_path, capsys):
    text = """
        import cPickle
        from six.moves import range
        import tensorflow as tf
        for i in xrange(3):
            pass
        for key, value in {}.iteritems():
            long = unicode(key)
            long + 1
    """
    assert command.main(["check", write(tmp_path / "old.py", text)]) == 1
    out = capsys.readouterr().out
    for line, edit in (
        (2, "the module cPickle is pickle"), (5, "xrange is range"),
        (7, ".iteritems() is .items()"), (8, "unicode is str"),
    ):  # fmt: skip
        assert f"old.py:{line}: {edit} in Python 3\n" in out
    assert "long" not in out
    moved = write(tmp_path / "moved.py", "from six.moves import xrange\nimport six\nxrange(3), six.iteritems({})\n")
    assert command.main(["check", moved]) == 0


def test_missing_names_are_said_before_anything_runs(tmp_path, capsys):
    text = """
        import tensorflow as tf
        print("begins")
        def later():
            return tf.contrib.crf.crf_decode
        if tf.executing_eagerly():
            tf.contrib.eager.run()
    """
    assert command.main([write(tmp_path / "branch.py", text)]) == 0
    out, err = capsys.readouterr()
    assert out == "begins\n"
    assert "branch.py:5: tf.contrib.crf.crf_decode is missing" in err and "tf.contrib.eager.run is missing" in err
    assert command.main([write(tmp_path / "sure.py", text.rstrip(" ") + " " * 8 + "tf.no_such_name\n")]) == 1
    out, err = capsys.readouterr()
    assert out == "" and "sure.py:8: tf.no_such_name is missing" in err and "branch" not in err
    assert command.main([write(tmp_path / "old.py", "import tensorflow as tf\nprint 'x'\n")]) == 1
    assert "old.py:2" in capsys.readouterr().err


def test_data_sets():
    x = np.arange(10, dtype=np.float32)
    dataset = tf.data.Dataset.from_tensor_slices({"x": x, "y": x * 2}).map(lambda e: (e["x"] + e["y"], e["x"])).batch(4)
    a, b = dataset.make_one_shot_iterator().get_next()
    assert dataset.output_shapes[0].as_list() == [None] and dataset.output_types == (tf.float32, tf.float32)
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(a), x[:4] * 3)
        session.run(b)
        assert session.run(a).shape == (2,)
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(a)


def test_generators_and_placeholders_feed_data_sets():
    size = tf.placeholder(tf.int64, [])
    made = tf.data.Dataset.from_generator(lambda: iter(range(5)), tf.int64, tf.TensorShape([])).repeat().batch(size)
    iterator = made.make_initializable_iterator()
    following = iterator.get_next()
    with tf.Session() as session:
        session.run(iterator.initializer, {size: 3})
        np.testing.assert_array_equal(session.run(following), [0, 1, 2])
        np.testing.assert_array_equal(session.run(following), [3, 4, 0])


def test_records_round_trip(tmp_path):
    path = str(tmp_path / "x.tfrecord")
    feature = {
        "a": tf.train.Feature(int64_list=tf.train.Int64List(value=[3, -2])),
        "b": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"text"])),
        "c": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5])),
    }
    example = tf.train.Example(features=tf.train.Features(feature=feature))
    with tf.python_io.TFRecordWriter(path) as writer:
        writer.write(example.SerializeToString())
    specs = {
        "a": tf.FixedLenFeature([2], tf.int64),
        "b": tf.FixedLenFeature([], tf.string),
        "c": tf.FixedLenFeature([], tf.float32),
    }
    dataset = tf.data.TFRecordDataset(path).map(lambda s: tf.parse_single_example(s, specs))
    with tf.Session() as session:
        row = session.run(dataset.make_one_shot_iterator().get_next())
    np.testing.assert_array_equal(row["a"], [3, -2])
    assert row["b"] == b"text" and row["c"] == 0.5
    (record,) = tf.python_io.tf_record_iterator(path)
    assert tf.train.Example.FromString(record).features.feature["a"].int64_list.value == [3, -2]


def _model_fn(features, labels, mode, params):
    logits = tf.layers.dense(tf.layers.dense(features["x"], params["units"], activation=tf.nn.relu), 3)
    predictions = {"class": tf.argmax(logits, 1)}
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions=predictions)
    loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
    metrics = {"accuracy": tf.metrics.accuracy(labels=labels, predictions=predictions["class"])}
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    step = tf.train.AdamOptimizer(0.01).minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)


def test_estimator_trains_evaluates_and_predicts(tmp_path):
    rng = np.random.RandomState(0)
    x = rng.randn(300, 4).astype(np.float32)
    y = (x @ rng.randn(4, 3)).argmax(1)

    def batches(repeat):
        return lambda: tf.data.Dataset.from_tensor_slices(({"x": x}, y)).repeat(repeat).batch(30)

    estimator = tf.estimator.Estimator(_model_fn, str(tmp_path), params={"units": 16})
    estimator.train(batches(None), steps=150)
    result = estimator.evaluate(batches(1))
    assert result["accuracy"] > 0.9 and result["global_step"] == 150
    predicted = [p["class"] for p in estimator.predict(tf.estimator.inputs.numpy_input_fn({"x": x}, shuffle=False))]
    assert np.mean(np.array(predicted) == y) == pytest.approx(result["accuracy"], abs=1e-6)


def test_exceptions_of_a_model_fn_arrive():
    def model_fn(features, labels, mode):
        raise RuntimeError("mine")

    estimator = tf.estimator.Estimator(model_fn)
    with pytest.raises(RuntimeError, match="mine"):
        estimator.train(lambda: tf.data.Dataset.from_tensors((np.zeros((1, 2), np.float32), [0])), steps=1)


def test_recurrent_cells():
    x = tf.placeholder(tf.float32, [None, 5, 3])
    cell = tf.nn.rnn_cell.BasicLSTMCell(4)
    outputs, state = tf.nn.static_rnn(cell, tf.unstack(x, 5, 1), dtype=tf.float32)
    whole, _ = tf.nn.dynamic_rnn(tf.contrib.rnn.GRUCell(2), x, dtype=tf.float32, scope="gru")
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        last, h, all_steps = session.run([outputs[-1], state.h, whole], {x: np.ones((2, 5, 3))})
    np.testing.assert_allclose(last, h)
    assert all_steps.shape == (2, 5, 2)


TPU = """
    import numpy as np
    import tensorflow as tf
    from tensorflow.contrib.tpu.python.tpu import tpu_config, tpu_estimator, tpu_optimizer

    def model_fn(features, labels, mode, params):
        logits = tf.layers.dense(tf.reshape(features, [-1, 16]), 4)
        loss = tf.losses.softmax_cross_entropy(onehot_labels=tf.one_hot(tf.cast(labels, tf.int32), 4), logits=logits)
        rate = tf.train.exponential_decay(0.1, tf.train.get_global_step(), 1000, 0.96)
        optimizer = tpu_optimizer.CrossShardOptimizer(tf.train.GradientDescentOptimizer(learning_rate=rate))
        train_op = optimizer.minimize(loss, global_step=tf.train.get_global_step())

        def metric_fn(labels, logits):
            return {"accuracy": tf.metrics.accuracy(labels, tf.argmax(logits, 1))}

        return tpu_estimator.TPUEstimatorSpec(
            mode=mode, loss=loss, train_op=train_op, eval_metrics=(metric_fn, [labels, logits]))

    def input_fn(params):
        rng = np.random.RandomState(1)
        x = rng.randn(256, 4, 4).astype(np.float32)
        y = x.reshape(256, 16)[:, :4].argmax(1).astype(np.int32)
        return tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(params["batch_size"], drop_remainder=True)

    resolver = tf.contrib.cluster_resolver.TPUClusterResolver("my_tpu")
    config = tpu_config.RunConfig(master=resolver.master(), tpu_config=tpu_config.TPUConfig(10, 8))
    estimator = tpu_estimator.TPUEstimator(
        model_fn=model_fn, use_tpu=True, train_batch_size=64, eval_batch_size=64, config=config)
    estimator.train(input_fn=input_fn, max_steps=100)
    result = estimator.evaluate(input_fn, steps=4)
    print(result)
    assert result["accuracy"] > 0.7 and result["global_step"] == 100
"""


def test_a_tpu_estimator_runs_on_the_virtual_tpu(tmp_path, monkeypatch):
    monkeypatch.setenv("SYSTOLE_TPU", "")
    assert command.main(["--tpu", "v2-8", write(tmp_path / "tpu.py", TPU)]) == 0


def test_any_tpu_is_the_virtual_one(monkeypatch):
    monkeypatch.setenv("SYSTOLE_TPU", "v2-8")
    resolver = tf.contrib.cluster_resolver.TPUClusterResolver(tpu=["my_tpu"])
    with tf.Session(resolver.get_master()) as session:
        assert b"mesh_shape" in session.run(tf.contrib.tpu.initialize_system())
        session.run(tf.contrib.tpu.shutdown_system())


COLAB = """
    import os
    import tensorflow as tf
    for address in ("grpc://" + os.environ["COLAB_TPU_ADDR"], os.environ["TPU_NAME"]):
        resolver = tf.contrib.cluster_resolver.TPUClusterResolver(address)
        with tf.Session(resolver.master()) as session:
            print(session.sess_str, session.run(tf.contrib.tpu.initialize_system()) != b"")
    with tf.Session("grpc://" + os.environ["COLAB_TPU_ADDR"]) as session:
        print(session.sess_str)
"""


def test_variables_that_name_a_tpu_are_there(tmp_path, monkeypatch, capsys):
    for name in ("SYSTOLE_TPU", "COLAB_TPU_ADDR", "TPU_NAME"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)
    assert command.main(["--tpu", "v2-8", write(tmp_path / "colab.py", COLAB)]) == 0
    assert capsys.readouterr().out == "local:v2-8 True\nlocal:v2-8 True\nlocal:v2-8\n"
