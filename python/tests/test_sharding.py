"""Programs of JAX over several devices of the plugin, each against one device of JAX's own CPU."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jax.experimental import io_callback  # noqa: E402
from jax.sharding import Mesh, NamedSharding  # noqa: E402
from jax.sharding import PartitionSpec as P  # noqa: E402

X = np.random.RandomState(0).randn(8, 8).astype(np.float32)


@pytest.fixture(scope="module")
def mesh() -> Mesh:
    return Mesh(np.array(jax.devices()).reshape(2, 4), ("x", "y"))


def near(got: Any, expected: Any, tolerance: float = 1e-5) -> None:
    np.testing.assert_allclose(np.asarray(got), np.asarray(expected), rtol=tolerance, atol=tolerance)


def blocks(a: np.ndarray) -> np.ndarray:
    """The parts of an array on a 2x4 mesh: [x, y, rows, columns]."""
    return a.reshape(2, 4, 4, 2).swapaxes(1, 2)


def whole(parts: np.ndarray) -> np.ndarray:
    """The array of which `blocks` made the parts."""
    x, y, rows, columns = parts.shape
    return parts.swapaxes(1, 2).reshape(x * rows, y * columns)


B = X.reshape(2, 4, 4, 2).swapaxes(1, 2)  # [x, y, 4, 2]

# What each device computes on its part, and the parts of the result.
COLLECTIVES: dict[str, tuple[Callable[[Any], Any], np.ndarray]] = {
    "psum": (lambda a: lax.psum(a, "x"), np.broadcast_to(B.sum(0, keepdims=True), B.shape)),
    "psum of both": (lambda a: lax.psum(a, ("x", "y")), np.broadcast_to(B.sum((0, 1), keepdims=True), B.shape)),
    "pmax": (lambda a: lax.pmax(a, "y"), np.broadcast_to(B.max(1, keepdims=True), B.shape)),
    "pmean": (lambda a: lax.pmean(a, "y"), np.broadcast_to(B.mean(1, keepdims=True), B.shape)),
    "ppermute": (
        lambda a: lax.ppermute(a, "y", [(0, 1), (1, 2), (3, 0)]),
        np.stack([B[:, 3], B[:, 0], B[:, 1], np.zeros_like(B[:, 0])], 1),
    ),
    "all_gather": (
        lambda a: lax.all_gather(a, "y", axis=1, tiled=True).sum(1, keepdims=True) + a,
        B + np.broadcast_to(B.sum((1, 3))[:, None, :, None], B.shape),
    ),
    "all_to_all": (
        lambda a: lax.all_to_all(a, "y", 0, 0, tiled=True),
        np.stack([B[:, :, i] for i in range(4)], 1),
    ),
    "psum_scatter": (
        lambda a: jnp.broadcast_to(lax.psum_scatter(a, "y", scatter_dimension=0, tiled=True), (4, 2)),
        np.broadcast_to(B.sum(1)[:, :, None, :], B.shape),
    ),
    "axis_index": (
        lambda a: a * 0 + (10 * lax.axis_index("x") + lax.axis_index("y")),
        np.broadcast_to((10 * np.arange(2)[:, None] + np.arange(4))[:, :, None, None], B.shape),
    ),
}


@pytest.mark.parametrize("name", COLLECTIVES)
def test_collective(mesh: Mesh, name: str) -> None:
    function, expected = COLLECTIVES[name]
    sharded = jax.shard_map(function, mesh=mesh, in_specs=P("x", "y"), out_specs=P("x", "y"), check_vma=False)
    near(jax.jit(sharded)(X), whole(expected))


def test_pmap() -> None:
    step = jax.pmap(lambda a, b: (lax.psum(a, "i") + lax.axis_index("i"), a * b), axis_name="i", in_axes=(0, None))
    total, product = step(X, 2.0)
    near(total, X.sum(0) + np.arange(8)[:, None])
    near(product, 2 * X)
    assert len(product.addressable_shards) == 8
    near(jax.pmap(jax.grad(lambda a: jnp.sum(jnp.tanh(a))))(X), 1 - np.tanh(X) ** 2)


def test_results_tell_where_they_are(mesh: Mesh) -> None:
    rows = NamedSharding(mesh, P("x", None))
    f = jax.jit(
        jax.shard_map(
            lambda a: (a + 1, lax.psum(a, "y")), mesh=mesh, in_specs=P("x", "y"), out_specs=(P("x", "y"), P("x"))
        )
    )
    parts, sums = f(X)
    assert parts.sharding.is_equivalent_to(NamedSharding(mesh, P("x", "y")), 2)
    assert sums.sharding.is_equivalent_to(rows, 2)
    for shard in parts.addressable_shards:
        assert shard.data.shape == (4, 2)
        near(shard.data, X[shard.index] + 1)


def test_partly_manual(mesh: Mesh) -> None:
    f = jax.shard_map(lambda a: lax.psum(a @ a.T, "x"), mesh=mesh, in_specs=P("x"), out_specs=P(), axis_names={"x"})
    near(jax.jit(f)(X), X[:4] @ X[:4].T + X[4:] @ X[4:].T)


def test_nested(mesh: Mesh) -> None:
    def inner(a: Any) -> Any:
        return a * lax.axis_index("y") + lax.psum(a, "y")

    def outer(a: Any) -> Any:
        nested = jax.shard_map(inner, in_specs=P(None, "y"), out_specs=P(None, "y"), axis_names={"y"})
        return nested(a) + lax.psum(a, "x")

    f = jax.shard_map(outer, mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"})
    y = np.arange(4)[None, :, None, None]
    inner_expected = whole(B * y + B.sum(1, keepdims=True))
    near(jax.jit(f)(X), inner_expected + np.tile(X[:4] + X[4:], (2, 1)))


def test_control_flow_and_gradients(mesh: Mesh) -> None:
    def loss(a: Any) -> Any:
        def step(carry: Any, _: Any) -> Any:
            return jnp.tanh(lax.psum(carry, "y") + a), None

        last, _ = lax.scan(step, a, None, length=3)
        return lax.psum(jnp.sum(last), ("x", "y"))

    def expected(a: Any) -> Any:
        c = a
        for _ in range(3):
            c = jnp.tanh(jnp.repeat(c.reshape(8, 4, 2).sum(1)[:, None], 4, 1).reshape(8, 8) + a)
        return jnp.sum(c)

    sharded = jax.shard_map(loss, mesh=mesh, in_specs=P("x", "y"), out_specs=P())
    with jax.default_device(jax.devices("cpu")[0]):
        value, gradient = jax.value_and_grad(expected)(X)
    got_value, got_gradient = jax.jit(jax.value_and_grad(sharded))(X)
    near(got_value, value)
    near(got_gradient, gradient)


def test_jit_with_shardings(mesh: Mesh) -> None:
    split = NamedSharding(mesh, P("x", "y"))
    rows = NamedSharding(mesh, P("x"))

    @partial(jax.jit, in_shardings=(split, None), out_shardings=(rows, None))
    def f(a: Any, b: Any) -> Any:
        c = lax.with_sharding_constraint(jnp.sin(a) @ b, split)
        return c + 1, jnp.sum(c * a)

    product, total = f(X, X)
    expected = np.sin(X) @ X
    near(product, expected + 1)
    near(total, np.sum(expected * X), 1e-4)
    assert product.sharding.is_equivalent_to(rows, 2)
    compiled = f.lower(X, X).compile()
    assert compiled.input_shardings[0][0].is_equivalent_to(split, 2)
    assert compiled.output_shardings[0].is_equivalent_to(rows, 2)


def test_an_argument_that_is_split_stays_so(mesh: Mesh) -> None:
    split = NamedSharding(mesh, P("x", "y"))
    a = jax.device_put(X, split)
    f = jax.jit(lambda a: a * 2 + 1)
    for _ in range(3):
        a = f(a)
    assert a.sharding.is_equivalent_to(split, 2)
    near(a, 8 * X + 7)


def test_donation(mesh: Mesh) -> None:
    split = NamedSharding(mesh, P("x", "y"))
    f = jax.jit(lambda a: a + 1, in_shardings=split, out_shardings=split, donate_argnums=0)
    first = f(jax.device_put(X, split))
    second = f(first)
    assert first.is_deleted()
    near(second, X + 2)


def init(key: Any) -> dict[str, Any]:
    k1, k2 = jax.random.split(key)
    return {"w1": jax.random.normal(k1, (8, 16)) * 0.3, "b1": jnp.zeros(16), "w2": jax.random.normal(k2, (16, 8)) * 0.3}


def step(params: dict[str, Any], x: Any, y: Any) -> Any:
    def loss(p: dict[str, Any]) -> Any:
        return jnp.mean((jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] - y) ** 2)

    value, gradients = jax.value_and_grad(loss)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value


@pytest.mark.parametrize("specs", ["data", "model", "both"])
def test_training(mesh: Mesh, specs: str) -> None:
    batch = P("x") if specs in ("data", "both") else P()
    model = specs in ("model", "both")
    layout = {
        "w1": P(None, "y") if model else P(),
        "b1": P("y") if model else P(),
        "w2": P("y", None) if model else P(),
    }
    shardings = {name: NamedSharding(mesh, spec) for name, spec in layout.items()}
    data = NamedSharding(mesh, batch)
    random = np.random.RandomState(1)
    x, y = (random.randn(16, 8).astype(np.float32) for _ in range(2))
    with jax.default_device(jax.devices("cpu")[0]):
        expected = init(jax.random.key(0))
        start = jax.tree.map(np.asarray, expected)
        one = jax.jit(step)
        for _ in range(3):
            expected, expected_loss = one(expected, x, y)
    train = jax.jit(step, in_shardings=(shardings, data, data), out_shardings=(shardings, None), donate_argnums=0)
    params = jax.device_put(start, shardings)
    for _ in range(3):
        params, loss = train(params, x, y)
    near(loss, expected_loss, 1e-6)
    for name, value in expected.items():
        near(params[name], value, 1e-6)
        assert params[name].sharding.is_equivalent_to(shardings[name], value.ndim)


# -- Sums that are not added up (`unreduced` axes of a PartitionSpec)


@pytest.fixture
def explicit() -> Any:
    """A mesh whose axes are parts of types."""
    kinds = (jax.sharding.AxisType.Explicit,) * 2
    with jax.set_mesh(jax.make_mesh((2, 4), ("x", "y"), kinds)):
        yield


def test_terms_and_back(explicit: Any) -> None:
    whole = P("y", "x")
    a = jax.device_put(X, whole)
    for axes in ({"x"}, {"y"}, {"x", "y"}):
        left = [None if name in axes or isinstance(name, tuple) else name for name in whole]
        terms = jax.sharding.reshard(a, P(*left, unreduced=axes))
        near(jax.sharding.reshard(terms, whole), X)


@pytest.mark.parametrize("spec", [P(None, unreduced={"x"}), P(None, unreduced={"y"}), P("x", unreduced={"y"})])
def test_terms_that_some_devices_share(explicit: Any, spec: P) -> None:
    values = np.arange(8, dtype=np.float32)
    terms = jax.jit(lambda a: jax.sharding.reshard(a, spec))(jax.device_put(values, P(None)))
    assert terms.sharding.spec == spec
    near(jax.sharding.reshard(terms, P(None)), values)


def test_parts_become_terms() -> None:
    kinds = (jax.sharding.AxisType.Explicit,)
    with jax.set_mesh(jax.make_mesh((2,), ("x",), kinds, devices=jax.devices()[:2])):
        parts = jax.device_put(np.arange(4), P("x"))
        terms = jax.jit(lambda a: a, out_shardings=P(unreduced={"x"}))(parts)
        for shard, expected in zip(terms.addressable_shards, ([0, 1, 0, 0], [0, 0, 2, 3]), strict=True):
            np.testing.assert_array_equal(shard.data, expected)


def test_callbacks_on_each_device(explicit: Any) -> None:
    def twice(a: Any) -> Any:
        return jax.pure_callback(lambda v: 2 * np.asarray(v), jax.ShapeDtypeStruct(a.shape, a.dtype), a)

    for spec in (P("x"), P("x", "y")):
        a = jax.device_put(X, spec)
        function = jax.shard_map(twice, in_specs=spec, out_specs=spec)
        # One op after the other: JAX takes the results of a callback for equal on all devices.
        near(function(a), 2 * X)
        near(jax.jit(function)(a), 2 * X)


# -- What programs and their results are


def test_reversed_axes_stay_split(mesh: Mesh) -> None:
    a = jax.device_put(X, NamedSharding(mesh, P("y", "x")))
    for got, expected in ((a[::-1], X[::-1]), (jnp.flip(a), X[::-1, ::-1])):
        near(got, expected)
        assert got.sharding.is_equivalent_to(a.sharding, 2)


def test_groups_are_split_alike(mesh: Mesh) -> None:
    shard_alike = pytest.importorskip("jax.experimental.shard_alike").shard_alike  # gone in JAX 0.12
    rows = NamedSharding(mesh, P("x"))
    f = jax.jit(lambda a: shard_alike(a, jnp.arange(64.0).reshape(8, 8))[1])
    assert f(jax.device_put(X, rows)).sharding.is_equivalent_to(rows, 2)


def test_axes_without_elements(mesh: Mesh) -> None:
    columns = P(None, "y")
    a = jax.device_put(X, NamedSharding(mesh, columns))
    nothing = jax.shard_map(lambda a: a[:, 5:], mesh=mesh, in_specs=columns, out_specs=columns)
    assert jax.jit(nothing)(a).shape == (8, 0)
    assert jax.jit(lambda a: a[:, 9:])(a).shape == (8, 0)


def test_donors_without_use_stay(mesh: Mesh) -> None:
    rows = NamedSharding(mesh, P("x"))
    a = jax.device_put(X, rows)
    jax.jit(lambda a: a @ jnp.ones((8, 16), jnp.float32), donate_argnums=0)(a)
    assert not a.is_deleted()
    jax.jit(lambda a: a + 1, donate_argnums=0)(a)
    assert a.is_deleted()


def test_ordered_callbacks_of_sharded_programs(mesh: Mesh) -> None:
    seen: list[int] = []

    def step(x: jax.Array) -> jax.Array:
        for i in range(3):
            io_callback(lambda i, x: seen.append(int(i) + int(x.sum())), None, i, x, ordered=True)
        return jnp.sin(x)

    rows = NamedSharding(mesh, P("x"))
    x = np.arange(8, dtype=np.float32)
    np.testing.assert_allclose(jax.jit(step, in_shardings=rows, out_shardings=rows)(x), np.sin(x), rtol=1e-6)
    jax.effects_barrier()
    assert seen == [28, 29, 30]


def test_prints_of_parts(capfd: pytest.CaptureFixture[str]) -> None:
    mesh = Mesh(np.array(jax.devices()[:2]), ("x",))
    put = jax.device_put(np.arange(8), NamedSharding(mesh, P("x")))

    @jax.jit
    def program(a: Any) -> None:
        jax.debug.print("part {a}", a=a, partitioned=True)

    program(put)
    jax.effects_barrier()
    lines = capfd.readouterr().out.split("\n")
    assert sorted(line for line in lines if line) == ["part [0 1 2 3]", "part [4 5 6 7]"]


@pytest.mark.parametrize("spec", [P("x", "y"), P(None, "x"), P(("y", "x"), None), P()])
def test_inspected_shardings(mesh: Mesh, spec: P) -> None:
    told: list[Any] = []

    @jax.jit
    def program(a: Any) -> Any:
        b = a * 2
        jax.debug.inspect_array_sharding(b, callback=told.append)
        return b

    result = program(jax.device_put(X, NamedSharding(mesh, spec)))
    near(result, 2 * X)
    assert len(told) == 1
    assert told[0].is_equivalent_to(NamedSharding(mesh, spec), 2)


def test_inspections_that_raise(mesh: Mesh) -> None:
    def fail(sharding: Any) -> None:
        raise ValueError("no such sharding")

    @jax.jit
    def program(a: Any) -> Any:
        jax.debug.inspect_array_sharding(a, callback=fail)
        return a

    with pytest.raises(Exception, match="no such sharding"):
        program(jax.device_put(X, NamedSharding(mesh, P("x"))))
