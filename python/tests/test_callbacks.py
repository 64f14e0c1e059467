"""Python functions that programs call, and targets of jax.ffi."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jax.experimental import io_callback  # noqa: E402
from systole_tpu import _ffi  # noqa: E402

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def host_sine(x: Any, vmap_method: str = "sequential") -> Any:
    return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method=vmap_method)


def test_pure_callback() -> None:
    np.testing.assert_allclose(jax.jit(lambda x: host_sine(x) + 1)(X), np.sin(X) + 1, rtol=1e-6)


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16, jnp.int8, jnp.uint32, jnp.bool_, jnp.complex64])
def test_types(dtype: Any) -> None:
    x = jnp.asarray(X > 2 if dtype == jnp.bool_ else X).astype(dtype)
    got = jax.jit(lambda a: jax.pure_callback(np.copy, jax.ShapeDtypeStruct(a.shape, a.dtype), a))(x)
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got, x)


@pytest.mark.parametrize(
    "name", ["int2", "uint2", "int4", "uint4", "float4_e2m1fn", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"]
)
def test_small_types(name: str) -> None:
    x = np.arange(24).astype(np.uint8).reshape(2, 3, 4) % (2 if name == "int2" else 4)
    values = x.astype(jnp.dtype(name))
    seen: list[Any] = []

    def note(a: Any) -> Any:
        seen.append(np.asarray(a))
        return np.asfortranarray(a)

    got = jax.jit(lambda a: jax.pure_callback(note, jax.ShapeDtypeStruct(a.shape, a.dtype), a))(jnp.asarray(values))
    assert got.dtype == seen[0].dtype == values.dtype
    for array in (got, seen[0]):
        np.testing.assert_array_equal(np.asarray(array).astype(np.float32), values.astype(np.float32))


@pytest.mark.parametrize("method", ["sequential", "expand_dims", "broadcast_all"])
def test_vmap(method: str) -> None:
    np.testing.assert_allclose(jax.jit(jax.vmap(lambda x: host_sine(x, method)))(X), np.sin(X), rtol=1e-6)


def test_in_a_scan() -> None:
    last, _ = jax.jit(lambda x: lax.scan(lambda c, _: (host_sine(c), None), x, length=3))(X)
    np.testing.assert_allclose(last, np.sin(np.sin(np.sin(X))), rtol=1e-5)


@pytest.mark.parametrize("ordered", [False, True])
def test_io_callback(ordered: bool) -> None:
    seen: list[float] = []

    def note(x: Any) -> np.float32:
        seen.append(float(x))
        return np.float32(len(seen))

    @jax.jit
    def program(x: Any) -> Any:
        return [io_callback(note, jax.ShapeDtypeStruct((), jnp.float32), x + i, ordered=ordered) for i in range(4)]

    results = [float(r) for r in program(np.float32(1))]
    jax.effects_barrier()
    assert sorted(seen) == [1, 2, 3, 4]
    assert sorted(results) == [1, 2, 3, 4]
    if ordered:
        assert seen == [1, 2, 3, 4]


def test_debug_print(capfd: pytest.CaptureFixture[str]) -> None:
    @jax.jit
    def program(x: Any) -> Any:
        jax.debug.print("sum {s}", s=jnp.sum(x))
        return x

    program(X).block_until_ready()
    jax.effects_barrier()
    assert "sum 15.0" in capfd.readouterr().out


def test_debug_callback_in_a_loop() -> None:
    seen: list[int] = []
    program = jax.jit(lambda: lax.fori_loop(0, 5, lambda i, c: (jax.debug.callback(seen.append, i), c + i)[1], 0))
    assert int(program()) == 10
    jax.effects_barrier()
    assert sorted(int(i) for i in seen) == [0, 1, 2, 3, 4]


def test_errors_arrive() -> None:
    def fail(x: Any) -> Any:
        raise ValueError("this one went wrong")

    program = jax.jit(lambda x: jax.pure_callback(fail, jax.ShapeDtypeStruct(x.shape, x.dtype), x))
    with pytest.raises(Exception, match="this one went wrong"):
        program(X).block_until_ready()


def test_results_are_checked() -> None:
    program = jax.jit(lambda x: jax.pure_callback(np.sum, jax.ShapeDtypeStruct(x.shape, x.dtype), x))
    with pytest.raises(Exception, match="Incorrect output shape"):
        program(X).block_until_ready()


def test_ffi_target() -> None:
    def twice(pointer: Any) -> None:
        frame = pointer[0]
        if frame.extension:
            return
        x, y = frame.arguments.buffers[0][0], frame.results.buffers[0][0]
        count = int(np.prod(x.dims[: x.rank]))
        values = (ctypes.c_float * count).from_address(x.data)
        results = (ctypes.c_float * count).from_address(y.data)
        for i in range(count):
            results[i] = 2 * values[i]

    handler = _ffi.HANDLER(twice)
    jax.ffi.register_ffi_target("twice", jax.ffi.pycapsule(handler), platform="systole")
    call = jax.ffi.ffi_call("twice", jax.ShapeDtypeStruct(X.shape, X.dtype))
    np.testing.assert_array_equal(jax.jit(lambda x: call(x))(X), 2 * X)
