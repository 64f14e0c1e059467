"""Layouts and memory kinds that programs and copies ask for."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax.experimental.layout import Format, Layout  # noqa: E402
from jax.sharding import SingleDeviceSharding  # noqa: E402

X = np.arange(2 * 3 * 4, dtype=np.float32).reshape(2, 3, 4)


def in_layout(order: tuple[int, ...]) -> Any:
    return Format(Layout(order), SingleDeviceSharding(jax.devices()[0]))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_layouts_stay_with_arrays(order: tuple[int, ...]) -> None:
    put = jax.device_put(X, in_layout(order))
    assert put.format.layout.major_to_minor == order
    np.testing.assert_array_equal(put, X)
    compiled = (
        jax.jit(lambda a: a + 1, in_shardings=in_layout(order), out_shardings=in_layout(order[::-1])).lower(X).compile()
    )
    assert compiled.input_formats[0][0].layout.major_to_minor == order
    assert compiled.output_formats.layout.major_to_minor == order[::-1]
    result = compiled(put)
    assert result.format.layout.major_to_minor == order[::-1]
    np.testing.assert_array_equal(result, X + 1)
    np.testing.assert_array_equal(result + put, 2 * X + 1)


def test_the_default_is_row_major() -> None:
    assert jnp.asarray(X).format.layout.major_to_minor == (0, 1, 2)
    assert jax.jit(lambda a: a.T)(X).format.layout.major_to_minor == (0, 1, 2)


def test_transposed_results_lie_as_before() -> None:
    free = Format(Layout.AUTO)
    transposed = jax.jit(lambda a: (jnp.transpose(a, (1, 2, 0)), a + 1), out_shardings=(free, free))(X)
    assert transposed[0].format.layout.major_to_minor == (2, 0, 1)
    assert transposed[1].format.layout.major_to_minor == (0, 1, 2)
    np.testing.assert_array_equal(transposed[0], X.transpose(1, 2, 0))


@pytest.mark.parametrize("kind", ["device", "pinned_host", "unpinned_host"])
def test_results_in_other_memories(kind: str) -> None:
    sharding = SingleDeviceSharding(jax.devices()[0], memory_kind=kind)
    program = jax.jit(lambda a: (a + 1, a * 2), out_shardings=(sharding, None))
    first, second = program(X)
    assert (first.sharding.memory_kind, second.sharding.memory_kind) == (kind, "device")
    np.testing.assert_array_equal(first, X + 1)
    back = jax.jit(lambda a: a - 1, in_shardings=sharding)(first)
    np.testing.assert_array_equal(back, X)
