"""The environment's options."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from systole_tpu import command_path, library_path

_DEVICES = "import jax; d = jax.devices('systole'); print(len(d), d[0].device_kind)"


def _run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name not in ("SYSTOLE_CORES", "SYSTOLE_TPU")}
    return subprocess.run([sys.executable, "-c", program], env=env | environment, capture_output=True, text=True)


def _devices(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return _run(_DEVICES, **environment)


@pytest.mark.parametrize(
    ("environment", "shown"), [({"SYSTOLE_CORES": "4"}, "4 "), ({"SYSTOLE_TPU": "v3-8"}, "8 TPU v3")]
)
def test_cores_and_tpus(environment: dict[str, str], shown: str) -> None:
    assert _devices(environment).stdout.startswith(shown)


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"SYSTOLE_CORES": "many"}, "SYSTOLE_CORES, got 'many', expected 1 or more"),
        ({"SYSTOLE_TPU": "v9"}, "SYSTOLE_TPU, got 'v9', expected one of v2-8, v3-8"),
        ({"SYSTOLE_TPU": "v2-8", "SYSTOLE_CORES": "4"}, "got 4 with SYSTOLE_TPU=v2-8, expected 8 or none"),
    ],
)
def test_values_that_cannot_be(environment: dict[str, str], message: str) -> None:
    assert message in _devices(environment).stderr


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("systole_cores", 3, "3 "),
        ("systole_cores", "2", "2 "),
        ("systole_tpu", "v2-8", "8 TPU v2"),
        ("jax_pjrt_client_create_options", "cores:5", "5 "),
        ("jax_pjrt_client_create_options", "tpu:v3-8", "8 TPU v3"),
        ("jax_pjrt_client_create_options", {"cores": 6}, "6 "),
    ],
)
def test_options_of_jax_come_before_the_environment(name: str, value: object, shown: str) -> None:
    program = f"import jax, systole_tpu.jax_options; jax.config.update({name!r}, {value!r}); {_DEVICES}"
    assert _run(program, SYSTOLE_CORES="4").stdout.startswith(shown)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("systole_cores", 0, "client option 'cores', got 0, expected 1 to 2048"),
        ("systole_cores", "many", "client option 'cores', got a string, expected an integer"),
        ("systole_tpu", "v9", "client option 'tpu', got 'v9', expected one of v2-8, v3-8"),
        ("systole_tpu", 2, "option 'tpu', got a value of a type that it does not take"),
    ],
)
def test_options_of_jax_that_cannot_be(name: str, value: object, message: str) -> None:
    program = f"import jax, systole_tpu.jax_options; jax.config.update({name!r}, {value!r}); {_DEVICES}"
    assert message in _run(program).stderr


def test_an_option_that_comes_too_late() -> None:
    program = f"{_DEVICES}; import systole_tpu.jax_options; jax.config.update('systole_cores', 3)"
    assert "systole_cores, got 3 after JAX looked for its devices, expected it before" in _run(program).stderr


def test_the_options_are_there_only_where_a_program_defines_them() -> None:
    program = f"{_DEVICES}; print([name for name in jax.config.values if name.startswith('systole')])"
    assert _run(program).stdout.endswith("[]\n")


def test_missing_files_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYSTOLE_PJRT_LIBRARY", "/nowhere/lib.so")
    with pytest.raises(FileNotFoundError, match=r"no file /nowhere/lib\.so, expected .* SYSTOLE_PJRT_LIBRARY"):
        library_path()
    monkeypatch.setenv("SYSTOLE_COMMAND", "/nowhere/systole")
    with pytest.raises(FileNotFoundError, match="SYSTOLE_COMMAND"):
        command_path()
