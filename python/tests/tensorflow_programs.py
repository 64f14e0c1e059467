"""Programs of TensorFlow 1 that both Systole and TensorFlow run: `python FILE OPTIMIZER...` prints losses as JSON."""

from __future__ import annotations

import json
import sys

import numpy as np
import tensorflow as tf

OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf.train.MomentumOptimizer(0.02, 0.9),
    "nesterov": lambda: tf.train.MomentumOptimizer(0.02, 0.9, use_nesterov=True),
    "adam": lambda: tf.train.AdamOptimizer(0.01),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "adadelta": lambda: tf.train.AdadeltaOptimizer(1.0),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.003, momentum=0.5),
    "rmsprop_centered": lambda: tf.train.RMSPropOptimizer(0.003, centered=True, epsilon=1e-4),
    "ftrl": lambda: tf.train.FtrlOptimizer(0.1),
    "ftrl_l1": lambda: tf.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.01),
    "proximal_sgd": lambda: tf.train.ProximalGradientDescentOptimizer(0.1, l1_regularization_strength=0.001),
    "proximal_adagrad": lambda: tf.train.ProximalAdagradOptimizer(0.1, l2_regularization_strength=0.001),
    "adagrad_da": lambda: tf.train.AdagradDAOptimizer(
        0.1, tf.train.get_or_create_global_step(), l1_regularization_strength=0.001
    ),
}


def _mlp(x):
    hidden = tf.layers.dense(x, 16, activation=tf.nn.tanh)
    return tf.layers.dense(hidden, 3)


def _cnn(x):
    images = tf.reshape(x, [-1, 8, 8, 1])
    conv = tf.layers.conv2d(images, 4, 3, padding="same", activation=tf.nn.relu)
    pool = tf.layers.max_pooling2d(conv, 2, 2)
    return tf.layers.dense(tf.layers.flatten(pool), 3)


def _lstm(x):
    rows = tf.reshape(x, [-1, 8, 8])
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicLSTMCell(12), rows, dtype=tf.float32)
    return tf.layers.dense(outputs[:, -1], 3)


def _layer_norm(x, name):
    with tf.variable_scope(name):
        mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
        beta, gamma = (tf.get_variable(n, [16], initializer=tf.zeros_initializer()) for n in ("beta", "gamma"))
        return tf.nn.batch_normalization(x, mean, variance, beta, 1.0 + gamma, 1e-12)


def _attention(x):
    """Two heads of 8 over [batch, 16, 16]."""

    def heads(t):
        return tf.transpose(tf.reshape(t, [-1, 16, 2, 8]), [0, 2, 1, 3])

    q, k, v = (heads(tf.layers.dense(x, 16, name=name)) for name in ("query", "key", "value"))
    scores = tf.multiply(tf.matmul(q, k, transpose_b=True), 1.0 / np.sqrt(8.0))
    context = tf.matmul(tf.nn.softmax(scores), v)
    return tf.layers.dense(tf.reshape(tf.transpose(context, [0, 2, 1, 3]), [-1, 16, 16]), 16, name="output")


def _gelu(x):
    return x * 0.5 * (1.0 + tf.erf(x / np.sqrt(2.0).astype(np.float32)))


def _bert(x):
    """A transformer of two layers over 16 tokens, which are what x rounds to."""
    ids = tf.cast(tf.clip_by_value(tf.floor(x[:, :16] * 4.0) + 10.0, 0.0, 19.0), tf.int32)
    table = tf.get_variable("words", [20, 16])
    h = tf.nn.embedding_lookup(table, ids) + tf.get_variable("positions", [16, 16])
    h = _layer_norm(h, "embeddings")
    for i in range(2):
        with tf.variable_scope(f"layer_{i}"):
            h = _layer_norm(h + _attention(h), "attention")
            wide = tf.layers.dense(h, 32, activation=_gelu, name="intermediate")
            h = _layer_norm(h + tf.layers.dense(wide, 16, name="down"), "end")
    pooled = tf.layers.dense(h[:, 0], 16, activation=tf.tanh, name="pooler")
    return tf.layers.dense(pooled, 3, name="classes")


MODELS = {"mlp": _mlp, "cnn": _cnn, "lstm": _lstm, "bert": _bert}


class Program:
    """A model with its loss, in a new graph; its first values and batches are those of a seed."""

    def __init__(self, model, optimizer):
        tf.reset_default_graph()
        self._rng = np.random.RandomState(7)
        self.x = tf.placeholder(tf.float32, [None, 64], name="x")
        self.y = tf.placeholder(tf.int64, [None], name="y")
        self.logits = tf.identity(MODELS[model](self.x), name="logits")
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=self.y, logits=self.logits)
        self.loss = tf.reduce_mean(losses)
        self._variables = tf.trainable_variables()
        self._step = OPTIMIZERS[optimizer]().minimize(self.loss, tf.train.get_or_create_global_step())

    def initialize(self, session):
        session.run(tf.global_variables_initializer())
        for variable in self._variables:
            value = self._rng.randn(*variable.shape.as_list()).astype(np.float32) * 0.2
            session.run(variable.assign(value))

    def _batch(self):
        return {self.x: self._rng.randn(32, 64).astype(np.float32), self.y: self._rng.randint(0, 3, 32)}

    def skip(self, steps):
        """Passes over the batches of some steps."""
        for _ in range(steps):
            self._batch()

    def train(self, session, steps):
        """The losses of the next steps."""
        runs = (session.run([self.loss, self._step], feed_dict=self._batch()) for _ in range(steps))
        return [float(loss) for loss, _ in runs]


def train(model, optimizer, steps=20):
    """The losses of a model with given first values and batches."""
    program = Program(model, optimizer)
    with tf.Session() as session:
        program.initialize(session)
        return program.train(session, steps)


if __name__ == "__main__":
    print(json.dumps({f"{model} {name}": train(model, name) for model in MODELS for name in sys.argv[1:]}))
    sys.stdout.flush()
