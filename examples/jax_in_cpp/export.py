"""Trains a small network on the digits of examples/data with JAX, and exports it as StableHLO for classify.cc."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import export

DIGITS = Path(__file__).resolve().parents[1] / "data" / "digits.csv"


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("file", type=Path, nargs="?", default=Path("digits.mlirbc"), help="default: %(default)s")
    a = p.parse_args()

    table = np.loadtxt(DIGITS, delimiter=",", dtype=np.float32)
    x, y = table[:, :64], table[:, 64].astype(np.int32)

    def logits_of(params: Any, x: Any) -> Any:
        w1, b1, w2, b2 = params
        return jax.nn.relu(x / 16 @ w1 + b1) @ w2 + b2

    @jax.jit
    def step(params: Any) -> Any:
        def loss(params: Any) -> Any:
            return -jnp.mean(jax.nn.log_softmax(logits_of(params, x))[jnp.arange(len(y)), y])

        return jax.tree.map(lambda p, g: p - 0.5 * g, params, jax.grad(loss)(params))

    random = np.random.default_rng(0)
    params = [random.normal(0, 0.2, shape).astype(np.float32) for shape in ((64, 32), (32,), (32, 10), (10,))]
    for _ in range(300):
        params = step(params)

    # The parameters become constants of the program.
    params = jax.device_get(params)
    exported = export.export(jax.jit(lambda x: logits_of(params, x).argmax(-1)), platforms=["cpu"])(x)
    a.file.write_bytes(exported.mlir_module_serialized)
    print(f"{a.file}: {exported.in_avals[0].str_short()} -> {exported.out_avals[0].str_short()}")


if __name__ == "__main__":
    main()
