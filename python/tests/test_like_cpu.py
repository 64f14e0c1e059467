"""What JAX does by the names of platforms: DLPack, branches of platforms, exported functions."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402
from jax.experimental import checkify  # noqa: E402


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(), (3, 5), (0, 4), (64, 64)])
def test_dlpack_round_trips(shape: tuple[int, ...], dtype: str) -> None:
    a = jnp.ones(shape, dtype)
    assert a.__dlpack_device__() == (1, 0)
    back = jax.dlpack.from_dlpack(a)
    assert back.dtype == a.dtype
    np.testing.assert_array_equal(back, a)


def test_dlpack_shares_memory_and_keeps_it() -> None:
    a = jnp.arange(1 << 16, dtype=jnp.float32) + 1
    pointer = a.unsafe_buffer_pointer()
    shared = np.from_dlpack(a)
    assert shared.ctypes.data == pointer
    donated = jax.jit(lambda x: x * 0, donate_argnums=0)(a)
    del a
    np.testing.assert_array_equal(shared, np.arange(1, (1 << 16) + 1))
    assert donated.sum() == 0


def test_branches_of_platforms() -> None:
    branch = functools.partial(lax.platform_dependent, jnp.float32(1))
    assert jax.jit(lambda: branch(cpu=lambda x: x + 1, tpu=lambda x: x + 2))() == 2
    assert jax.jit(lambda: branch(cpu=lambda x: x + 1, default=lambda x: x + 3))() == 4
    assert jax.jit(lambda: branch(cpu=lambda x: x + 1, systole=lambda x: x + 4))() == 5
    with pytest.raises(NotImplementedError, match="not found for platform systole"):
        jax.jit(lambda: branch(tpu=lambda x: x + 2))()


def test_a_function_exported_for_cpus_runs() -> None:
    export = pytest.importorskip("jax.export")
    a = np.random.RandomState(0).randn(4, 4).astype(np.float32)
    a = a @ a.T + 4 * np.eye(4, dtype=np.float32)
    one = export.export(jax.jit(jnp.linalg.cholesky), platforms=["cpu"])(a)
    np.testing.assert_allclose(jax.jit(one.call)(a), np.linalg.cholesky(a), rtol=1e-5, atol=1e-6)

    def by_platform(x: Any) -> Any:
        return lax.platform_dependent(x, tpu=lambda x: x + 1, cpu=lambda x: x + 2)

    two = export.export(jax.jit(by_platform), platforms=["tpu", "cpu"])(a)
    np.testing.assert_array_equal(jax.jit(two.call)(a), a + 2)
    with pytest.raises(ValueError, match="exported for"):
        export.export(jax.jit(jnp.sin), platforms=["tpu"])(a).call(a)


def test_checks_may_stay_in_programs() -> None:
    def program(a: Any) -> Any:
        checkify.debug_check(jnp.all(a > 0), "must be positive")
        return a + 1

    np.testing.assert_array_equal(jax.jit(program)(jnp.zeros(2)), [1, 1])
