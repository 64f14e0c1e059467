"""Launches return before programs end, in the order of the calls."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402


@jax.jit
def slow(a: Any) -> Any:
    """Takes long: some hundred milliseconds."""
    return lax.fori_loop(0, 60, lambda _, x: jnp.tanh(x @ a), a)


def in_a_process(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], text=True, capture_output=True, timeout=120)


def test_a_launch_returns_before_the_program_ends() -> None:
    a = jnp.full((400, 400), 1e-3)
    expected = np.asarray(slow(a))
    results = [slow(a), slow(a) + 1]
    assert not results[1].is_ready()
    np.testing.assert_array_equal(results[1], expected + 1)
    assert results[0].is_ready()


def test_donated_results_that_are_pending_are_updated_in_place() -> None:
    update = jax.jit(lambda a, b: a + b[0, 0], donate_argnums=0)
    a = jnp.zeros((256, 256))
    pointer = a.unsafe_buffer_pointer()
    pending = slow(jnp.zeros((400, 400)))
    for _ in range(5):
        before, a = a, update(a, pending)
        assert before.is_deleted()
    assert a.unsafe_buffer_pointer() == pointer


def test_an_array_that_a_pending_launch_reads_can_be_donated_and_deleted() -> None:
    a, b = jnp.ones((400, 400)), jnp.ones((64,))
    pending = slow(a)
    copy = jax.jit(lambda x, p: x + p[0, 0])(b, pending)
    donated = jax.jit(lambda x: x * 5, donate_argnums=0)(b)
    a.delete()
    np.testing.assert_allclose(copy, 1 + np.asarray(pending)[0, 0], rtol=1e-6)
    np.testing.assert_array_equal(donated, np.full(64, 5))


def test_copies_to_the_host_and_other_devices_wait() -> None:
    a = jnp.full((400, 400), 2e-3)
    expected = np.asarray(slow(a))
    pending = slow(a)
    pending.copy_to_host_async()
    moved = jax.device_put(pending, jax.devices()[1])
    np.testing.assert_array_equal(moved, expected)
    np.testing.assert_array_equal(pending, expected)


def test_errors_of_callbacks_are_raised_by_the_call() -> None:
    def fail(_: Any) -> Any:
        raise ValueError("no such thing")

    def program(a: Any) -> Any:
        return jax.pure_callback(fail, jax.ShapeDtypeStruct(a.shape, a.dtype), a)

    for argument in (jnp.ones((2,)), slow(jnp.ones((400, 400)))):
        with pytest.raises(Exception, match="no such thing"):
            jax.jit(program)(argument)
    np.testing.assert_array_equal(jnp.ones(2) + 1, [2, 2])


def test_a_callback_may_launch_programs() -> None:
    def inside(a: Any) -> Any:
        return np.asarray(jax.jit(lambda x: x * 2)(jnp.asarray(a)))

    a = jnp.ones((400, 400))
    pending = slow(a * 0)
    result = jax.jit(lambda x: jax.pure_callback(inside, jax.ShapeDtypeStruct(x.shape, x.dtype), x))(pending + 3)
    np.testing.assert_array_equal(result, np.full((400, 400), 6))


def test_a_process_ends_while_a_program_runs() -> None:
    program = "import jax; a = jax.numpy.ones((900, 900)); b = jax.jit(lambda a: [a := a @ a for _ in range(9)])(a)"
    done = in_a_process(program)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_is_told_so() -> None:
    program = """
import os, warnings
import jax
warnings.simplefilter("ignore")
jax.block_until_ready(jax.numpy.ones(3) + 1)
child = os.fork()
if child == 0:
    try:
        jax.block_until_ready(jax.numpy.ones(4) * 3)
    except Exception as error:
        os._exit(7 if "this process was forked" in str(error) else 8)
    os._exit(9)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(jax.numpy.ones(4) * 3)
"""
    done = in_a_process(program)
    assert done.stdout == "7\n[3. 3. 3. 3.]\n", done.stderr
