#!/usr/bin/env python3
"""Files of models between Keras and Systole, in both directions, with the Keras of this Python.

usage: keras_files.py CLIENT [--only NAME,...] [--table FILE]
CLIENT is the program of keras_client.cc. For each model of keras_models.py Keras trains two steps, saves, and trains two
more; the client loads the file, predicts and trains as many. Keras then reads what the client has saved. Differences are
relative to the largest value. Exits 1 if one is over LIMIT. --table writes the table into a
section of FILE.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import h5py
import numpy as np

import keras
from keras_models import MODELS

LIMIT = 2e-5
VERSION = int(keras.__version__.split(".")[0])
# What cannot be equal, and why: docs/keras_files.md.
EXPECTED = {
    (3, "hard_sigmoid", "again.h5"): "no such function",
    # HDF5 files are Keras 2's, which counts the nodes of a nested Sequential from one; Keras 3 counts from zero.
    (3, "nested_output", "again.h5"): "no such node",
}


def difference(a, b):
    a, b = np.asarray(a, "float64"), np.asarray(b, "float64")
    if a.shape != b.shape:
        return float("inf")
    return np.abs(a - b).max() / max(np.abs(a).max(), 1e-6) if a.size else 0.0


def predictions(model, x):
    y = model.predict(x if len(x) > 1 else x[0], verbose=0)
    return y if isinstance(y, list) else [y]


def train(model, x, y, steps=2):
    for _ in range(steps):
        model.train_on_batch(x if len(x) > 1 else x[0], y if len(y) > 1 else y[0])


def write_case(folder, make):
    keras.backend.clear_session()
    keras.utils.set_random_seed(1)
    model, x, y = make(keras)
    train(model, x, y)
    os.makedirs(folder)
    with h5py.File(f"{folder}/data.h5", "w") as f:
        for i, value in enumerate(x):
            f[f"x{i}"] = value
        for i, value in enumerate(y):
            f[f"y{i}"] = value
    # In this order: Keras 3 forgets the optimizer of later archives when it writes HDF5.
    model.save(f"{folder}/model.keras")
    model.save(f"{folder}/model.h5")
    expected = {"p": predictions(model, x)}
    train(model, x, y)
    expected["q"] = predictions(model, x)
    model.save_weights(f"{folder}/later.weights.h5")
    train(model, x, y)
    expected["r"] = predictions(model, x)
    return expected, x, y


def read_result(folder, kind):
    """The client's predictions, or its error."""
    error = f"{folder}/error-{kind}.txt"
    if os.path.exists(error):
        return open(error).read()
    with h5py.File(f"{folder}/result-{kind}.h5") as f:
        return {k: [f[f"{k}{i}"][()] for i in range(100) if f"{k}{i}" in f] for k in "pqr"}


def worst(pairs):
    return max(difference(a, b) for some, others in pairs for a, b in zip(some, others, strict=True))


def compare_loaded(folder, expected):
    """What the client makes of Keras's files."""
    row = {}
    for kind in ("h5", "keras"):
        result = read_result(folder, kind)
        row["model." + kind] = result if isinstance(result, str) else worst([(expected[k], result[k]) for k in "pqr"])
    result = read_result(folder, "weights")
    row["later.weights.h5"] = result if isinstance(result, str) else worst([(expected["q"], result["p"])])
    return row


def compare_written(folder, make, x, y):
    """What Keras makes of the client's files."""
    row = {}
    source = "keras" if isinstance(read_result(folder, "keras"), dict) else "h5"
    result = read_result(folder, source)
    if isinstance(result, str):
        return row
    for kind in ("h5", "keras", "weights.h5"):
        if kind == "keras" and VERSION < 3:
            continue  # archives are in the form of Keras 3
        try:
            if kind == "weights.h5":
                model = make(keras)[0]
                model.load_weights(f"{folder}/again-{source}.{kind}")
            else:
                model = keras.models.load_model(f"{folder}/again-{source}.{kind}")
            row["again." + kind] = worst([(result["q"], predictions(model, x))])
            # The state of the optimizer is in Keras 3's archives and in the HDF5 files of Keras 2.
            if kind == ("keras" if VERSION >= 3 else "h5"):
                train(model, x, y)
                row["again." + kind] = max(row["again." + kind], worst([(result["r"], predictions(model, x))]))
        except Exception as error:  # pylint: disable=broad-except
            row["again." + kind] = f"{type(error).__name__}: {error}"
    return row


COLUMNS = ["model.h5", "model.keras", "later.weights.h5", "again.h5", "again.keras", "again.weights.h5"]


def text_of(value, name, column):
    if value is None:
        return ""
    if isinstance(value, str):
        return value.replace("\n", " ")[:160]
    known = EXPECTED.get((VERSION, name, column))
    return f"{value:.1e}" + (f" ({known})" if known else "")


def is_bad(value, name, column):
    return value is not None and (VERSION, name, column) not in EXPECTED and (isinstance(value, str) or not value <= LIMIT)


def write_table(path, table):
    """Replaces the section of this client, or adds it at the end."""
    title = f"\n### Keras {keras.__version__}\n\n"
    with open(path, encoding="utf-8") as f:
        text = f.read()
    before, found, rest = text.partition(f"\n### Keras {VERSION}.")
    after = "\n### " + rest.partition("\n### ")[2] if found and "\n### " in rest else ""
    with open(path, "w", encoding="utf-8") as f:
        f.write(before + title + table + after)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("client")
    parser.add_argument("--only", default="")
    parser.add_argument("--table")
    arguments = parser.parse_args()
    wanted = arguments.only.split(",") if arguments.only else None
    cases = {n: f for n, (f, versions) in MODELS.items() if VERSION in versions and (not wanted or n in wanted)}
    root = tempfile.mkdtemp(prefix="keras_files")
    try:
        written = {name: write_case(f"{root}/{name}", make) for name, make in cases.items()}
        subprocess.run([arguments.client, *(f"{root}/{name}" for name in cases)], check=True, timeout=1800)
        lines, bad = [], 0
        for name, (expected, x, y) in written.items():
            row = compare_loaded(f"{root}/{name}", expected)
            row |= compare_written(f"{root}/{name}", cases[name], x, y)
            bad += any(is_bad(row.get(c), name, c) for c in COLUMNS)
            lines.append(f"| {name} | " + " | ".join(text_of(row.get(c), name, c) for c in COLUMNS) + " |")
    finally:
        if not os.environ.get("KEEP"):
            shutil.rmtree(root)
        else:
            print(root)
    table = "\n".join(["| model | " + " | ".join(COLUMNS) + " |", "|---" * (len(COLUMNS) + 1) + "|", *lines, ""])
    print(table)
    print(f"Keras {keras.__version__}: {len(cases)} models, {bad} of them differ")
    if arguments.table:
        write_table(arguments.table, table)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
