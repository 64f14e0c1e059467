"""Functions of custom_partitioning are split like others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax.experimental.custom_partitioning import custom_partitioning  # noqa: E402
from jax.sharding import NamedSharding, PartitionSpec  # noqa: E402

X = np.arange(32, dtype=np.float32).reshape(8, 4)


@custom_partitioning
def normalize(x: jax.Array) -> jax.Array:
    return x / jnp.sum(x, axis=-1, keepdims=True)


def partition(mesh: Any, arg_shapes: Any, result_shape: Any) -> Any:
    shardings = [shape.sharding for shape in arg_shapes]
    return mesh, lambda x: x / jnp.sum(x, axis=-1, keepdims=True), result_shape.sharding, shardings


normalize.def_partition(partition=partition, sharding_rule="i j -> i j", need_replication_factors=("j",))


def test_on_one_device() -> None:
    np.testing.assert_allclose(jax.jit(normalize)(X), X / X.sum(-1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("spec", [("x", None), (None, "x"), (None, None)])
def test_on_several_devices(spec: tuple[str | None, ...]) -> None:
    if len(jax.devices()) < 4:
        pytest.skip("needs 4 devices")
    mesh = jax.make_mesh((4,), ("x",), devices=jax.devices()[:4])
    put = jax.device_put(X, NamedSharding(mesh, PartitionSpec(*spec)))
    result = jax.jit(lambda x: normalize(x) * 2)(put)
    np.testing.assert_allclose(result, 2 * X / X.sum(-1, keepdims=True), rtol=1e-6)
