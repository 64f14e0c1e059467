"""Arguments of functions and classes that are made of lists: by place, by name, in error; and what they do."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

pytest.importorskip("systole_tpu._core")
import systole_tpu.tensorflow as tf

K = tf.keras.backend


@pytest.fixture(autouse=True)
def new_graph():
    tf.reset_default_graph()


def value(tensor):
    with tf.Session() as session:
        return session.run(tensor)


def test_signatures_are_those_of_tensorflow():
    for function, text in (
        (tf.keras.initializers.RandomNormal, "(mean=0.0, stddev=0.05, seed=None, dtype='float32')"),
        (tf.keras.callbacks.CSVLogger, "(filename, separator=',', append=False)"),
        (tf.keras.constraints.MaxNorm, "(max_value=2, axis=0)"),
        (K.gather, "(reference, indices)"),
        (tf.keras.losses.binary_crossentropy, "(y_true, y_pred, from_logits=False, label_smoothing=0)"),
        (tf.keras.layers.concatenate, "(inputs, axis=-1, **kwargs)"),
    ):
        assert str(inspect.signature(function)) == text
    adam = list(inspect.signature(tf.keras.optimizers.Adam).parameters)
    assert adam == ["learning_rate", "beta_1", "beta_2", "epsilon", "amsgrad", "name", "kwargs"]


def test_activations_take_their_arguments():
    x = np.array([[-2, -0.5, 0, 0.5, 1, 3, 8]], np.float32)
    t = tf.constant(x)
    below = np.where(x < 1, 0.1 * (x - 1), np.minimum(x, 6))
    np.testing.assert_allclose(value(K.relu(t, 0.1, 6.0, 1.0)), below, rtol=1e-6)
    np.testing.assert_allclose(value(tf.keras.activations.relu(t, alpha=0.2)), np.where(x > 0, x, 0.2 * x), rtol=1e-6)
    np.testing.assert_allclose(value(K.elu(t, 0.5)), np.where(x > 0, x, 0.5 * np.expm1(x)), rtol=1e-5)
    np.testing.assert_allclose(value(K.softmax(tf.constant([[0.0], [0.0]]), axis=0)), [[0.5], [0.5]])


def test_losses_and_metrics_take_their_arguments():
    y, p = np.array([[0.0, 1], [1, 0]], np.float32), np.array([[0.5, -1], [2, 0.1]], np.float32)
    entropy = np.maximum(p, 0) - p * y + np.log1p(np.exp(-np.abs(p)))
    np.testing.assert_allclose(
        value(tf.keras.losses.binary_crossentropy(y, tf.constant(p), from_logits=True)), entropy.mean(1), rtol=1e-5
    )
    loss = tf.keras.losses.BinaryCrossentropy(from_logits=True)
    np.testing.assert_allclose(value(loss(y, tf.constant(p))), entropy.mean(), rtol=1e-5)
    found = value(tf.keras.metrics.top_k_categorical_accuracy(np.eye(3), tf.constant([[1.0, 2, 3]] * 3), k=2))
    np.testing.assert_array_equal(found, [0, 1, 1])
    with pytest.raises(NotImplementedError, match="axis"):
        tf.keras.losses.cosine_proximity(y, p, axis=0)


def test_a_loss_object_trains_a_model():
    losses = []
    for loss in (tf.keras.losses.Huber(0.5), tf.keras.losses.MeanSquaredError()):
        K.clear_session()
        model = tf.keras.Sequential([tf.keras.layers.Dense(1, "linear", False, "zeros", input_shape=(1,))])
        model.compile(tf.keras.optimizers.SGD(0.0), loss)
        losses.append(model.evaluate(np.ones((4, 1)), np.full((4, 1), 3.0), verbose=0))
    assert losses == pytest.approx([0.5 * (3 - 0.25), 9])


def test_optimizers_refuse_what_older_keras_had_in_these_places():
    assert tf.keras.optimizers.SGD(0.25, 0.5, True).get_config()["nesterov"] is True
    assert tf.keras.optimizers.Adam(lr=0.5, decay=0.25).get_config()["decay"] == 0.25
    with pytest.raises(TypeError, match=r"nesterov.*learning_rate=0\.01, momentum=0\.0, nesterov=False"):
        tf.keras.optimizers.SGD(0.01, 0.9, 1e-6, True)
    with pytest.raises(TypeError, match="rate"):
        tf.keras.optimizers.Adam(rate=0.5)
    with pytest.raises(NotImplementedError, match="centered"):
        tf.keras.optimizers.RMSprop(centered=True)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: tf.keras.initializers.Constant(1, "float32", False, 3), r"keras\.initializers\.Constant.*value=0"),
        (lambda: tf.keras.callbacks.EarlyStopping(rate=1), "EarlyStopping.*monitor='val_loss'"),
        (lambda: tf.keras.layers.dot([1, 2]), r"keras\.layers\.dot.*axes"),
        (lambda: K.gather(1), r"keras\.backend\.gather.*indices"),
        (lambda: tf.estimator.RunConfig(no_such=1), r"RunConfig.*model_dir=None"),
        (lambda: tf.estimator.DNNClassifier(), r"DNNClassifier.*hidden_units, feature_columns"),
        (lambda: tf.contrib.layers.batch_norm(), r"batch_norm.*inputs"),
        (lambda: tf.flags.DEFINE_string("only_a_name"), r"DEFINE_string.*name, default, help"),
    ],
)
def test_wrong_arguments_show_the_right_ones(call, text):
    with pytest.raises(TypeError, match=text):
        call()


def test_regularizers_of_scopes_are_for_variables_that_have_none():
    l1, l2 = tf.contrib.layers.l1_regularizer, tf.contrib.layers.l2_regularizer
    ones = tf.ones_initializer()
    with tf.variable_scope("a", regularizer=l2(2.0), initializer=ones):
        tf.layers.dense(tf.zeros([1, 3]), 4, use_bias=False)
        tf.get_variable("own", [5], regularizer=l1(1.0))
        with tf.variable_scope("inner"):
            tf.get_variable("w", [6])
        with tf.variable_scope("inner", reuse=True):
            tf.get_variable("w", [6])
        with tf.variable_scope("other", regularizer=l1(3.0)):
            tf.get_variable("w", [7])
    tf.get_variable("outside", [2])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(tf.losses.get_regularization_losses()) == [12, 5, 6, 21]


def test_uniform_unit_scaling():
    w = tf.get_variable("w", [300, 10], initializer=tf.uniform_unit_scaling_initializer(2.0, seed=1))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run(w)
    assert 0.19 < np.abs(found).max() <= 0.2  # 2 * sqrt(3 / 300)


def test_a_progress_bar_shows_means(capsys):
    bar = tf.keras.utils.Progbar(4, width=8, interval=0)
    bar.update(1, [("loss", 1.0)])
    bar.add(1, [("loss", 2.0)])
    bar.update(4, [("loss", 3.0)])
    lines = capsys.readouterr().out.split("\r")
    assert lines[2].startswith("2/4 [====>...] - loss: 1.5000")
    assert lines[3] == "4/4 [========] - loss: 2.2500\n"


def test_events_are_read_back(tmp_path):
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag="loss", simple_value=0.5)]), 3)
    (path,) = tmp_path.iterdir()
    first, second = tf.train.summary_iterator(str(path))
    assert first.file_version == "brain.Event:2" and not first.HasField("summary")
    assert (second.step, second.summary.value[0].tag, second.summary.value[0].simple_value) == (3, "loss", 0.5)
