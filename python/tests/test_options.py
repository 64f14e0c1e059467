"""The environment's options."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from systole_tpu import command_path, library_path

_DEVICES = "import jax; d = jax.devices('systole'); print(len(d), d[0].device_kind)"


def _devices(environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    cleared = {name: value for name, value in os.environ.items() if name not in ("SYSTOLE_CORES", "SYSTOLE_TPU")}
    return subprocess.run(
        [sys.executable, "-c", _DEVICES], env={**cleared, **environment}, capture_output=True, text=True
    )


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


def test_missing_files_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYSTOLE_PJRT_LIBRARY", "/nowhere/lib.so")
    with pytest.raises(FileNotFoundError, match=r"no file /nowhere/lib\.so, expected .* SYSTOLE_PJRT_LIBRARY"):
        library_path()
    monkeypatch.setenv("SYSTOLE_COMMAND", "/nowhere/systole")
    with pytest.raises(FileNotFoundError, match="SYSTOLE_COMMAND"):
        command_path()
