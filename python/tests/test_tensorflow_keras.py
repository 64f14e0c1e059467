"""tf.keras: models, layers of Python, callbacks, files and the virtual TPU."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("systole_tpu._core")
from systole_tpu import tensorflow as tf

keras = tf.keras
layers = tf.keras.layers


@pytest.fixture(autouse=True)
def session():
    keras.backend.clear_session()
    tf.set_random_seed(5)


def digits(count=256, size=12, classes=3, seed=0):
    """Rows around one of three centres, and their centres' numbers."""
    rng = np.random.RandomState(seed)
    y = rng.randint(0, classes, count)
    centres = np.random.RandomState(9).randn(classes, size)
    return (centres[y] + 0.3 * rng.randn(count, size)).astype(np.float32), y


def perceptron():
    model = keras.Sequential([layers.Dense(16, activation="relu", input_shape=(12,)), layers.Dense(3, "softmax")])
    model.compile("adam", "sparse_categorical_crossentropy", ["accuracy"])
    return model


def test_sequential_learns():
    x, y = digits()
    model = perceptron()
    history = model.fit(x, y, batch_size=32, epochs=12, verbose=0, validation_split=0.25)
    assert history.epoch == list(range(12))
    assert set(history.history) == {"loss", "acc", "val_loss", "val_acc"}
    assert history.history["loss"][-1] < 0.5 * history.history["loss"][0]
    loss, accuracy = model.evaluate(x, y, verbose=0)
    assert accuracy > 0.95 and np.isfinite(loss)
    p = model.predict(x)
    assert p.shape == (256, 3) and p.dtype == np.float32
    np.testing.assert_allclose(p.sum(axis=1), 1, rtol=1e-5)
    assert (model.predict_classes(x) == y).mean() == pytest.approx(accuracy)


def test_one_step_of_sgd_by_hand():
    model = keras.Sequential([layers.Dense(1, use_bias=False, kernel_initializer="ones", input_dim=2)])
    model.compile(keras.optimizers.SGD(lr=0.5), "mse")
    assert model.train_on_batch(np.array([[1.0, 2.0]]), np.array([[1.0]])) == pytest.approx(4)
    # d(3 - 1)^2 = 2 * 2 * (1, 2), times 0.5.
    np.testing.assert_allclose(model.get_weights()[0], [[-1], [-3]], rtol=1e-6)
    model.optimizer.lr = 0.25
    assert keras.backend.get_value(model.optimizer.lr) == 0.25
    assert model.optimizer.iterations._value() == 1


def test_classes_have_the_arguments_of_the_registry():
    dense = layers.Dense(4, activation=tf.nn.tanh, kernel_initializer=keras.initializers.RandomNormal(stddev=0.1))
    config = dense.get_config()
    assert config["activation"] == "tanh" and config["units"] == 4
    assert config["kernel_initializer"]["class_name"] == "RandomNormal"
    assert dense.units == 4
    with pytest.raises(TypeError, match="understood"):
        layers.Dense(4, unit=3)
    with pytest.raises(TypeError, match="units"):
        layers.Dense()
    with pytest.raises(ValueError, match="Dense: units"):
        layers.Dense(0)
    assert layers.Conv2D(2, 3).kernel_size == [3, 3] or layers.Conv2D(2, 3).kernel_size == [3]


def test_functional_model_with_two_inputs():
    a, b = keras.Input((4,), name="a"), keras.Input((3,), name="b")
    joined = layers.concatenate([layers.Dense(5, "relu")(a), layers.Dense(5, "relu")(b)])
    model = keras.Model([a, b], layers.Dense(1, name="out")(joined))
    model.compile(keras.optimizers.RMSprop(0.01), {"out": "mse"})
    rng = np.random.RandomState(0)
    data = {"b": rng.randn(64, 3), "a": rng.randn(64, 4)}
    target = data["a"].sum(1, keepdims=True) - data["b"][:, :1]
    first = model.evaluate(data, target, verbose=0)
    model.fit(data, {"out": target}, epochs=30, verbose=0)
    assert model.evaluate([data["a"], data["b"]], target, verbose=0) < 0.2 * first
    assert [layer.name for layer in model.layers if "input" not in layer.name][:2] == ["a", "b"]
    assert model.get_layer("out").output_shape == (None, 1)


def test_functions_of_tensors_between_layers():
    x = keras.Input((4,))
    doubled = tf.reduce_sum(x * 2.0 + 1.0, axis=1, keepdims=True)
    shifted = layers.Lambda(lambda t, by: t + by, arguments={"by": 3.0})(doubled)
    model = keras.Model(x, keras.backend.square(shifted))
    np.testing.assert_allclose(model.predict(np.ones((2, 4), np.float32)), [[225], [225]])


class Scale(layers.Layer):
    """x times a weight of each column."""

    def __init__(self, start=2.0, **kwargs):
        self.start = start
        super().__init__(**kwargs)

    def build(self, input_shape):
        self.factor = self.add_weight(
            name="factor", shape=(int(input_shape[-1]),), initializer=keras.initializers.Constant(self.start)
        )
        super().build(input_shape)

    def call(self, inputs):
        return inputs * self.factor

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "start": self.start}


def test_layer_of_the_program_trains_and_is_saved(tmp_path):
    model = keras.Sequential([Scale(3.0, input_shape=(2,)), layers.Dense(1)])
    model.compile("sgd", "mse")
    x = np.random.RandomState(1).randn(32, 2)
    before = model.layers[0].get_weights()[0]
    np.testing.assert_array_equal(before, [3, 3])
    model.fit(x, x[:, :1], epochs=3, verbose=0)
    assert (model.layers[0].get_weights()[0] != before).all()
    model.save(tmp_path / "scaled.h5")
    again = keras.models.load_model(tmp_path / "scaled.h5", custom_objects={"Scale": Scale})
    assert isinstance(again.layers[0], Scale) and again.layers[0].start == 3.0
    np.testing.assert_array_equal(again.predict(x), model.predict(x))


class Classifier(keras.Model):
    def __init__(self):
        super().__init__(name="classifier")
        self.hidden = layers.Dense(8, activation="tanh")
        self.drop = layers.Dropout(0.5)
        self.head = layers.Dense(3, activation="softmax")
        self.phases = []

    def call(self, inputs, training=False):
        self.phases.append(bool(training))
        return self.head(self.drop(self.hidden(inputs), training=training))


def test_subclass_of_model():
    x, y = digits(96)
    model = Classifier()
    model.compile(tf.train.AdamOptimizer(0.01), "sparse_categorical_crossentropy", ["acc"])
    history = model.fit(x, y, epochs=8, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]
    assert len(model.trainable_weights) == 4
    model.predict(x)
    assert True in model.phases and False in model.phases


class Recorder(keras.callbacks.Callback):
    def __init__(self, stop_after=None):
        super().__init__()
        self.calls, self.stop_after = [], stop_after

    def on_train_begin(self, logs=None):
        self.calls.append("begin")

    def on_batch_end(self, batch, logs=None):
        self.calls.append(f"batch {batch} {logs['size']}")

    def on_epoch_end(self, epoch, logs=None):
        self.calls.append(f"epoch {epoch}")
        logs["twice"] = 2 * logs["loss"]
        if epoch == self.stop_after:
            self.model.stop_training = True

    def on_train_end(self, logs=None):
        self.calls.append("end")


def test_callbacks_of_the_program():
    x, y = digits(64)
    recorder = Recorder(stop_after=1)
    history = perceptron().fit(x, y, 32, 5, callbacks=[recorder], verbose=0)
    each = ["batch 0 32", "batch 1 32"]
    assert recorder.calls == ["begin", *each, "epoch 0", *each, "epoch 1", "end"]
    assert recorder.params["epochs"] == 5 and recorder.params["batch_size"] == 32
    assert history.history["twice"][1] == pytest.approx(2 * history.history["loss"][1])


def test_error_of_a_callback_is_the_programs_own():
    class Fails(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            raise LookupError("of the program")

    x, y = digits(32)
    with pytest.raises(LookupError, match="of the program"):
        perceptron().fit(x, y, callbacks=[Fails()], verbose=0)


def test_callbacks_of_the_library(tmp_path):
    x, y = digits(96)
    model = perceptron()
    callbacks = [
        keras.callbacks.EarlyStopping(monitor="loss", min_delta=10, patience=2),
        keras.callbacks.ModelCheckpoint(str(tmp_path / "{epoch}.h5"), save_weights_only=True),
        keras.callbacks.CSVLogger(str(tmp_path / "log.csv")),
        keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 / (epoch + 1)),
    ]
    history = model.fit(x, y, epochs=10, callbacks=callbacks, verbose=0)
    assert len(history.epoch) == 3
    assert sorted(p.name for p in tmp_path.iterdir()) == ["1.h5", "2.h5", "3.h5", "log.csv"]
    assert len((tmp_path / "log.csv").read_text().splitlines()) == 4
    assert keras.backend.get_value(model.optimizer.lr) == pytest.approx(0.1 / 3)
    with pytest.raises(TypeError, match="pations"):
        keras.callbacks.EarlyStopping(pations=3)


def test_convolutional_and_recurrent_layers():
    rng = np.random.RandomState(0)
    images = keras.Sequential(
        [
            layers.Conv2D(4, (3, 3), activation="relu", input_shape=(8, 8, 1)),
            layers.BatchNormalization(),
            layers.MaxPooling2D(),
            layers.Flatten(),
            layers.Dense(2, activation="softmax"),
        ]
    )
    images.compile("adam", "categorical_crossentropy")
    labels = keras.utils.to_categorical(rng.randint(0, 2, 20))
    assert len(images.fit(rng.rand(20, 8, 8, 1), labels, verbose=0).history["loss"]) == 1
    words = keras.Sequential(
        [layers.Embedding(20, 4, mask_zero=True), layers.Bidirectional(layers.LSTM(3)), layers.Dense(1, "sigmoid")]
    )
    words.compile("rmsprop", "binary_crossentropy", metrics=["accuracy"])
    text = keras.preprocessing.sequence.pad_sequences([[3, 4], [5, 6, 7], [8]], maxlen=4)
    assert text.tolist() == [[0, 0, 3, 4], [0, 5, 6, 7], [0, 0, 0, 8]]
    words.fit(text, np.array([0, 1, 1]), verbose=0)
    assert words.predict(text).shape == (3, 1)


def test_generators_sequences_and_data_sets():
    x, y = digits(64)

    def forever():
        while True:
            yield x[:16], y[:16]

    class Batches(keras.utils.Sequence):
        def __len__(self):
            return 4

        def __getitem__(self, index):
            return x[16 * index : 16 * index + 16], y[16 * index : 16 * index + 16]

    model = perceptron()
    assert len(model.fit_generator(forever(), steps_per_epoch=3, epochs=2, verbose=0).epoch) == 2
    assert len(model.fit_generator(Batches(), epochs=2, verbose=0, validation_data=(x, y)).history["val_loss"]) == 2
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(16).repeat()
    assert len(model.fit(dataset, epochs=2, steps_per_epoch=4, verbose=0).epoch) == 2
    np.testing.assert_allclose(
        model.evaluate(Batches(), verbose=0), model.evaluate(x, y, batch_size=16, verbose=0), rtol=1e-5
    )


def test_losses_and_metrics_of_the_program():
    def absolute(y_true, y_pred):
        return keras.backend.mean(keras.backend.abs(y_true - y_pred), axis=-1)

    model = keras.Sequential([layers.Dense(1, kernel_initializer="zeros", input_shape=(2,))])
    model.compile("sgd", loss=absolute, metrics=[absolute, "mae"])
    assert model.evaluate(np.ones((4, 2)), np.full((4, 1), 3.0), verbose=0) == pytest.approx([3, 3, 3])
    assert model.metrics_names == ["loss", "absolute", "mean_absolute_error"]


def test_weights_in_files(tmp_path):
    x, _ = digits(16)
    model, other = perceptron(), perceptron()
    model.save_weights(str(tmp_path / "w.h5"))
    other.load_weights(str(tmp_path / "w.h5"))
    np.testing.assert_array_equal(model.predict(x), other.predict(x))
    again = keras.models.model_from_json(model.to_json())
    again.set_weights(model.get_weights())
    np.testing.assert_array_equal(again.predict(x), model.predict(x))
    with pytest.raises(ValueError):
        other.set_weights(model.get_weights()[:1])


def test_tpu_model_shares_weights():
    x, y = digits(128)
    model = perceptron()
    strategy = tf.contrib.tpu.TPUDistributionStrategy(tf.contrib.cluster_resolver.TPUClusterResolver("local:v2-8"))
    tpu_model = tf.contrib.tpu.keras_to_tpu_model(model, strategy)
    tpu_model.compile(tf.train.AdamOptimizer(0.05), "sparse_categorical_crossentropy", ["acc"])
    history = tpu_model.fit(x, y, batch_size=64, epochs=5, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]
    cpu_model = tpu_model.sync_to_cpu()
    assert cpu_model is model
    np.testing.assert_allclose(cpu_model.predict(x), tpu_model.predict(x), rtol=1e-4, atol=1e-6)


def test_layers_in_a_graph_of_tensorflow():
    model = keras.Sequential([layers.Dense(4, activation="relu", input_shape=(3,)), layers.Dense(1)])
    x = tf.placeholder(tf.float32, [None, 3])
    y = model(x, training=True)
    assert [v.name for v in tf.trainable_variables()] == [
        "dense/kernel:0", "dense/bias:0", "dense_1/kernel:0", "dense_1/bias:0",
    ]  # fmt: skip
    step = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(tf.square(y - 1.0)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        feed = {x: np.ones((4, 3))}
        first = session.run(y, feed)
        for _ in range(20):
            session.run(step, feed)
        assert abs(session.run(y, feed) - 1).max() < abs(first - 1).max()


def test_bad_input():
    model = perceptron()
    with pytest.raises(ValueError, match=r"expected dense\w*_input to have shape"):
        model.predict(np.ones((2, 5)))
    with pytest.raises(ValueError, match="Unknown loss"):
        model.compile("sgd", "nothing")
    with pytest.raises(ValueError, match="Unknown optimizer"):
        model.compile("nothing", "mse")
    with pytest.raises(ValueError, match="Graph disconnected"):
        keras.Model(keras.Input((2,)), layers.Dense(1)(keras.Input((2,))))
    with pytest.raises(TypeError, match="Layer"):
        model.add(3)


def test_losses_of_a_whole_batch():
    """The mean of all examples, as K.mean() gives it: the last batch is smaller, and counts as it is."""
    K = keras.backend
    x = np.sin(np.arange(30, dtype=np.float32)).reshape(10, 3)
    histories = []
    for whole in (False, True):
        model = keras.Sequential([keras.layers.Dense(3, input_shape=(3,))])
        loss = (lambda t, p: K.mean(K.square(p - t))) if whole else "mse"
        model.compile(keras.optimizers.SGD(0.1), loss, metrics=[lambda t, p: K.mean(K.abs(p - t))])
        model.set_weights([np.eye(3, dtype=np.float32)[::-1], np.zeros(3, np.float32)])
        fitted = model.fit(x, x, batch_size=4, epochs=2, shuffle=False, verbose=0, validation_split=0.3)
        histories.append(fitted.history)
    for key in ("loss", "val_loss"):
        np.testing.assert_allclose(histories[1][key], histories[0][key], rtol=1e-5)
    inputs = keras.Input((3,))
    outputs = keras.layers.Dense(3)(inputs)
    model = keras.Model(inputs, outputs)
    model.add_loss(K.mean(K.sum(K.square(outputs - inputs), axis=-1)))
    model.compile("adam")
    before = model.evaluate(x, batch_size=4, verbose=0)
    assert before == pytest.approx(np.mean(np.sum((model.predict(x) - x) ** 2, 1)), rel=1e-4)
    model.fit(x, batch_size=4, epochs=20, verbose=0)
    assert model.evaluate(x, verbose=0) < before


def test_convolutional_recurrence():
    model = keras.Sequential(
        [
            keras.layers.ConvLSTM2D(3, (3, 3), padding="same", return_sequences=True, input_shape=(None, 6, 6, 1)),
            keras.layers.ConvLSTM2D(2, 2, strides=2, data_format="channels_last"),
        ]
    )
    assert model.output_shape == (None, 3, 3, 2)
    model.compile("adadelta", "mse")
    x, y = np.random.rand(4, 5, 6, 6, 1), np.zeros((4, 3, 3, 2))
    history = model.fit(x, y, epochs=3, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]
    with pytest.raises(NotImplementedError, match="stateful"):
        keras.layers.ConvLSTM2D(3, 3, stateful=True)


def test_inputs_that_are_tensors_of_data():
    rows = np.random.RandomState(0).rand(40, 4).astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices((rows, rows.sum(1, keepdims=True))).repeat().batch(8)
    inputs, targets = data.make_one_shot_iterator().get_next()
    model_input = keras.layers.Input(tensor=inputs)
    model = keras.Model(model_input, keras.layers.Dense(1, kernel_initializer="zeros")(model_input))
    model.compile(keras.optimizers.SGD(0.1), "mse", target_tensors=[targets])
    with pytest.raises(ValueError, match="steps_per_epoch"):
        model.fit(epochs=1)
    history = model.fit(epochs=3, steps_per_epoch=5, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]
    assert model.predict(steps=2).shape == (16, 1)
    assert model.evaluate(steps=1, verbose=0) < history.history["loss"][0]
    x = tf.placeholder(tf.float32, [None, 4])
    assert keras.layers.Input(tensor=x) is x


def test_what_a_tpu_says_of_a_model():
    model = keras.Sequential([keras.layers.Dense(16, input_shape=(8,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    report = model.check(np.zeros((1, 8)), np.zeros((1, 1)), batch_size=64)
    assert report.ok, str(report)
    assert report.to_dict()["memory"]["variables"] > 0
    with pytest.raises(TypeError, match="unexpected keyword argument 'system'"):
        model.check(np.zeros((1, 8)), np.zeros((1, 1)), system="v3-8")
