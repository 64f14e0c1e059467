"""The programs of examples/python."""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("systole_tpu._core")
from documents import FOLDER, ROOT
from systole_tpu import _hook

EXAMPLES = ROOT / "examples" / "python"
DATA = FOLDER.parent / "data"


def run(program: str, *arguments: str, tpu: str = "", environment: dict[str, str] | None = None, folder=None) -> str:
    words = [sys.executable, "-m", "systole_tpu", *(["--tpu", tpu] if tpu else []), str(EXAMPLES / program), *arguments]
    wanted = {**os.environ, "PYTHONPATH": str(ROOT / "python"), **(environment or {})}
    made = subprocess.run(words, capture_output=True, text=True, timeout=300, cwd=folder, env=wanted)
    assert made.returncode == 0, made.stdout + made.stderr
    return made.stdout + made.stderr


def images(path, count=256):
    """Digits that are bars at ten places, as the original files have them."""
    rng = np.random.RandomState(3)
    path.mkdir(parents=True, exist_ok=True)
    for name in ("train", "t10k"):
        labels = rng.randint(0, 10, count).astype(np.uint8)
        x = rng.randint(0, 60, (count, 28, 28)).astype(np.uint8)
        for i, label in enumerate(labels):
            x[i, 2 * label + 4 : 2 * label + 6] = 250
        (path / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 2051, count, 28, 28) + x.tobytes())
        (path / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, count) + labels.tobytes())
    return x, labels


@pytest.mark.parametrize("tpu", ["", "v2-8"])
def test_iris_session(tpu):
    file = DATA / "iris" / "bezdekIris.data"
    if not file.exists():
        pytest.skip(f"{file} is missing")
    output = run("iris_session.py", str(file), *(["--on_tpu"] if tpu else []), tpu=tpu)
    assert float(re.findall(r"accuracy = ([\d.]+)", output)[-1]) > 90


@pytest.mark.parametrize("tpu", ["", "v2-8"])
def test_digits_tpuestimator(tpu, tmp_path):
    words = ["--use_tpu"] if tpu else []
    output = run("digits_tpuestimator.py", *words, tpu=tpu, environment={"TMPDIR": str(tmp_path)})
    assert float(re.findall(r"accuracy: ([\d.]+)", output)[-1]) > 0.95


def test_mnist_tpu_estimator(tmp_path):
    _hook.install()
    import tensorflow as tf

    x, labels = images(tmp_path / "mnist")
    with tf.python_io.TFRecordWriter(str(tmp_path / "train.tfrecords")) as writer:
        for image, label in zip(x, labels, strict=True):
            feature = {
                "image_raw": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image.tobytes()])),
                "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[int(label)])),
            }
            writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
    run(
        "mnist_tpu_estimator.py", f"--train_file={tmp_path}/train.tfrecords", f"--model_dir={tmp_path}/run",
        "--batch_size=64", "--train_steps=20", "--iterations=10", tpu="v2-8",
    )  # fmt: skip
    assert tf.train.latest_checkpoint(str(tmp_path / "run")).endswith("model.ckpt-20")


def test_keras_tpu_model(tmp_path):
    images(tmp_path / "datasets" / "mnist", 512)
    output = run("keras_tpu_model.py", "512", "8", tpu="v2-8", environment={"KERAS_HOME": str(tmp_path)})
    assert float(re.findall(r"accuracy = ([\d.]+)", output)[-1]) > 0.8


def test_imdb_lstm(tmp_path):
    rng = np.random.RandomState(0)
    texts = np.empty(64, dtype=object)
    texts[:] = [[1, *rng.randint(4, 500, 20).tolist()] for _ in texts]
    (tmp_path / "datasets").mkdir()
    labels = rng.randint(0, 2, 64)
    np.savez(tmp_path / "datasets" / "imdb.npz", x_train=texts, y_train=labels, x_test=texts, y_test=labels)
    output = run("imdb_lstm.py", "64", "1", "30", environment={"KERAS_HOME": str(tmp_path)}, folder=tmp_path)
    assert "val_acc" in output and (tmp_path / "imdb_lstm.h5").exists()
    shutil.rmtree(tmp_path / "datasets")
