"""Functions of custom_partitioning are computed on parts as they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jax.experimental.custom_partitioning import custom_partitioning  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

X = np.arange(32, dtype=np.float32).reshape(8, 4)
asked: list[tuple[Any, Any]] = []  # what functions were asked: specs of the operand and of the result


@custom_partitioning
def normalize(x: jax.Array) -> jax.Array:
    return x / jnp.sum(x, axis=-1, keepdims=True)


def partition(mesh: Any, arg_shapes: Any, result_shape: Any) -> Any:
    asked.append((arg_shapes[0].sharding.spec, result_shape.sharding.spec))
    shardings = tuple(shape.sharding for shape in arg_shapes)
    return mesh, lambda x: x / jnp.sum(x, axis=-1, keepdims=True), result_shape.sharding, shardings


normalize.def_partition(partition=partition, sharding_rule="i j -> i j", need_replication_factors=("j",))


@pytest.fixture
def mesh() -> Any:
    if len(jax.devices()) < 4:
        pytest.skip("needs 4 devices")
    asked.clear()
    mesh = jax.make_mesh((4,), ("x",), (jax.sharding.AxisType.Auto,), devices=jax.devices()[:4])
    with jax.set_mesh(mesh):
        yield mesh


def test_on_one_device() -> None:
    np.testing.assert_allclose(jax.jit(normalize)(X), X / X.sum(-1, keepdims=True), rtol=1e-6)


@pytest.mark.parametrize("spec", [("x", None), (None, "x"), (None, None)])
def test_on_several_devices(mesh: Mesh, spec: tuple[str | None, ...]) -> None:
    put = jax.device_put(X, NamedSharding(mesh, P(*spec)))
    result = jax.jit(lambda x: normalize(x) * 2)(put)
    np.testing.assert_allclose(result, 2 * X / X.sum(-1, keepdims=True), rtol=1e-6)
    assert len(asked) == 1
    assert asked[0][1] == P(*spec[:1], None)


def test_collectives_and_several_results(mesh: Mesh) -> None:
    @custom_partitioning
    def sums(x: jax.Array, y: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jnp.sum(x, 0), x + y

    def on_parts(mesh: Any, arg_shapes: Any, result_shape: Any) -> Any:
        rows, whole = NamedSharding(mesh, P("x", None)), NamedSharding(mesh, P(None))
        return mesh, lambda x, y: (lax.psum(jnp.sum(x, 0), "x"), x + y), (whole, rows), (rows, rows)

    sums.def_partition(partition=on_parts, sharding_rule="i j, i j -> j, i j")
    put = jax.device_put(X, NamedSharding(mesh, P(None, "x")))
    total, both = jax.jit(sums)(put, X)
    np.testing.assert_allclose(total, X.sum(0))
    np.testing.assert_allclose(both, X + X)


def test_parts_of_other_shapes_are_refused(mesh: Mesh) -> None:
    @custom_partitioning
    def same(x: jax.Array) -> jax.Array:
        return x

    def wrong(mesh: Any, arg_shapes: Any, result_shape: Any) -> Any:
        return mesh, lambda x: x, NamedSharding(mesh, P(None)), (NamedSharding(mesh, P(None, "x")),)

    same.def_partition(partition=wrong, sharding_rule="i j -> i j")
    with pytest.raises(Exception, match="Mismatch in result shapes"):
        jax.jit(same)(jax.device_put(X, NamedSharding(mesh, P(None, "x"))))


def test_sums_over_parts_of_the_operand(mesh: Mesh) -> None:
    @custom_partitioning
    def total(x: jax.Array) -> jax.Array:
        return jnp.sum(x)

    def on_parts(mesh: Any, arg_shapes: Any, result_shape: Any) -> Any:
        assert arg_shapes[0].sharding.spec == P(None, "x")
        shardings = tuple(shape.sharding for shape in arg_shapes)
        return mesh, lambda x: lax.psum(jnp.sum(x), "x"), result_shape.sharding, shardings

    total.def_partition(partition=on_parts, sharding_rule="i j -> ")
    put = jax.device_put(X, NamedSharding(mesh, P(None, "x")))
    assert float(jax.jit(total)(put)) == X.sum()


def test_parts_of_an_axis_of_two_factors(mesh: Mesh) -> None:
    @custom_partitioning
    def rows(x: jax.Array, y: jax.Array) -> jax.Array:
        return x.reshape(32) + y

    def on_parts(mesh: Any, arg_shapes: Any, result_shape: Any) -> Any:
        shardings = tuple(shape.sharding for shape in arg_shapes)
        return mesh, lambda x, y: x.reshape(8) + y, result_shape.sharding, shardings

    rows.def_partition(
        partition=on_parts,
        sharding_rule="(i k) j, (i k j) -> (i k j)",
        need_replication_factors=("k",),
        i=4,
        k=2,
    )
    x = jax.device_put(X, NamedSharding(mesh, P("x", None)))
    y = jax.device_put(X.reshape(32), NamedSharding(mesh, P("x")))
    result = jax.jit(rows)(x, y)
    np.testing.assert_array_equal(result, 2 * X.reshape(32))
    assert result.sharding.is_equivalent_to(NamedSharding(mesh, P("x")), 1)
