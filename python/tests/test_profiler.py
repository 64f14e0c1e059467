"""Traces of jax.profiler hold the programs and ops that ran on the plugin."""

from __future__ import annotations

from pathlib import Path

import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402


def events(folder: Path) -> dict[str, set[str]]:
    """Returns the names of the events of the trace in a folder, by plane."""
    (path,) = folder.rglob("*.xplane.pb")
    data = jax.profiler.ProfileData.from_file(str(path))
    found: dict[str, set[str]] = {}
    for plane in data.planes:
        names = found.setdefault(plane.name, set())
        for line in plane.lines:
            names.update(event.name for event in line.events)
    return found


def test_a_trace_holds_our_ops(tmp_path: Path) -> None:
    @jax.jit
    def traced_function(x: jax.Array) -> jax.Array:
        return jnp.tanh(x @ x)

    x = jnp.full((64, 64), 0.1, jnp.float32)
    traced_function(x).block_until_ready()
    with jax.profiler.trace(tmp_path):
        for _ in range(5):
            traced_function(x).block_until_ready()
    of_device = {name for plane, names in events(tmp_path).items() if plane.startswith("/device:") for name in names}
    assert any("traced_function" in name for name in of_device), of_device
    assert any("dot" in name for name in of_device), of_device


def test_traces_one_after_another(tmp_path: Path) -> None:
    for turn in range(2):
        with jax.profiler.trace(tmp_path / str(turn)):
            jax.jit(lambda x: x + 1)(jnp.arange(1000.0)).block_until_ready()
        assert events(tmp_path / str(turn))
