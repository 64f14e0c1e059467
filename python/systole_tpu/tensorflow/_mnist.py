"""tensorflow.examples.tutorials.mnist.input_data: MNIST from the IDX files in a folder."""

from __future__ import annotations

import collections
import gzip
import os
from typing import Any

import numpy as np

from ._registry import export

Datasets = collections.namedtuple("Datasets", ["train", "validation", "test"])
_FILES = {
    "train": ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    "test": ("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
}


def _read(folder: str, name: str) -> Any:
    for path in (os.path.join(folder, name), os.path.join(folder, name + ".gz")):
        if os.path.isfile(path):
            with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as file:
                data = file.read()
            shape = np.frombuffer(data, ">u4", data[3], 4).astype(int)
            return np.frombuffer(data, np.uint8, int(np.prod(shape)), 4 + 4 * data[3]).reshape(shape)
    raise FileNotFoundError(
        f"read_data_sets: {os.path.join(folder, name)}, got no such file (nor .gz), expected MNIST's"
    )


class DataSet:
    """Images and labels, in batches."""

    def __init__(self, images: Any, labels: Any, seed: Any = None) -> None:
        self._images, self._labels = images, labels
        self._order = np.arange(len(images))
        self._at, self._epochs = 0, 0
        self._random = np.random.RandomState(seed)

    images = property(lambda self: self._images)
    labels = property(lambda self: self._labels)
    num_examples = property(lambda self: len(self._images))
    epochs_completed = property(lambda self: self._epochs)

    def next_batch(self, batch_size: int, fake_data: bool = False, shuffle: bool = True) -> tuple[Any, Any]:
        """The next examples; each epoch in another order."""
        if self._at == 0 and self._epochs == 0 and shuffle:
            self._random.shuffle(self._order)
        chosen = self._order[self._at : self._at + batch_size]
        self._at += batch_size
        if self._at >= len(self._order):
            self._epochs += 1
            self._at = batch_size - len(chosen)
            if shuffle:
                self._random.shuffle(self._order)
            chosen = np.concatenate([chosen, self._order[: self._at]])
        return self._images[chosen], self._labels[chosen]


@export("examples.tutorials.mnist.input_data.read_data_sets")
def read_data_sets(
    train_dir: str,
    fake_data: bool = False,
    one_hot: bool = False,
    dtype: Any = "float32",
    reshape: bool = True,
    validation_size: int = 5000,
    seed: Any = None,
    source_url: Any = None,
) -> Datasets:
    """The data sets of a folder that has MNIST's IDX files; nothing is downloaded."""
    parts = {}
    for part, (images, labels) in _FILES.items():
        x, y = _read(train_dir, images), _read(train_dir, labels)
        x = x.reshape(len(x), -1) if reshape else x[..., None]
        if str(getattr(dtype, "name", dtype)) == "float32":
            x = x.astype(np.float32) / 255
        parts[part] = (x, np.eye(10)[y] if one_hot else y)
    x, y = parts["train"]
    held = min(validation_size, len(x))
    return Datasets(DataSet(x[held:], y[held:], seed), DataSet(x[:held], y[:held], seed), DataSet(*parts["test"], seed))


export("examples.tutorials.mnist.input_data.DataSet")(DataSet)
