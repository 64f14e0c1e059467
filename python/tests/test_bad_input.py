"""Wrong settings and uses: an error with a message, from a process that goes on."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

jax = pytest.importorskip("jax")

FIRST = "import jax\ntry:\n  jax.devices()\nexcept RuntimeError as error:\n  print(error)\n"


def output_of(program: str, **environment: str) -> str:
    env = {k: v for k, v in os.environ.items() if k != "SYSTOLE_CORES"} | environment
    done = subprocess.run([sys.executable, "-c", program], env=env, text=True, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("SYSTOLE_CORES", "abc", "SYSTOLE_CORES, got 'abc', expected 1 or more"),
        ("SYSTOLE_CORES", "0", "SYSTOLE_CORES, got '0'"),
        ("SYSTOLE_CORES", "9999", "client option 'cores', got 9999, expected 1 to 2048"),
        ("SYSTOLE_TPU", "v9-8", "SYSTOLE_TPU, got 'v9-8', expected one of v2-8, v3-8"),
        ("SYSTOLE_PJRT_LIBRARY", "/nowhere.so", "no file /nowhere.so"),
        ("SYSTOLE_PJRT_LIBRARY", __file__, "test_bad_input.py"),
        ("SYSTOLE_PJRT_OPTIONS", "nonsense=1", "client option, got 'nonsense', expected one of cores"),
        ("SYSTOLE_PJRT_OPTIONS", "backend=gpu", "option 'backend', got 'gpu', expected one of cpu"),
    ],
)
def test_settings_that_cannot_be(variable: str, value: str, message: str) -> None:
    assert message in output_of(FIRST, **{variable: value})


def test_another_platform_is_used_all_the_same() -> None:
    program = "import jax\nprint(jax.numpy.ones(2) + 1, jax.default_backend())"
    assert output_of(program, SYSTOLE_CORES="abc", JAX_PLATFORMS="cpu") == "[2. 2.] cpu\n"


def test_another_version_of_jax_is_named() -> None:
    program = """
import jax
import jax._src.lax.control_flow.conditionals as conditionals
del conditionals.platform_index_p
jax.__version__ = "9.9"
""" + FIRST.removeprefix("import jax\n")
    assert "systole_tpu: got JAX 9.9, expected 0.10: AttributeError" in output_of(program)


def test_more_devices_than_there_are() -> None:
    with pytest.raises(ValueError, match="9"):
        jax.make_mesh((9,), ("x",))
    with pytest.raises(ValueError, match="8 times, but the dimension size is 9"):
        jax.pmap(lambda a: a)(np.ones((9, 2)))
    with pytest.raises(IndexError):
        jax.devices()[8]


def test_a_buffer_of_another_platform_is_refused() -> None:
    here, there = jax.devices()[0], jax.devices("cpu")[0]
    with pytest.raises(ValueError, match="incompatible devices"):
        jax.jit(lambda a, b: a + b)(jax.device_put(1.0, here), jax.device_put(1.0, there))


def test_deleted_and_donated_arrays_are_refused() -> None:
    a = jax.device_put(np.ones(3), jax.devices()[0])
    a.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        jax.jit(lambda x: x + 1)(a)
