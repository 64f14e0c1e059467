"""The environment's options."""

from __future__ import annotations

import pytest
from systole_tpu import _options, command_path, library_path


def test_cores_and_tpus() -> None:
    assert _options.client_options({}) == {}
    assert _options.client_options({"SYSTOLE_CORES": "4"}) == {"cores": 4}
    tpu = _options.client_options({"SYSTOLE_TPU": "v3-8", "SYSTOLE_CORES": "8"})
    assert tpu == {"cores": 8, "core_memory": 16_624_107_520, "core_kind": "TPU v3"}


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"SYSTOLE_CORES": "-1"}, "SYSTOLE_CORES, got '-1', expected a number of devices"),
        ({"SYSTOLE_CORES": "many"}, "SYSTOLE_CORES, got 'many'"),
        ({"SYSTOLE_TPU": "v9"}, "SYSTOLE_TPU, got 'v9', expected one of v2-8, v3-8"),
        ({"SYSTOLE_TPU": "v2-8", "SYSTOLE_CORES": "4"}, "got 4 with SYSTOLE_TPU=v2-8, expected 8 or none"),
    ],
)
def test_values_that_cannot_be(environment: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match="SYSTOLE") as error:
        _options.client_options(environment)
    assert message in str(error.value)


def test_missing_files_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYSTOLE_PJRT_LIBRARY", "/nowhere/lib.so")
    with pytest.raises(FileNotFoundError, match=r"no file /nowhere/lib\.so, expected .* SYSTOLE_PJRT_LIBRARY"):
        library_path()
    monkeypatch.setenv("SYSTOLE_COMMAND", "/nowhere/systole")
    with pytest.raises(FileNotFoundError, match="SYSTOLE_COMMAND"):
        command_path()
