"""tf.keras.layers.Attention and MultiHeadAttention: calls of several arguments, files, masks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("systole_tpu._core")
from systole_tpu import tensorflow as tf

layers = tf.keras.layers


def _values(*shape: int) -> Any:
    return np.random.RandomState(1).uniform(-1, 1, shape).astype("float32")


def _softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def test_attention_is_that_of_numpy() -> None:
    q, v = tf.keras.Input((3, 4)), tf.keras.Input((5, 4))
    y, scores = layers.Attention()([q, v], return_attention_scores=True)
    model = tf.keras.Model([q, v], [y, scores])
    a, b = _values(2, 3, 4), _values(2, 5, 4)
    got = model.predict([a, b])
    weights = _softmax(a @ b.transpose(0, 2, 1))
    np.testing.assert_allclose(got[1], weights, atol=1e-6)
    np.testing.assert_allclose(got[0], weights @ b, atol=1e-6)


def test_heads_see_what_the_masks_allow() -> None:
    x, pairs = tf.keras.Input((4, 6)), tf.keras.Input((4, 4))
    layer = layers.MultiHeadAttention(2, 3, name="heads")
    _, scores = layer(x, x, attention_mask=pairs, return_attention_scores=True, use_causal_mask=True)
    assert [w.name for w in layer.weights][:2] == ["kernel:0", "bias:0"]
    assert [tuple(w.shape) for w in layer.weights] == [(6, 2, 3), (2, 3)] * 3 + [(2, 3, 6), (6,)]
    mask = np.ones((2, 4, 4), "float32")
    mask[:, :, 1] = 0
    got = tf.keras.Model([x, pairs], scores).predict([_values(2, 4, 6), mask])
    assert got.shape == (2, 2, 4, 4)
    np.testing.assert_array_equal(got[..., 1], 0)
    np.testing.assert_array_equal(np.triu(got, 1), 0)
    np.testing.assert_allclose(got.sum(-1), 1, rtol=1e-6)


def test_calls_come_back_from_a_file(tmp_path: Path) -> None:
    x = tf.keras.Input((4, 6))
    y = layers.MultiHeadAttention(num_heads=2, key_dim=3)(query=x, value=x, key=x, use_causal_mask=True)
    y = layers.Attention(use_scale=True)([y, x], use_causal_mask=True)
    model = tf.keras.Model(x, y)
    values = _values(2, 4, 6)
    for name in ("model.h5", "model.keras"):
        model.save(str(tmp_path / name))
        loaded = tf.keras.models.load_model(str(tmp_path / name))
        np.testing.assert_array_equal(loaded.predict(values), model.predict(values))


def test_a_layer_of_the_program_holds_one() -> None:
    class Block(layers.Layer):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.attention = layers.MultiHeadAttention(2, 3)

        def call(self, inputs: Any) -> Any:
            return inputs + self.attention(inputs, inputs, use_causal_mask=True)

    model = tf.keras.Sequential([Block(input_shape=(4, 6)), layers.Flatten(), layers.Dense(1)])
    assert len(model.weights) == 10
    model.compile("adam", "mse")
    losses = model.fit(_values(16, 4, 6), _values(16, 1), epochs=20, verbose=0).history["loss"]
    assert losses[-1] < losses[0]


def test_a_wrong_argument_is_named() -> None:
    x = tf.keras.Input((4, 6))
    with pytest.raises(TypeError, match="unexpected keyword argument 'causal'"):
        layers.MultiHeadAttention(2, 3)(x, x, causal=True)
    with pytest.raises(TypeError, match="missing required argument 'key_dim'"):
        layers.MultiHeadAttention(2)
