"""MNIST with Keras 3 on its JAX backend: the program of Keras's documentation.

Without --data_dir it trains on the small pictures of examples/data.
"""

from __future__ import annotations

import argparse
import os

os.environ["KERAS_BACKEND"] = "jax"

import digits
import jax
import keras
from keras import layers


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data_dir", default="", help="the folder with mnist/*.gz")
    p.add_argument("--epochs", type=int, default=3)
    a = p.parse_args()

    (x_train, y_train), (x_test, y_test) = digits.load(a.data_dir)
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(32, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Conv2D(64, 3, activation="relu"),
            layers.MaxPooling2D(2),
            layers.Flatten(),
            layers.Dropout(0.5),
            layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    print(f"{len(y_train)} pictures, on {jax.devices()[0].platform}")
    model.fit(x_train, y_train, batch_size=64, epochs=a.epochs, verbose=2)
    loss, accuracy = model.evaluate(x_test, y_test, verbose=0)
    print(f"test loss {loss:.4f}, test accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main()
