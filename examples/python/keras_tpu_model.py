"""A Keras model on a TPU: `systole run --tpu v2-8 examples/python/keras_tpu_model.py`.

Digits come from ~/.keras/datasets, or $KERAS_HOME: mnist.npz, or the four original files in a folder mnist.
"""

import sys

import numpy as np
import tensorflow as tf
from tensorflow.keras import Sequential
from tensorflow.keras.datasets import mnist
from tensorflow.keras.layers import Conv2D, Dense, Dropout, Flatten, MaxPooling2D


def main(examples=60000, epochs=2):
    (x_train, y_train), (x_test, y_test) = mnist.load_data()
    x_train = np.expand_dims(x_train[:examples] / 255.0, -1).astype("float32")
    x_test = np.expand_dims(x_test / 255.0, -1).astype("float32")
    model = Sequential(
        [
            Conv2D(16, (5, 5), activation="relu", input_shape=(28, 28, 1)),
            MaxPooling2D(),
            Flatten(),
            Dropout(0.3),
            Dense(10, activation="softmax"),
        ]
    )
    tpu = tf.contrib.cluster_resolver.TPUClusterResolver("my_tpu")
    model = tf.contrib.tpu.keras_to_tpu_model(model, strategy=tf.contrib.tpu.TPUDistributionStrategy(tpu))
    model.compile(optimizer=tf.train.AdamOptimizer(1e-3), loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    model.fit(x_train, y_train[:examples], epochs=epochs, batch_size=256, verbose=2)
    model = model.sync_to_cpu()
    _, accuracy = model.evaluate(x_test, y_test, batch_size=256, verbose=0)
    print(f"test accuracy = {accuracy:.4f}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
