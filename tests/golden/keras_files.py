"""Models of Keras 2.15 and Keras 3, after two steps of training, and what they predict and how they train on."""

import pathlib
from typing import Any

import golden
import keras
import numpy as np

layers = keras.layers


def data(shape: tuple[int, ...], modulus: int = 7) -> np.ndarray:
    return (np.arange(np.prod(shape)) % modulus / 4 - 0.5).astype(np.float32).reshape(shape)


def dense() -> tuple[Any, np.ndarray, np.ndarray]:
    model = keras.Sequential(
        [keras.Input((5,)), layers.Dense(4, activation="relu"), layers.BatchNormalization(), layers.Dense(2)],
        name="dense",
    )
    model.compile(keras.optimizers.Adam(0.01), "mse")
    return model, data((6, 5)), data((6, 2), 5)


def convolution() -> tuple[Any, np.ndarray, np.ndarray]:
    image = keras.Input((6, 6, 2), name="image")
    x = layers.Conv2D(3, 3, padding="same", activation="relu", name="conv")(image)
    y = layers.SeparableConv2D(3, 3, padding="same", name="separable")(x)
    x = layers.add([x, y])
    x = layers.MaxPooling2D()(x)
    x = layers.Flatten()(x)
    model = keras.Model(image, layers.Dense(3, activation="softmax", name="classes")(x), name="convolution")
    model.compile(keras.optimizers.SGD(0.05, momentum=0.9), "categorical_crossentropy")
    return model, data((4, 6, 6, 2), 11), np.eye(3, dtype=np.float32)[[0, 1, 2, 1]]


def recurrent() -> tuple[Any, np.ndarray, np.ndarray]:
    model = keras.Sequential(
        [
            keras.Input((5,)),
            layers.Embedding(9, 3),
            layers.Bidirectional(layers.LSTM(2, return_sequences=True)),
            layers.GRU(3),
            layers.Dense(1, activation="sigmoid"),
        ],
        name="recurrent",
    )
    model.compile(keras.optimizers.RMSprop(0.01), "binary_crossentropy")
    return model, (np.arange(20) % 9).astype(np.float32).reshape(4, 5), np.array([[0], [1], [1], [0]], np.float32)


def attention() -> tuple[Any, np.ndarray, np.ndarray]:
    words = keras.Input((5,), name="words")
    x = layers.Embedding(9, 4, mask_zero=True, name="embedding")(words)
    y = layers.MultiHeadAttention(2, 3, name="causal")(x, x, use_causal_mask=True)
    z = layers.Attention(use_scale=True, name="attention")([y, x])
    heads = layers.MultiHeadAttention(2, 3, value_dim=2, use_bias=False, output_shape=3, name="heads")
    z, _ = heads(z, y, key=x, return_attention_scores=True)
    z = layers.GlobalAveragePooling1D(name="mean")(z)
    model = keras.Model(words, layers.Dense(1, activation="sigmoid", name="out")(z), name="attention")
    # Not Adam: the gradient of the keys' bias is 0 but for rounding.
    model.compile(keras.optimizers.SGD(0.05, momentum=0.9), "binary_crossentropy")
    ids = (np.arange(20) % 9).astype(np.float32).reshape(4, 5)
    ids[1, 3:] = 0
    return model, ids, np.array([[0], [1], [1], [0]], np.float32)


MODELS = {"attention": attention, "dense": dense, "convolution": convolution, "recurrent": recurrent}


def make_models(folder: pathlib.Path, suffixes: list[str]) -> None:
    for name, make in MODELS.items():
        keras.backend.clear_session()
        keras.utils.set_random_seed(11)
        model, x, y = make()
        for _ in range(2):
            model.train_on_batch(x, y)
        for suffix in suffixes:
            if suffix == ".weights.h5":
                model.save_weights(folder / f"{name}{suffix}")
            else:
                model.save(folder / f"{name}{suffix}")


def keras_contents(folder: pathlib.Path) -> dict[str, Any]:
    """Returns, for each model, what the model that Keras loads again predicts, and its losses in two more steps."""
    contents = {}
    for path in sorted(folder.iterdir()):
        if path.name.endswith(".weights.h5"):
            continue
        model = keras.models.load_model(path)
        _, x, y = MODELS[path.stem]()
        contents[golden.relative(path)] = {
            "parameters": model.count_params(),
            "predictions": golden.tensor_json(model.predict(x, verbose=0)),
            "x": golden.tensor_json(x),
            "y": golden.tensor_json(y),
            "losses": [float(np.asarray(model.train_on_batch(x, y)).reshape(-1)[0]) for _ in range(2)],
        }
    return contents
