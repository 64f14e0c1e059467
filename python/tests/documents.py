"""The five documents that the project began with, beside the repository: ../shared/seeds, or $SYSTOLE_SEEDS."""

from __future__ import annotations

import os
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
FOLDER = Path(os.environ.get("SYSTOLE_SEEDS", ROOT.parent / "shared" / "seeds"))


def document(number: int) -> str:
    """The text of a document. Skips the test where there is none."""
    found = sorted(FOLDER.glob(f"{number:03}_*.txt"))
    if not found:
        pytest.skip(f"{FOLDER} has no document {number}")
    return found[0].read_text(encoding="utf-8")


def listings(number: int) -> list[str]:
    """What stands between lines of ``` in a document."""
    return [match[1] for match in re.finditer(r"^```[^\n]*\n(.*?)^```", document(number), re.S | re.M)]


def iris():
    """scikit-learn's iris: lengths [150, 4] and flowers [150], of ../shared/data/iris."""
    file = FOLDER.parent / "data" / "iris" / "bezdekIris.data"
    rows = [line.split(",") for line in file.read_text().split()]
    names = sorted({row[4] for row in rows})
    return np.array([row[:4] for row in rows], float), np.array([names.index(row[4]) for row in rows])


def stand_ins(monkeypatch) -> None:
    """Modules that the documents import besides TensorFlow and NumPy, as far as they use them."""

    def module(name: str, **values: object) -> None:
        made = types.ModuleType(name)
        made.__dict__.update(values)
        monkeypatch.setitem(sys.modules, name, made)

    def split(x, y, test_size, random_state):
        order = np.random.RandomState(random_state).permutation(len(x))
        test, train = np.split(order, [int(np.ceil(test_size * len(x)))])
        return x[train], x[test], y[train], y[test]

    def load_iris():
        data, target = iris()
        return {"data": data, "target": target}

    module("sklearn.datasets", load_iris=load_iris)
    module("sklearn.model_selection", train_test_split=split)
    module("sklearn", datasets=sys.modules["sklearn.datasets"])
    module("pandas")
    module("matplotlib.pyplot")
    module("matplotlib", pyplot=sys.modules["matplotlib.pyplot"])
