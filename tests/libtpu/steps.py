#!/usr/bin/env python3
"""Writes the training steps of the calibration as an archive of StableHLO, one file a step, with donated state.

Needs JAX, and no device.

usage: steps.py steps.tar.xz [NAME...]
"""

import io
import sys
import tarfile

import jax
import jax.numpy as jnp
import step_models as m
from jax import lax

bf16, f32 = jnp.bfloat16, jnp.float32
tree_map = jax.tree_util.tree_map


def sgd():
    return lambda p: (), lambda g, s, p: (tree_map(lambda p, g: p - 0.1 * g, p, g), s)


def momentum():
    def update(g, s, p):
        s = tree_map(lambda s, g: 0.9 * s + g, s, g)
        return tree_map(lambda p, s: p - 0.1 * s, p, s), s

    return lambda p: tree_map(jnp.zeros_like, p), update


def adagrad():
    def update(g, s, p):
        s = tree_map(lambda s, g: s + g * g, s, g)
        return tree_map(lambda p, s, g: p - 0.01 * g * lax.rsqrt(s + 1e-7), p, s, g), s

    return lambda p: tree_map(jnp.ones_like, p), update


def adam(rate=1e-3, b1=0.9, b2=0.999):
    def init(p):
        return tree_map(jnp.zeros_like, p), tree_map(jnp.zeros_like, p), jnp.zeros((), f32)

    def update(g, s, p):
        first, second, t = s
        t = t + 1
        first = tree_map(lambda a, g: b1 * a + (1 - b1) * g, first, g)
        second = tree_map(lambda a, g: b2 * a + (1 - b2) * g * g, second, g)
        a = rate * jnp.sqrt(1 - b2**t) / (1 - b1**t)
        return tree_map(lambda p, x, y: p - a * x / (jnp.sqrt(y) + 1e-8), p, first, second), (first, second, t)

    return init, update


# What the constants of the models were fitted on.
FITTED = {
    "mlp_4x2048_b1024_momentum": (m.mlp(4, 2048, 1024), momentum),
    "mlp_8x8192_b128_momentum": (m.mlp(8, 8192, 128), momentum),
    "mlp_8x8192_b128_adam": (m.mlp(8, 8192, 128), adam),
    "mlp_9x8192_b128_adam": (m.mlp(9, 8192, 128), adam),
    "mlp_16x8192_b128_adam": (m.mlp(16, 8192, 128), adam),
    "mlp_19x8192_b128_adam": (m.mlp(19, 8192, 128), adam),
    "mlp_32x4096_b512_adam": (m.mlp(32, 4096, 512), adam),
    "mlp_3x16384_b128_momentum": (m.mlp(3, 16384, 128), momentum),
    "mlp_4x1024_b65536_momentum": (m.mlp(4, 1024, 65536), momentum),
    "mlp_8x1024_b262144_momentum": (m.mlp(8, 1024, 262144), momentum),
    "mlp_8x1024_b262144_bf16_momentum": (m.mlp(8, 1024, 262144, bf16), momentum),
    "mlp_8x1024_b524288_bf16_momentum": (m.mlp(8, 1024, 524288, bf16), momentum),
    "mnist_b1024_adam": (m.mnist(1024), adam),
    "mnist_b32768_adam": (m.mnist(32768), adam),
    "mnist_b65536_bf16_momentum": (m.mnist(65536, bf16), momentum),
    "resnet50_b8_f32_momentum": (m.resnet50(8, f32), momentum),
    "resnet50_b128_f32_momentum": (m.resnet50(128, f32), momentum),
    "resnet50_b128_bf16_momentum": (m.resnet50(128), momentum),
    "resnet50_b256_bf16_momentum": (m.resnet50(256), momentum),
    "resnet50_b512_bf16_momentum": (m.resnet50(512), momentum),
    "resnet50_b1024_bf16_momentum": (m.resnet50(1024), momentum),
    "lstm_100_b64_t250_adam": (m.lstm(64, 250, 15000, 32, 100), adam),
    "lstm_1024_b256_t128_adam": (m.lstm(256, 128, 32000, 1024, 1024, 4000, True), adam),
    "lstm_1024_b1024_t128_adam": (m.lstm(1024, 128, 32000, 1024, 1024, 4000, True), adam),
    "lstm_1024_b1024_t128_bf16_adam": (m.lstm(1024, 128, 32000, 1024, 1024, 4000, True, bf16), adam),
    "lstm_1024_b2048_t128_bf16_adam": (m.lstm(2048, 128, 32000, 1024, 1024, 4000, True, bf16), adam),
    "bert_b32_bf16_adam": (m.bert(32), adam),
    "bert_b128_bf16_adam": (m.bert(128), adam),
    "bert_b64_f32_adam": (m.bert(64, dtype=f32), adam),
    "embedding_10Mx64_b4096_momentum": (m.embedding(10_000_000, 64, 26, 4096), momentum),
    "embedding_10Mx128_b4096_sgd": (m.embedding(10_000_000, 128, 26, 4096), sgd),
    "embedding_4Mx128_b4096_adam": (m.embedding(4_000_000, 128, 26, 4096), adam),
    "embedding_20Mx16_b4096_sgd": (m.embedding(20_000_000, 16, 26, 4096), sgd),
    "autoencoder_b8192_sgd": (m.autoencoder(8192), sgd),
    "gru_512_b128_t100_adam": (m.gru(128, 100, 128, 512), adam),
    "word2vec_50kx128_b1024_sgd": (m.word2vec(50_000, 128, 1024), sgd),
    "lstm_2x512_b64_t64_bf16_momentum": (m.lstm(64, 64, 10000, 512, 512, 10000, True, bf16, 2), momentum),
    "unet_b16_momentum": (m.unet(16), momentum),
    "wide_and_deep_b4096_adagrad": (m.wide_and_deep(4096, 8, 100_000, 64), adagrad),
}

# What they were not fitted on.
UNSEEN = {
    "autoencoder_b262144_bf16_adam": (m.autoencoder(262144, bf16), adam),
    "decoder_4x512_b16_s256_bf16_adam": (m.decoder(16, 256, 4, 512, 8), adam),
    "decoder_2x1024_b64_s512_bf16_sgd": (m.decoder(64, 512, 2, 1024, 16), sgd),
    "decoder_scanned_8x768_b8_s512_bf16_adam": (m.decoder(8, 512, 8, 768, 12, scanned=True), adam),
    "mixer_2x512_b64_bf16_adam": (m.mixer(64, 2, 512), adam),
    "mlp_16x256_b512_bf16_momentum": (m.mlp(16, 256, 512, bf16, 200, 2000), momentum),
    "mobilenet_b128_bf16_momentum": (m.mobilenet(128), momentum),
    "text_cnn_b256_adam": (m.text_cnn(256, 400, 20000, 128), adam),
    "unet_b256_adam": (m.unet(256), adam),
    "vgg_b1024_adam": (m.vgg(1024), adam),
    "vgg_b8192_bf16_sgd": (m.vgg(8192, bf16), sgd),
    "vit_4x384_b64_bf16_adam": (m.vit(64, 4, 384, 6), adam),
}


def text_of(model, optimizer):
    init, loss, batch = model
    init_state, update = optimizer()

    def setup():
        p = init()
        return p, init_state(p)

    def step(state, *batch):
        p, s = state
        value, gradient = jax.value_and_grad(loss)(p, *batch)
        return update(gradient, s, p), value

    traced = jax.jit(step, donate_argnums=(0,)).trace(jax.eval_shape(setup), *batch)
    return traced.lower(lowering_platforms=("tpu",)).as_text()


def main():
    steps = FITTED | UNSEEN
    with tarfile.open(sys.argv[1], "w:xz") as archive:
        for name in sorted(sys.argv[2:] or steps):
            text = text_of(*steps[name]).encode()
            member = tarfile.TarInfo(f"{name}.mlir")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))


if __name__ == "__main__":
    main()
