"""The small training steps in TensorFlow 2: one tf.function with gradients and update."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from workloads import FIRST_SLOT, SLOTS, WORKLOADS, batch, parameters

LSTM_STEPS, LSTM_WIDTH = 80, 128


class Step:
    """A training step; calling it makes one and returns the loss."""

    def __init__(self, name: str, compiled: bool) -> None:
        self._work = WORKLOADS[name]
        values, _ = parameters(self._work.model)
        self._values = {k: tf.Variable(v) for k, v in values.items()}
        first = FIRST_SLOT.get(self._work.optimizer or "", 0.0)
        self._slots = [
            {k: tf.Variable(np.full_like(v, first)) for k, v in values.items()}
            for _ in range(SLOTS[self._work.optimizer or ""])
        ]
        self._step = tf.Variable(0.0)
        self._inputs = [tf.constant(x) for x in batch(self._work.model, self._work.batch)]
        self._function = tf.function(self._train, jit_compile=compiled)

    def __call__(self) -> Any:
        return self._function(*self._inputs)

    def _get(self, name: str) -> Any:
        value = self._values[name]
        return tf.cast(value, tf.bfloat16) if self._work.dtype == "bf16" else value

    def _dense(self, x: Any, name: str) -> Any:
        return x @ self._get(name) + self._get(name + ".b")

    def _mlp(self, x: Any, layers: int) -> Any:
        for i in range(layers):
            x = self._dense(x, f"w{i}")
            x = tf.nn.relu(x) if i + 1 < layers else x
        return x

    def _cnn(self, x: Any) -> Any:
        for name in ("c1", "c2"):
            x = tf.nn.bias_add(tf.nn.conv2d(x, self._get(name), 1, "SAME"), self._get(name + ".b"))
            x = tf.nn.max_pool2d(tf.nn.relu(x), 2, 2, "VALID")
        return self._dense(tf.nn.relu(self._dense(tf.reshape(x, (x.shape[0], -1)), "d1")), "d2")

    def _lstm(self, tokens: Any) -> Any:
        n = self._work.batch
        x = tf.reshape(tf.gather(self._get("emb"), tokens), (-1, LSTM_WIDTH))
        products = x @ self._get("wx") + (self._get("wx.b") + self._get("wh.b"))
        products = tf.transpose(tf.reshape(products, (n, LSTM_STEPS, 4 * LSTM_WIDTH)), (1, 0, 2))
        steps = tf.TensorArray(tf.float32, LSTM_STEPS, element_shape=(n, 4 * LSTM_WIDTH), clear_after_read=False)
        steps = steps.unstack(products)

        def cell(t: Any, h: Any, c: Any) -> tuple[Any, Any, Any]:
            i, f, g, o = tf.split(steps.read(t) + h @ self._get("wh"), 4, -1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
            return t + 1, tf.sigmoid(o) * tf.tanh(c), c

        zero = tf.zeros((n, LSTM_WIDTH))
        first = (tf.constant(0), zero, zero)
        _, h, _ = tf.while_loop(lambda t, h, c: t < LSTM_STEPS, cell, first, maximum_iterations=LSTM_STEPS)
        return self._dense(h, "d")[:, 0]

    def _loss(self, x: Any, labels: Any) -> Any:
        x = tf.cast(x, tf.bfloat16) if self._work.dtype == "bf16" else x
        if self._work.model == "lstm":
            return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels, self._lstm(x)))
        outputs = self._cnn(x) if self._work.model == "cnn" else self._mlp(x, 4 if self._work.model == "iris" else 3)
        logits = tf.cast(outputs, tf.float32)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))

    def _train(self, x: Any, labels: Any) -> Any:
        names = list(self._values)
        with tf.GradientTape() as tape:
            loss = self._loss(x, labels)
        gradients = tape.gradient(loss, [self._values[k] for k in names])
        self._step.assign_add(1.0)
        for name, gradient in zip(names, gradients, strict=True):
            self._update(name, tf.convert_to_tensor(gradient))
        return loss

    def _update(self, name: str, g: Any) -> None:
        value, rate = self._values[name], self._work.rate
        if self._work.optimizer == "sgd":
            value.assign_sub(rate * g)
        elif self._work.optimizer == "adagrad":
            value.assign_sub(rate * g / (tf.sqrt(self._slots[0][name].assign_add(g * g)) + 1e-10))
        else:
            first, second = (slot[name] for slot in self._slots)
            m = first.assign(0.9 * first + 0.1 * g)
            v = second.assign(0.999 * second + 0.001 * g * g)
            root = tf.sqrt(1 - tf.pow(0.999, self._step))
            value.assign_sub(rate / (1 - tf.pow(0.9, self._step)) * m / (tf.sqrt(v) / root + 1e-8))
