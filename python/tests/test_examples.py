"""The programs of examples/jax: eight devices compute what one does."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

jax = pytest.importorskip("jax")
pytest.importorskip("flax")
pytest.importorskip("optax")

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "jax"


@pytest.fixture(scope="module", autouse=True)
def examples() -> Any:
    sys.path.insert(0, str(FOLDER))
    yield
    sys.path.remove(str(FOLDER))


def equal(losses: Callable[..., list[float]], *ways: Any) -> None:
    """The losses of all ways on eight devices are those of the first way on one."""
    expected = losses(jax.devices()[:1], ways[0])
    assert expected[-1] < expected[0]
    for way in ways:
        np.testing.assert_allclose(losses(jax.devices()[:8], way), expected, rtol=1e-6)


def test_mnist() -> None:
    import digits
    import mnist

    (pictures, labels), _ = digits.load("")

    def losses(devices: list[Any], by: str) -> list[float]:
        training = mnist.Training(devices, by)
        return [float(training.step(pictures[i : i + 16], labels[i : i + 16])) for i in range(0, 80, 16)]

    equal(losses, "jit", "shard_map")


def test_transformer() -> None:
    import transformer

    tokens = np.frombuffer((FOLDER / "transformer.py").read_bytes(), np.uint8).astype(np.int32) % 64
    model = transformer.Decoder(characters=64, width=32, layers=2, length=16)

    def losses(devices: list[Any], model_parts: int) -> list[float]:
        parts = model_parts if len(devices) > 1 else 1
        training = transformer.Training(devices, parts, model, steps=20)
        batches = [tokens[i : i + 16 * 17].reshape(16, 17) for i in range(0, 2000, 400)]
        return [float(training.step(batch)) for batch in batches]

    equal(losses, 1, 4)
