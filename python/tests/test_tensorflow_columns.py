"""tf.feature_column and the premade estimators, with texts; train_and_evaluate and exports."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("systole_tpu._core")
import systole_tpu.tensorflow as tf

column = tf.feature_column
WORDS = ["low", "middle", "high"]


@pytest.fixture(autouse=True)
def _graph():
    tf.reset_default_graph()


def rows(count=400):
    """Examples whose label depends on a word, a pair of words and a number."""
    rng = np.random.RandomState(0)
    level, colour = rng.choice(WORDS, count), rng.choice(["red", "green"], count)
    age = rng.randint(0, 90, count).astype(np.int64)
    score = (level == "high") * 2.0 + ((level == "low") & (colour == "red")) * 2.0 + (age > 50)
    return {"level": level.astype(object), "colour": colour.astype(object), "age": age}, score > 1.5


def input_fn(batch=40, epochs=1):
    def read():
        return tf.data.Dataset.from_tensor_slices(rows()).repeat(epochs).batch(batch)

    return read


def columns():
    age = column.numeric_column("age", normalizer_fn=lambda x: x / 90.0)
    buckets = column.bucketized_column(column.numeric_column("age"), [20, 50, 70])
    level = column.categorical_column_with_vocabulary_list("level", WORDS)
    colour = column.categorical_column_with_hash_bucket("colour", 10)
    crossed = column.crossed_column(["level", "colour"], 50)
    both = column.crossed_column([buckets, "colour"], 50)
    return [level, colour, buckets, crossed, both], [age, column.indicator_column(level),
                                                     column.embedding_column(colour, 4)]  # fmt: skip


def test_columns_give_classes():
    wide, deep = columns()
    features = {
        "level": tf.constant(["high", "none"]),
        "colour": tf.constant(["red", "green"]),
        "age": tf.constant([10, 60], tf.int64),
    }
    numbers = [c.numbers(features) for c in wide]
    outside = column.categorical_column_with_vocabulary_list("level", WORDS, num_oov_buckets=2).numbers(features)
    layer = column.input_layer(features, [deep[0], deep[1]])
    with tf.Session() as session:
        got = [v.tolist() for v in session.run(numbers)]
        assert session.run(outside).tolist()[0] == 2 and session.run(outside).tolist()[1] >= 3
        np.testing.assert_allclose(session.run(layer), [[10 / 90, 0, 0, 1], [60 / 90, 0, 0, 0]], rtol=1e-6)
    assert got[0] == [2, -1] and got[2] == [0, 2]
    assert all(0 <= n < 50 for n in got[3] + got[4])
    with pytest.raises(ValueError, match="keys must be a list with length > 1"):
        column.crossed_column(["a"], 10)
    with pytest.raises(ValueError, match="_DenseColumn"):
        column.input_layer(features, [wide[0]])


def test_crossed_buckets_are_those_of_tensorflow():
    # tf.sparse.cross_hashed of TensorFlow 1.15 for [3, -1] and ["red", "green"], 1000 buckets.
    features = {"n": tf.constant([3, -1], tf.int64), "word": tf.constant(["red", "green"])}
    number = column.categorical_column_with_identity("n", 10)
    with tf.Session() as session:
        assert session.run(column.crossed_column(["word", number], 1000).numbers(features)).tolist() == [9, 176]


@pytest.mark.parametrize("kind", ["wide", "deep", "both"])
def test_classifiers_of_texts(tmp_path, kind):
    wide, deep = columns()
    options = {"model_dir": str(tmp_path), "config": tf.estimator.RunConfig(tf_random_seed=1)}
    if kind == "wide":
        model = tf.estimator.LinearClassifier(wide, **options)
    elif kind == "deep":
        model = tf.estimator.DNNClassifier([16], deep, optimizer="Adam", **options)
    else:
        model = tf.estimator.DNNLinearCombinedClassifier(
            linear_feature_columns=wide, dnn_feature_columns=deep, dnn_hidden_units=[16], **options
        )
    model.train(input_fn(epochs=30))
    found = model.evaluate(input_fn())
    wanted = {"accuracy", "accuracy_baseline", "auc", "average_loss", "global_step", "label/mean", "loss", "precision",
              "prediction/mean", "recall"}  # fmt: skip
    assert wanted <= set(found) and found["global_step"] == 300
    assert found["loss"] == pytest.approx(40 * found["average_loss"], rel=1e-4)
    assert found["accuracy_baseline"] == pytest.approx(max(found["label/mean"], 1 - found["label/mean"]))
    assert found["accuracy"] > (0.75 if kind == "deep" else 0.9)
    first = next(model.predict(input_fn()))
    assert first["classes"].tolist() == [str(first["class_ids"][0]).encode()]
    assert first["logistic"][0] == pytest.approx(first["probabilities"][1], rel=1e-5)


def test_labels_may_be_words(tmp_path):
    def words():
        features, labels = rows()
        return tf.data.Dataset.from_tensor_slices((features, np.where(labels, "yes", "no").astype(object))).batch(50)

    wide, _ = columns()
    model = tf.estimator.LinearClassifier(wide, label_vocabulary=["no", "yes"], model_dir=str(tmp_path))
    model.train(lambda: words().repeat(20))
    assert model.evaluate(words)["accuracy"] > 0.85
    assert {p["classes"][0] for p in model.predict(words, predict_keys="classes")} == {b"no", b"yes"}


def test_regressors_and_weights(tmp_path):
    def read():
        x = np.arange(40, dtype=np.float32)
        features = {"x": x / 40, "weight": (x < 20).astype(np.float32)}
        return tf.data.Dataset.from_tensor_slices((features, np.where(x < 20, x / 10, 99.0))).repeat(60).batch(40)

    model = tf.estimator.LinearRegressor([column.numeric_column("x")], weight_column="weight", model_dir=str(tmp_path))
    model.train(read)
    assert model.evaluate(read, steps=1)["average_loss"] < 1.0


def test_training_with_evaluations_and_exports(tmp_path):
    wide = columns()[0][:3]  # TensorFlow has no op for the buckets of crossed columns
    config = tf.estimator.RunConfig(model_dir=str(tmp_path), save_checkpoints_steps=20)
    model = tf.estimator.LinearClassifier(wide, config=config)
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(column.make_parse_example_spec(wide))
    exporters = [tf.estimator.LatestExporter("latest", receiver, exports_to_keep=1),
                 tf.estimator.FinalExporter("final", receiver)]  # fmt: skip
    metrics, exports = tf.estimator.train_and_evaluate(
        model,
        tf.estimator.TrainSpec(input_fn(epochs=30), max_steps=50),
        tf.estimator.EvalSpec(input_fn(), steps=None, exporters=exporters, throttle_secs=0),
    )
    assert metrics["global_step"] == 50 and len(exports) == 2
    assert len(list((tmp_path / "export" / "latest").iterdir())) == 1
    with tf.Session(graph=tf.Graph()) as session:
        loaded = tf.saved_model.loader.load(session, ["serve"], exports[1].decode())
        signature = loaded.signature_def["serving_default"]
        features = tf.train.Features(feature={
            "level": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"high"])),
            "colour": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"red"])),
            "age": tf.train.Feature(float_list=tf.train.FloatList(value=[60.0])),
        })  # fmt: skip
        example = tf.train.Example(features=features).SerializeToString()
        feeds = {signature.inputs["examples"].name: [example]}
        assert session.run(signature.outputs["probabilities"].name, feeds)[0, 1] > 0.5
    with pytest.raises(ValueError, match="max_steps > 0"):
        tf.estimator.TrainSpec(input_fn(), max_steps=0)


@pytest.mark.parametrize("parts, scope", [("wide", "linear/"), ("deep", "dnn/"), ("both", "")])
def test_losses_have_the_names_that_hooks_log(tmp_path, parts, scope):
    wide, deep = columns()
    made = {
        "wide": lambda: tf.estimator.LinearClassifier(wide, str(tmp_path)),
        "deep": lambda: tf.estimator.DNNClassifier([8], deep, str(tmp_path)),
        "both": lambda: tf.estimator.DNNLinearCombinedClassifier(str(tmp_path), wide, None, deep, None, [8]),
    }[parts]()
    seen = []

    names = {"loss": f"{scope}head/weighted_loss/Sum", "average": f"{scope}head/truediv"}
    hook = tf.train.LoggingTensorHook(names, every_n_iter=1, formatter=lambda values: str(seen.append(dict(values))))
    made.train(input_fn(), steps=1, hooks=[hook])
    np.testing.assert_allclose(seen[0]["loss"] / 40, seen[0]["average"], rtol=1e-5)
