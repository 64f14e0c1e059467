#!/usr/bin/env python3
"""Makes the golden files of JAX: programs of jax.export, with inputs and the outputs that XLA computes, and StableHLO's
portable artifacts in the oldest and newest version that this JAX writes.

Run it with a Python that has the jax of README.md, and with XLA_FLAGS=--xla_force_host_platform_device_count=8.
"""

import pathlib
from collections.abc import Callable
from typing import Any

import golden
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxlib import _jax
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo


def ramp(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return (np.arange(np.prod(shape)) % 7 / 4 - 0.5).reshape(shape).astype(dtype)


def mlp_gradient(w: jax.Array, b: jax.Array, x: jax.Array) -> Any:
    def loss(w: jax.Array, b: jax.Array) -> jax.Array:
        return -jnp.mean(jax.nn.log_softmax(jnp.tanh(x @ w + b))[:, 0])

    return jax.value_and_grad(loss, argnums=(0, 1))(w, b)


def convolution(x: jax.Array, w: jax.Array) -> jax.Array:
    y = lax.conv_general_dilated(x, w, (2, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return lax.reduce_window(y, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 1, 1, 1), "VALID")


def scan(h: jax.Array, xs: jax.Array) -> Any:
    return lax.scan(lambda h, x: (jnp.tanh(h + x), h * x), h, xs)


def integers(x: jax.Array, i: jax.Array) -> Any:
    return jnp.sort(x, axis=1), x[i], x.at[i].add(100), jnp.cumsum(x, axis=0), lax.population_count(x), x // 3


def random_bits(key: jax.Array) -> Any:
    return jax.random.bits(key, (3, 4)), jax.random.randint(key, (5,), 0, 1000), jax.random.split(key)


def cholesky(a: jax.Array) -> jax.Array:
    return jnp.linalg.cholesky(a)


def branches(i: jax.Array, x: jax.Array) -> Any:
    y = lax.switch(i, [lambda v: v * 2, lambda v: -v, jnp.abs], x)
    return y, lax.while_loop(lambda v: v.sum() < 100, lambda v: v * 2 + 1, jnp.abs(x))


# The programs, their inputs, and the difference that results may have, relative to the largest element.
PROGRAMS: dict[str, tuple[Callable[..., Any], list[np.ndarray], float]] = {
    "mlp_gradient": (mlp_gradient, [ramp(5, 3), ramp(3), ramp(4, 5)], 1e-6),
    "convolution": (convolution, [ramp(2, 6, 6, 3), ramp(3, 3, 3, 4)], 1e-6),
    "scan": (scan, [ramp(4), ramp(5, 4)], 1e-6),
    "integers": (integers, [(ramp(4, 5) * 100).astype(np.int32), np.array([2, 0, 2], np.int32)], 0),
    "random_bits": (random_bits, [np.array([7, 42], np.uint32)], 0),
    "cholesky": (cholesky, [np.eye(4, dtype=np.float32) * 4 + ramp(4, 1) @ ramp(1, 4)], 1e-6),
    "branches": (branches, [np.int32(1), ramp(6)], 0),
    "bf16": (lambda x, y: (x * y + 1, x @ y.T), [ramp(3, 4, dtype=jnp.bfloat16), ramp(3, 4, dtype=jnp.bfloat16)], 1e-2),
    "complex": (lambda x: (jnp.conj(x) * x, jnp.abs(x)), [(ramp(4) + 1j * ramp(4)[::-1]).astype(np.complex64)], 1e-6),
}


def make_exports(folder: pathlib.Path) -> dict[str, Any]:
    contents = {}
    for name, (function, inputs, tolerance) in PROGRAMS.items():
        exported = jax.export.export(jax.jit(function), platforms=["cpu"])(*inputs)
        path = folder / f"{name}.mlirbc"
        path.write_bytes(exported.mlir_module_serialized)
        outputs = jax.tree.leaves(jax.jit(function)(*inputs))
        for kind, arrays in (("in", inputs), ("out", outputs)):
            for i, array in enumerate(arrays):
                np.save(folder / f"{name}.{kind}{i}.npy", np.asarray(array))
        contents[golden.relative(path)] = {
            "calling_convention_version": exported.calling_convention_version,
            "inputs": len(inputs),
            "outputs": len(outputs),
            "tolerance": tolerance,
        }
    return contents


def make_artifacts(folder: pathlib.Path) -> dict[str, Any]:
    """The same program as text and in bytecode of the oldest and newest versions."""
    function, inputs, _ = PROGRAMS["mlp_gradient"]
    text = jax.jit(function).lower(*inputs).as_text()
    (folder / "mlp_gradient.mlir").write_text(text)
    contents = {}
    versions = {"oldest": stablehlo.get_minimum_version(), "newest": stablehlo.get_current_version()}
    for name, version in versions.items():
        with ir.Context() as context:
            stablehlo.register_dialect(context)
            data = stablehlo.serialize_portable_artifact_str(text, version)
        path = folder / f"mlp_gradient_{name}.mlirbc"
        path.write_bytes(data)
        contents[golden.relative(path)] = {"text": "stablehlo/mlp_gradient.mlir", "version": version}
    return contents


def make_partitioned(folder: pathlib.Path) -> dict[str, Any]:
    """A program for several devices, as text and as a client sends it to a plugin: with Shardy's ops in bytecode."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:8]).reshape(2, 4), ("x", "y"))
    spec = jax.sharding.PartitionSpec
    rows = jax.sharding.NamedSharding(mesh, spec("x", None))

    def manual(a: jax.Array) -> jax.Array:
        return lax.psum(a, "y") + lax.axis_index("x")

    def partly_manual(a: jax.Array) -> jax.Array:
        return lax.all_gather(a * 2, "y", axis=0, tiled=True)

    def program(a: jax.Array) -> Any:
        b = jax.shard_map(manual, mesh=mesh, in_specs=spec("x", "y"), out_specs=spec("x"))(a)
        c = lax.with_sharding_constraint(a @ a.T, rows)
        d = jax.shard_map(
            partly_manual, mesh=mesh, in_specs=spec("y"), out_specs=spec(), axis_names={"y"}, check_vma=False
        )(c)
        return b, d

    text = jax.jit(program, in_shardings=rows).lower(ramp(8, 8)).as_text()
    (folder / "partitioned.mlir").write_text(text)
    version = stablehlo.get_current_version()
    path = folder / "partitioned.mlirbc"
    path.write_bytes(_jax.mlir.serialize_portable_artifact(text, version, True))
    return {golden.relative(path): {"text": "stablehlo/partitioned.mlir", "version": version}}


def main() -> None:
    assert jax.default_backend() == "cpu", jax.default_backend()
    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")  # locations without this machine's folders
    folder = golden.fresh("stablehlo")
    golden.record(
        {
            "jax_export": make_exports(golden.fresh("jax_export")),
            "stablehlo": make_artifacts(folder) | make_partitioned(folder),
        }
    )


if __name__ == "__main__":
    main()
