#!/usr/bin/env python3
"""Writes the archive of those programs of probes.txt that JAX lowers for a TPU: linear algebra, random numbers, sorts.

Needs JAX, and no device.

usage: jax_probes.py jax_probes.tar.xz
"""

import io
import os
import sys
import tarfile

os.environ.setdefault("JAX_PLATFORMS", "cpu")
import jax
import jax.numpy as jnp
from jax import lax, random
from jax.scipy import linalg, special

f32 = jnp.float32
MATRIX = jax.ShapeDtypeStruct((64, 64), f32)
VECTOR = jax.ShapeDtypeStruct((1024,), f32)


def of(shape, dtype=f32):
    return jax.ShapeDtypeStruct(shape, dtype)


def key(bits, impl="threefry2x32"):
    return random.wrap_key_data(bits, impl=impl)


# Functions and the types of their arguments.
PROBES = {
    "approx_max_k": (lambda a: lax.approx_max_k(a, 5), VECTOR),
    "argsort": (jnp.argsort, VECTOR),
    "cholesky_grad": (jax.grad(lambda a: jnp.linalg.cholesky(a).sum()), MATRIX),
    "conv_transpose": (lambda a: lax.conv_transpose(a, jnp.ones((3, 3, 4, 8)), (2, 2), "SAME"), of((2, 8, 8, 4))),
    "cumsum": (jnp.cumsum, VECTOR),
    "det": (jnp.linalg.det, MATRIX),
    "eigh": (jnp.linalg.eigh, MATRIX),
    "expm": (linalg.expm, MATRIX),
    "f8": (lambda a: a.astype(jnp.float8_e4m3fn).astype(f32), VECTOR),
    "fft": (jnp.fft.fft, VECTOR),
    "gamma": (lambda k: random.gamma(key(k), 2.0, (128,)), of((2,), jnp.uint32)),
    "gelu_grad": (jax.grad(lambda a: jax.nn.gelu(a).sum()), VECTOR),
    "igamma": (lambda a: special.gammainc(2.0, a), VECTOR),
    "inv": (jnp.linalg.inv, MATRIX),
    "lu": (linalg.lu, MATRIX),
    "qr": (jnp.linalg.qr, MATRIX),
    "ragged_dot": (lax.ragged_dot, of((64, 32)), of((4, 32, 16)), of((4,), jnp.int32)),
    "rbg": (lambda k: random.bits(key(k, "rbg"), (128,)), of((4,), jnp.uint32)),
    "rfft2": (jnp.fft.rfft2, MATRIX),
    "solve": (lambda a: jnp.linalg.solve(a, a), MATRIX),
    "svd": (jnp.linalg.svd, MATRIX),
    "threefry": (lambda k: random.normal(key(k), (128,)), of((2,), jnp.uint32)),
    "top_k": (lambda a: lax.top_k(a, 5), VECTOR),
    "unique": (lambda a: jnp.unique(a, size=10), VECTOR),
}


def main():
    with tarfile.open(sys.argv[1], "w:xz") as archive:
        for name, (function, *types) in sorted(PROBES.items()):
            lowered = jax.jit(function).trace(*types).lower(lowering_platforms=("tpu",))
            text = lowered.as_text().encode()
            member = tarfile.TarInfo(f"jax_{name}.mlir")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))


if __name__ == "__main__":
    main()
