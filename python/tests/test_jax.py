"""Features of JAX on the plugin, each against JAX's own CPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402

X = np.random.RandomState(0).randn(6, 6).astype(np.float32)


def expect_same(f: Callable[..., Any], *arguments: Any, tolerance: float = 1e-5) -> None:
    got = jax.tree.leaves(jax.jit(f)(*arguments))
    with jax.default_device(jax.devices("cpu")[0]):
        expected = jax.tree.leaves(jax.jit(f)(*arguments))
    assert len(got) == len(expected)
    for g, e in zip(got, expected, strict=True):
        assert (g.dtype, g.shape) == (e.dtype, e.shape)
        np.testing.assert_allclose(np.asarray(g, np.float64), np.asarray(e, np.float64), rtol=tolerance, atol=tolerance)


def test_devices() -> None:
    devices = jax.devices()
    assert len(devices) == 8
    assert {d.platform for d in devices} == {"systole"}
    assert jax.default_backend() == "systole"


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "matmul": lambda a: a @ a,
    "grad": jax.grad(lambda a: jnp.sum(jnp.tanh(a @ a))),
    "vmap": jax.vmap(lambda a: jnp.sin(a) * a[0]),
    "hessian": lambda a: jax.hessian(lambda v: jnp.sum(jnp.exp(v) * v))(a[0]),
    "scan": lambda a: lax.scan(lambda c, t: (c @ c * 0.1 + t, jnp.sum(c)), a, a),
    "while": lambda a: lax.while_loop(lambda s: s[0] < 10, lambda s: (s[0] + 1, s[1] * 0.9), (0, a))[1],
    "cond": lambda a: lax.cond(a[0, 0] > 0, jnp.sin, jnp.cos, a),
    "random": lambda a: a + jax.random.normal(jax.random.key(3), a.shape),
    "sort": lambda a: (jnp.sort(a, 0), jnp.argsort(a), lax.top_k(a, 3)),
    "approximate top k": lambda a: (lax.approx_max_k(a, 2), lax.approx_min_k(a, 2, reduction_dimension=0)),
    "scatter": lambda a: a.at[jnp.array([0, 2, 2])].add(a[:3]),
    "conv": lambda a: lax.conv(a[None, None], a[None, None, :3, :3], (1, 1), "SAME"),
    "special": lambda a: (jax.scipy.special.gammaln(jnp.abs(a) + 1), jax.scipy.special.ndtri(jax.nn.sigmoid(a))),
    "scans": lambda a: (
        jnp.cumsum(a, 1),
        jnp.cumprod(a),
        lax.cummax(a),
        lax.cummin(a, 1, reverse=True),
        lax.cumlogsumexp(a, 0),
        lax.cumlogsumexp(a.ravel(), reverse=True),
        lax.associative_scan(jnp.add, a, axis=1),
    ),
    "vector math": lambda a: (jnp.log1p(jnp.abs(a)), jnp.cos(a), jnp.abs(a) ** 1.5, jnp.arctan2(a, a.T)),
    "bf16": lambda a: (a.astype(jnp.bfloat16) @ a.astype(jnp.bfloat16)).astype(jnp.float32),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    expect_same(PROGRAMS[name], X, tolerance=1e-2 if name == "bf16" else 1e-5)


LINEAR_ALGEBRA: dict[str, Callable[[Any], Any]] = {
    "cholesky": lambda a: jnp.linalg.cholesky(a @ a.T + 6 * jnp.eye(6)),
    "solve": lambda a: jnp.linalg.solve(a, a[:, 0]),
    "eigh": lambda a: jnp.linalg.eigvalsh(a + a.T),
    "svd": lambda a: jnp.linalg.svd(a, compute_uv=False),
    "qr": lambda a: jnp.abs(jnp.linalg.qr(a)[1]),
    "det": jnp.linalg.det,
    "pinv": jnp.linalg.pinv,
    "expm": jax.scipy.linalg.expm,
}


@pytest.mark.parametrize("name", LINEAR_ALGEBRA)
def test_linear_algebra(name: str) -> None:
    expect_same(LINEAR_ALGEBRA[name], X, tolerance=2e-4)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16])
def test_linear_algebra_of_16_bits(dtype: Any) -> None:
    try:
        values = lax.linalg.svd(X.astype(dtype), compute_uv=False)
    except TypeError as error:
        pytest.skip(str(error))  # JAX 0.12 refuses them on all platforms
    assert values.dtype == dtype
    np.testing.assert_allclose(np.asarray(values, np.float32), np.linalg.svd(X)[1], rtol=0.05)


SMALL_FLOATS = (
    "float8_e3m4",
    "float8_e4m3",
    "float8_e4m3b11fnuz",
    "float8_e4m3fn",
    "float8_e4m3fnuz",
    "float8_e5m2",
    "float8_e5m2fnuz",
    "float8_e8m0fnu",
    "float4_e2m1fn",
)
SMALL_TYPES = (*SMALL_FLOATS, "int2", "uint2", "int4", "uint4")


@pytest.mark.parametrize("name", SMALL_TYPES)
def test_small_types(name: str) -> None:
    a, b = (np.array(x, np.float32).astype(name) for x in ([1, 2, 0.5, 1], [0.5, 1, 1, 3]))
    np.testing.assert_array_equal(np.asarray(jnp.asarray(a)).astype(np.float32), a.astype(np.float32))
    expect_same(lambda a, b: (a + b, a * b, a @ b, jnp.max(b), a < b, jnp.where(a < b, a, b)), a, b)
    expect_same(lambda a, b: (a.astype(jnp.float16), (a.astype(jnp.float32) * 1.3 + 0.1).astype(a.dtype)), a, b)
    ordered = (lambda b: b) if name == "int2" else jnp.sort  # JAX's CPU sorts int2 as if it had no sign
    expect_same(lambda a, b: (ordered(b), jnp.concatenate([a, b]).reshape(2, 4).T, a[jnp.array([2, 0])]), a, b)
    expect_same(lambda a, b: lax.fori_loop(0, 3, lambda _, c: c + b, a), a, b)


@pytest.mark.parametrize("name", SMALL_FLOATS)
def test_every_code_of_small_floats(name: str) -> None:
    codes = np.arange(16 if name.startswith("float4") else 256, dtype=np.uint8).view(name)
    expect_same(lambda a: a.astype(jnp.float32), codes[1:])
    numbers = np.concatenate([np.linspace(-500, 500, 1001), np.geomspace(1e-6, 1e6, 1001)]).astype(np.float32)
    expect_same(lambda a: a.astype(name).astype(jnp.float32), numbers, tolerance=0)


def product(lhs: Any, rhs: Any, **options: Any) -> Any:
    return lax.dot_general(lhs, rhs, (((1,), (0,)), ((), ())), preferred_element_type=jnp.float32, **options)


def test_products_of_two_types() -> None:
    whole = np.round(X * 3)
    for lhs, rhs in (("float8_e4m3fn", "float8_e5m2"), ("float32", "int32"), ("float32", "bfloat16")):
        expect_same(product, whole.astype(lhs), whole.astype(rhs))


def test_donated_arguments_are_updated_in_place() -> None:
    update = jax.jit(lambda a: a + 1, donate_argnums=0)
    a = jnp.zeros((256, 256))
    before = a.unsafe_buffer_pointer()
    b = update(a)
    assert b.unsafe_buffer_pointer() == before
    assert a.is_deleted()


def test_arrays_move_between_devices() -> None:
    a = jax.device_put(X, jax.devices()[0])
    for device in jax.devices():
        a = jax.device_put(a, device)
        assert a.devices() == {device}
    np.testing.assert_array_equal(a, X)


def test_compiled_programs_are_kept(tmp_path: Path) -> None:
    from jax._src import compilation_cache

    compilation_cache.reset_cache()
    options = {
        "jax_compilation_cache_dir": str(tmp_path),
        "jax_persistent_cache_min_compile_time_secs": 0.0,
        "jax_persistent_cache_min_entry_size_bytes": -1,
    }
    for name, value in options.items():
        jax.config.update(name, value)
    try:
        np.testing.assert_allclose(jax.jit(lambda a: a * 3 + 1)(X), X * 3 + 1, rtol=1e-6)
    finally:
        jax.config.update("jax_compilation_cache_dir", None)
        compilation_cache.reset_cache()
    assert list(tmp_path.glob("jit_*"))


def test_a_program_that_is_too_large_is_refused() -> None:
    with pytest.raises(Exception, match="RESOURCE_EXHAUSTED"):
        jax.jit(lambda: jnp.ones((1 << 22, 1 << 22)) @ jnp.ones((1 << 22, 8)))()


@pytest.mark.parametrize("kind", ["device", "pinned_host", "unpinned_host"])
def test_memory_kinds(kind: str) -> None:
    sharding = jax.sharding.SingleDeviceSharding(jax.devices()[1], memory_kind=kind)
    array = jax.device_put(X, sharding)
    assert array.sharding.memory_kind == kind
    np.testing.assert_array_equal(array, X)
    back = jax.device_put(array, sharding.with_memory_kind("device"))
    np.testing.assert_array_equal(jax.jit(lambda a: a + 1)(back), X + 1)


def test_unknown_compiler_options_are_refused() -> None:
    lowered = jax.jit(lambda a: a + 1).lower(X)
    with pytest.raises(Exception, match="No such compile option: 'nonsense'"):
        lowered.compile(compiler_options={"nonsense": 1})
    lowered.compile(compiler_options={"xla_embed_ir_in_executable": True})


def test_cost_analysis_counts_as_xla() -> None:
    x = jnp.ones((4, 8), jnp.float32)
    cost = jax.jit(lambda x: jnp.exp(x * x) + x).lower(x).compile().cost_analysis()
    assert (cost["flops"], cost["transcendentals"]) == (64, 32)
