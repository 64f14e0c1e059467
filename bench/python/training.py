"""What the programs of this folder share: fixed data, and a Session loop that is measured."""

from __future__ import annotations

import json
import sys
import time

import numpy as np
import tensorflow as tf

# The losses of so many steps are compared.
COMPARED = 20
# Long against the clock's own cost.
CHUNK_SECONDS = 0.05


def digits(batches=8, batch=128):
    """Random images of 784 numbers and their classes, as a loop over MNIST would feed."""
    rng = np.random.RandomState(1)
    images = rng.rand(batches * batch, 784).astype(np.float32)
    labels = rng.randint(0, 10, batches * batch)
    return [(images[i : i + batch], labels[i : i + batch]) for i in range(0, batches * batch, batch)]


def irises(count=150):
    """As many random flowers as the iris data has, of four lengths and a column of ones, and one-hot rows."""
    rng = np.random.RandomState(2)
    x = np.hstack([np.ones((count, 1)), rng.rand(count, 4) * 6])
    return x, np.eye(3)[rng.randint(0, 3, count)]


def set_first_values(session):
    """Gives variables values that no library draws."""
    rng = np.random.RandomState(3)
    for variable in tf.trainable_variables():
        shape = variable.shape.as_list()
        scale = 1 / np.sqrt(np.prod(shape[:-1])) if len(shape) > 1 else 0.01
        session.run(variable.assign((rng.randn(*shape) * scale).astype(np.float32)))


def _seconds_per_step(train, lasting):
    """The least tenth of chunks that together take `lasting` seconds: other processes only make a chunk longer."""
    chunks = []
    end = time.perf_counter() + lasting
    steps = 1
    while not chunks or time.perf_counter() < end:
        begin = time.perf_counter()
        train(steps)
        took = time.perf_counter() - begin
        chunks.append(took / steps)
        steps = max(1, int(CHUNK_SECONDS / took * steps))
    return float(np.quantile(chunks, 0.1))


def measure(losses, train):
    """Prints, as a line of JSON, what a loop gave and takes. The program's first argument is the seconds to measure.

    `losses`: of the first and of the last of COMPARED steps. `train(steps)` makes steps.
    """
    lasting = float(sys.argv[1])
    _seconds_per_step(train, lasting / 4)
    print(json.dumps({"losses": list(map(float, losses)), "seconds": _seconds_per_step(train, lasting)}))


def train_digits(x, y, logits):
    """Trains a classifier of digits by Adam: each step feeds a batch and fetches the loss."""
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    step = tf.train.AdamOptimizer(0.001).minimize(loss)
    batches = digits()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        set_first_values(session)

        def train(steps):
            for i in range(steps):
                images, labels = batches[i % len(batches)]
                _, value = session.run([step, loss], feed_dict={x: images, y: labels})
                if i == 0:
                    first = value
            return first, value

        measure(train(COMPARED), train)
