"""Estimators: hooks, host calls, scaffolds, exports, feature columns and premade estimators."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("systole_tpu._core")
from systole_tpu import tensorflow as tf

RNG = np.random.RandomState(0)
X = RNG.randn(240, 4).astype(np.float32)
Y = (X @ RNG.randn(4, 3)).argmax(1)


@pytest.fixture(autouse=True)
def _graph():
    tf.reset_default_graph()


def batches(repeat=None):
    return lambda: tf.data.Dataset.from_tensor_slices((X, Y)).repeat(repeat).batch(24)


def model(spec=tf.estimator.EstimatorSpec, optimizer=tf.train.GradientDescentOptimizer, **fields):
    def model_fn(features, labels, mode):
        logits = tf.layers.dense(features, 3, name="logits")
        predictions = {"p": tf.nn.softmax(logits), "class": tf.argmax(logits, 1)}
        if mode == "infer":
            output = tf.estimator.export.PredictOutput({"class": predictions["class"]})
            return spec(mode, predictions=predictions, export_outputs={"classify": output})
        loss = tf.losses.sparse_softmax_cross_entropy(labels=labels, logits=logits)
        step = optimizer(0.5).minimize(loss, tf.train.get_global_step())
        return spec(mode, loss=loss, train_op=step, **{k: v(logits, loss) for k, v in fields.items()})

    return model_fn


class Recorder(tf.train.SessionRunHook):
    def __init__(self, stop_at=None):
        self.calls, self.losses, self.stop_at = [], [], stop_at

    def begin(self):
        self.calls.append("begin")
        self.step = tf.train.get_global_step()
        self.loss = tf.get_collection(tf.GraphKeys.LOSSES)[0]

    def after_create_session(self, session, coord):
        self.calls.append(f"created at {session.run(self.step)}")

    def before_run(self, run_context):
        return tf.train.SessionRunArgs({"loss": self.loss})

    def after_run(self, run_context, run_values):
        self.losses.append(float(run_values.results["loss"]))
        if len(self.losses) == self.stop_at:
            run_context.request_stop()

    def end(self, session):
        self.calls.append(f"end at {session.run(self.step)}")


def test_hooks_of_the_program_see_each_step(tmp_path):
    hook = Recorder()
    estimator = tf.estimator.Estimator(model(), str(tmp_path))
    estimator.train(batches(), hooks=[hook], steps=12)
    assert hook.calls == ["begin", "created at 0", "end at 12"]
    assert len(hook.losses) == 12 and hook.losses[-1] < hook.losses[0]


def test_a_hook_stops_the_training(tmp_path):
    estimator = tf.estimator.Estimator(model(), str(tmp_path))
    estimator.train(batches(), hooks=[Recorder(stop_at=5)], steps=50)
    assert estimator.get_variable_value("global_step") == 5


def test_hooks_of_the_library(tmp_path, caplog):
    tf.logging.set_verbosity(tf.logging.INFO)
    hooks = {"training_hooks": lambda logits, loss: [tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=5)]}
    estimator = tf.estimator.Estimator(model(**hooks), str(tmp_path))
    with caplog.at_level("INFO"):
        estimator.train(batches(), hooks=[tf.train.StopAtStepHook(last_step=7)], steps=100)
    assert estimator.get_variable_value("global_step") == 7


def test_errors_of_hooks_are_the_programs_own(tmp_path):
    class Fails(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            raise LookupError("of the hook")

    with pytest.raises(LookupError, match="of the hook"):
        tf.estimator.Estimator(model(), str(tmp_path)).train(batches(), hooks=[Fails()], steps=3)


def test_host_call_and_scaffold(tmp_path):
    seen, begun = [], []

    def write(step, loss):
        return tf.py_func(
            lambda s, x: seen.append((int(np.max(s)), float(np.mean(x)))) or np.int32(0), [step, loss], tf.int32
        )

    def host_call(logits, loss):
        step = tf.reshape(tf.cast(tf.train.get_global_step(), tf.int32), [1])
        return write, [step, tf.reshape(loss, [1])]

    def scaffold_fn(logits, loss):
        return lambda: tf.train.Scaffold(init_fn=lambda scaffold, session: begun.append(session.run("global_step:0")))

    def optimizer(rate):
        return tf.contrib.tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(rate))

    model_fn = model(tf.contrib.tpu.TPUEstimatorSpec, optimizer, host_call=host_call, scaffold_fn=scaffold_fn)
    config = tf.contrib.tpu.RunConfig(
        model_dir=str(tmp_path), master="local:v2-8", tpu_config=tf.contrib.tpu.TPUConfig(iterations_per_loop=2)
    )
    estimator = tf.contrib.tpu.TPUEstimator(model_fn, config=config, train_batch_size=24)
    estimator.train(
        lambda params: (
            tf.data.Dataset.from_tensor_slices((X, Y.astype(np.int32))).repeat().batch(params["batch_size"], True)
        ),
        max_steps=6,
    )
    assert len(seen) == 6 and np.isfinite([loss for _, loss in seen]).all()
    assert [int(s) for s in begun] == [0]


def test_exported_signatures_are_loaded_again(tmp_path):
    estimator = tf.estimator.Estimator(model(), str(tmp_path / "run"))
    estimator.train(batches(), steps=20)

    def receiver():
        x = tf.placeholder(tf.float32, [None, 4], "x")
        return tf.estimator.export.ServingInputReceiver(x, {"x": x})

    folder = estimator.export_savedmodel(str(tmp_path / "export"), receiver).decode()
    expected = [p["class"] for p in estimator.predict(batches(1))]
    with tf.Session(graph=tf.Graph()) as session:
        loaded = tf.saved_model.loader.load(session, [tf.saved_model.tag_constants.SERVING], folder)
        signature = loaded.signature_def["classify"]
        classes = session.run(signature.outputs["class"].name, {signature.inputs["x"].name: X})
    np.testing.assert_array_equal(classes, expected)


def test_premade_estimators_on_feature_columns(tmp_path):
    columns = [tf.feature_column.numeric_column(f"x{i}") for i in range(4)]
    features = {f"x{i}": X[:, i] for i in range(4)}
    features["kind"] = (X[:, 0] > 0).astype(np.int64)
    kind = tf.feature_column.categorical_column_with_identity("kind", 2)
    columns += [tf.feature_column.indicator_column(kind), tf.feature_column.embedding_column(kind, 2)]
    columns.append(tf.feature_column.bucketized_column(columns[0], [-0.5, 0.0, 0.5]))
    input_fn = tf.estimator.inputs.numpy_input_fn(features, Y, batch_size=40, num_epochs=None, shuffle=True)
    estimator = tf.estimator.DNNClassifier([16], columns, str(tmp_path), n_classes=3)
    estimator.train(input_fn, steps=200)
    once = tf.estimator.inputs.numpy_input_fn(features, Y, num_epochs=1, shuffle=False)
    assert estimator.evaluate(once)["accuracy"] > 0.85
    assert next(iter(estimator.predict(once)))["probabilities"].shape == (3,)
    assert "dnn/hiddenlayer_0/kernel" in estimator.get_variable_names()


def test_a_keras_model_as_an_estimator(tmp_path):
    keras_model = tf.keras.Sequential([tf.keras.layers.Dense(3, activation="softmax", input_shape=(4,), name="out")])
    keras_model.compile(tf.keras.optimizers.SGD(0.5), "sparse_categorical_crossentropy", ["accuracy"])
    estimator = tf.keras.estimator.model_to_estimator(keras_model, model_dir=str(tmp_path))
    estimator.train(batches(), steps=60)
    assert estimator.evaluate(batches(1))["acc"] > 0.8


def test_predictions_without_a_checkpoint_run_the_initializers(tmp_path):
    def model_fn(features, labels, mode):
        w = tf.get_variable("w", [1], initializer=tf.constant_initializer(3.0))
        return tf.estimator.EstimatorSpec(mode, predictions=features["x"] * w)

    estimator = tf.estimator.Estimator(model_fn, model_dir=str(tmp_path))
    input_fn = tf.estimator.inputs.numpy_input_fn({"x": np.array([[1.0], [2.0]], np.float32)}, shuffle=False)
    assert [float(p[0]) for p in estimator.predict(input_fn)] == [3.0, 6.0]
    with pytest.raises(tf.errors.NotFoundError, match="Could not find trained model"):
        estimator.get_variable_names()
