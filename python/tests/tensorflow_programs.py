"""Programs of TensorFlow 1 that both Systole and TensorFlow run: `python FILE NAME` prints the losses as JSON."""

from __future__ import annotations

import json
import sys

import numpy as np
import tensorflow as tf

OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.05, 0.9, use_nesterov=True),
    "adam": lambda: tf.train.AdamOptimizer(0.01),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(1.0),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.01, momentum=0.5),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.1),
}


def _mlp(x):
    hidden = tf.layers.dense(x, 16, activation=tf.nn.tanh)
    return tf.layers.dense(hidden, 3)


def _cnn(x):
    images = tf.reshape(x, [-1, 8, 8, 1])
    conv = tf.layers.conv2d(images, 4, 3, padding="same", activation=tf.nn.relu)
    pool = tf.layers.max_pooling2d(conv, 2, 2)
    return tf.layers.dense(tf.layers.flatten(pool), 3)


def train(model, optimizer, steps=20):
    """The losses of a model with given first values and batches."""
    tf.reset_default_graph()
    rng = np.random.RandomState(7)
    x = tf.placeholder(tf.float32, [None, 64])
    y = tf.placeholder(tf.int64, [None])
    logits = {"mlp": _mlp, "cnn": _cnn}[model](x)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    variables = tf.trainable_variables()
    step = OPTIMIZERS[optimizer]().minimize(loss)
    losses = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for variable in variables:
            value = rng.randn(*variable.shape.as_list()).astype(np.float32) * 0.2
            session.run(variable.assign(value))
        for _ in range(steps):
            batch = {x: rng.randn(32, 64).astype(np.float32), y: rng.randint(0, 3, 32)}
            losses.append(float(session.run([loss, step], feed_dict=batch)[0]))
    return losses


if __name__ == "__main__":
    programs = [("mlp", name) for name in OPTIMIZERS] + [("cnn", "adam")]
    print(json.dumps({f"{model} {name}": train(model, name) for model, name in programs}))
    sys.stdout.flush()
