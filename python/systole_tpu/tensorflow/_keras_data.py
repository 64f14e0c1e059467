"""tf.keras.datasets, preprocessing and utils: C++'s."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from systole_tpu import _core

from ._arguments import bind, described, signature_of, taking
from ._keras_models import Sequence
from ._registry import NAMES, export


def _loader(name: str, arguments: list[str]) -> Any:
    full = f"keras.datasets.{name}.load_data"
    signature = signature_of(full, arguments)

    def load_data(*args: Any, **kwargs: Any) -> Any:
        values = bind(full, signature, arguments, args, kwargs)
        unknown = set(values) - set(arguments)
        if unknown:
            raise TypeError(f"tf.{full}() takes {', '.join(arguments)}, got {sorted(unknown)}")
        parts = _core.keras_load_data(name, values)
        return tuple((_lists(x), y) for x, y in parts)

    doc = "((x_train, y_train), (x_test, y_test)), of the files in ~/.keras/datasets."
    return described(load_data, "load_data", doc, signature)


def _lists(x: Any) -> Any:
    """Texts as numbers: an array of lists, as Keras has it."""
    if not isinstance(x, list):
        return x
    made = np.empty(len(x), dtype=object)
    made[:] = x
    return made


for _name, _arguments in _core.keras_datasets():
    export(f"keras.datasets.{_name}.load_data")(_loader(_name, _arguments))


@export("keras.datasets.imdb.get_word_index")
def _imdb_words(path: str = "imdb_word_index.json") -> dict[str, int]:
    return _core.keras_word_index("imdb", path)


@export("keras.datasets.reuters.get_word_index")
def _reuters_words(path: str = "reuters_word_index.json") -> dict[str, int]:
    return _core.keras_word_index("reuters", path)


@export("keras.preprocessing.sequence.pad_sequences")
def pad_sequences(
    sequences: Any,
    maxlen: Any = None,
    dtype: Any = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: float = 0.0,
) -> Any:
    """Sequences as one array [sequences, maxlen]."""
    if not hasattr(sequences, "__len__"):
        raise ValueError("`sequences` must be iterable.")
    arrays = []
    for sequence in sequences:
        if not hasattr(sequence, "__len__"):
            raise ValueError(f"`sequences` must be a list of iterables. Found non-iterable: {sequence}")
        arrays.append(np.asarray(sequence, dtype=dtype))
    return _core.keras_pad_sequences(arrays, maxlen, np.dtype(dtype).name, padding, truncating, float(value))


_FILTERS = '!"#$%&()*+,-./:;<=>?@[\\]^_`{|}~\t\n'


@export("keras.preprocessing.text.Tokenizer")
class Tokenizer:
    """Numbers words by their count in texts."""

    def __init__(
        self,
        num_words: Any = None,
        filters: str = _FILTERS,
        lower: bool = True,
        split: str = " ",
        char_level: bool = False,
        oov_token: Any = None,
        document_count: int = 0,
        **kwargs: Any,
    ) -> None:
        self._tokenizer = _core.keras_tokenizer(
            kwargs.get("nb_words", num_words), filters, lower, split, char_level, oov_token
        )
        self.num_words = num_words

    def fit_on_texts(self, texts: Any) -> None:
        self._tokenizer.fit_on_texts(list(texts))

    def fit_on_sequences(self, sequences: Any) -> None:
        self._tokenizer.fit_on_sequences(list(sequences))

    def texts_to_sequences(self, texts: Any) -> list[list[int]]:
        return self._tokenizer.texts_to_sequences(list(texts))

    def sequences_to_texts(self, sequences: Any) -> list[str]:
        return self._tokenizer.sequences_to_texts(list(sequences))

    def sequences_to_matrix(self, sequences: Any, mode: str = "binary") -> Any:
        return self._tokenizer.sequences_to_matrix(list(sequences), mode)

    def texts_to_matrix(self, texts: Any, mode: str = "binary") -> Any:
        return self._tokenizer.texts_to_matrix(list(texts), mode)

    def to_json(self, **kwargs: Any) -> str:
        return self._tokenizer.to_json()

    def __getattr__(self, name: str) -> Any:
        if name in ("word_index", "word_counts", "document_count"):
            return getattr(self._tokenizer, name)
        if name == "index_word":
            return {index: word for word, index in self._tokenizer.word_index.items()}
        raise AttributeError(f"'Tokenizer' object has no attribute '{name}'")


@export("keras.preprocessing.text.text_to_word_sequence")
def text_to_word_sequence(text: str, filters: str = _FILTERS, lower: bool = True, split: str = " ") -> list[str]:
    return _core.keras_words(text, filters, lower, split)


@export("keras.preprocessing.text.one_hot")
def one_hot(text: str, n: int, filters: str = _FILTERS, lower: bool = True, split: str = " ") -> list[int]:
    return _core.keras_one_hot(text, n, filters, lower, split)


@export("keras.utils.to_categorical")
def to_categorical(y: Any, num_classes: Any = None, dtype: Any = "float32") -> Any:
    """One-hot rows of classes."""
    array = np.asarray(y)
    made = _core.keras_to_categorical(array if array.dtype.kind in "iu" else array.astype("int64"), num_classes)
    return made.astype(dtype, copy=False)


@export("keras.utils.normalize")
def normalize(x: Any, axis: int = -1, order: int = 2) -> Any:
    return _core.keras_normalize(np.asarray(x), axis, order)


@export("keras.utils.get_file")
@taking("keras.utils.get_file", ["untar", "md5_hash", "file_hash", "hash_algorithm", "extract", "archive_format"])
def get_file(fname: str, origin: Any = None, cache_subdir: str = "datasets", cache_dir: Any = None) -> str:
    """The path of a file of ~/.keras/datasets: nothing is downloaded."""
    import os

    folder = cache_dir or os.environ.get("KERAS_HOME") or os.path.join(os.path.expanduser("~"), ".keras")
    path = fname if os.path.isabs(fname) else os.path.join(folder, cache_subdir, fname)
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path} is missing: put the file of {origin} there (this package downloads nothing)")
    return path


@export("keras.utils.multi_gpu_model")
def multi_gpu_model(model: Any, gpus: Any = None, cpu_merge: bool = True, cpu_relocation: bool = False) -> Any:
    """The model: there are no GPUs to spread it over."""
    return model


@export("keras.utils.Progbar")
class Progbar:
    """A bar of progress for loops of a program's own."""

    def __init__(
        self,
        target: Any,
        width: int = 30,
        verbose: int = 1,
        interval: float = 0.05,
        stateful_metrics: Any = None,
        unit_name: str = "step",
    ) -> None:
        self.target, self.width, self.verbose, self.interval = target, width, verbose, interval
        self.stateful_metrics, self.unit_name = set(stateful_metrics or []), unit_name
        self._seen, self._shown = 0, -1.0
        self._sums: dict[str, tuple[float, float]] = {}  # the sum of a value, and of its weights

    def update(self, current: int, values: Any = None) -> None:
        """Shows `current` steps of the target, and the means of the values over the steps."""
        steps = current - self._seen
        self._seen = current
        for name, value in values or []:
            total, weight = (0.0, 0.0) if name in self.stateful_metrics else self._sums.get(name, (0.0, 0.0))
            weight_now = 1 if name in self.stateful_metrics else steps
            self._sums[name] = (total + float(value) * weight_now, weight + weight_now)
        ends = self.target is not None and current >= self.target
        if self.verbose == 2 and not ends:
            return
        if self.verbose and (ends or time.monotonic() - self._shown >= self.interval):
            self._shown = time.monotonic()
            done = 0 if not self.target else min(self.width * current // self.target, self.width)
            arrow = "=" * self.width if done == self.width else ("=" * done + ">").ljust(self.width, ".")
            bar = f" [{arrow}]" if self.target and self.verbose == 1 else ""
            text = "".join(f" - {name}: {total / max(weight, 1):.4f}" for name, (total, weight) in self._sums.items())
            print(f"\r{current}/{self.target or 'Unknown'}{bar}{text}", end="\n" if ends else "", flush=True)

    def add(self, n: int, values: Any = None) -> None:
        self.update(self._seen + n, values)


# Modules of keras.utils, which programs import from.
for _module, _names in {
    "data_utils": ("get_file", "Sequence"),
    "np_utils": ("to_categorical", "normalize"),
    "generic_utils": ("Progbar", "CustomObjectScope", "custom_object_scope", "get_custom_objects"),
    "vis_utils": ("plot_model",),
    "training_utils": ("multi_gpu_model",),
}.items():
    for _name in _names:
        export(f"keras.utils.{_module}.{_name}")(NAMES[f"keras.utils.{_name}"])

__all__ = ["Sequence"]
