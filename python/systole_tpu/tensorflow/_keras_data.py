"""tf.keras.datasets, preprocessing and utils: C++'s."""

from __future__ import annotations

from typing import Any

import numpy as np

from systole_tpu import _core

from ._keras_models import Sequence
from ._registry import export


def _loader(name: str, arguments: list[str]) -> Any:
    def load_data(*args: Any, **kwargs: Any) -> Any:
        """((x_train, y_train), (x_test, y_test)), of the files in ~/.keras/datasets."""
        values = {**dict(zip(arguments, args, strict=False)), **kwargs}
        unknown = set(values) - set(arguments)
        if unknown or len(args) > len(arguments):
            raise TypeError(f"load_data() takes {', '.join(arguments)}, got {sorted(unknown) or len(args)}")
        parts = _core.keras_load_data(name, values)
        return tuple((_lists(x), y) for x, y in parts)

    return load_data


def _lists(x: Any) -> Any:
    """Texts as numbers: an array of lists, as Keras has it."""
    if not isinstance(x, list):
        return x
    made = np.empty(len(x), dtype=object)
    made[:] = x
    return made


for _name, _arguments in _core.keras_datasets():
    export(f"keras.datasets.{_name}.load_data")(_loader(_name, _arguments))
for _name in ("imdb", "reuters"):

    def _get_word_index(path: str = "", _name: str = _name) -> dict[str, int]:
        return _core.keras_word_index(_name, path)

    export(f"keras.datasets.{_name}.get_word_index")(_get_word_index)


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


@export("keras.utils.to_categorical", "keras.utils.np_utils.to_categorical")
def to_categorical(y: Any, num_classes: Any = None) -> Any:
    """One-hot rows of classes."""
    array = np.asarray(y)
    return _core.keras_to_categorical(array if array.dtype.kind in "iu" else array.astype("int64"), num_classes)


@export("keras.utils.normalize")
def normalize(x: Any, axis: int = -1, order: int = 2) -> Any:
    return _core.keras_normalize(np.asarray(x), axis, order)


@export("keras.utils.get_file")
def get_file(
    fname: str, origin: Any = None, cache_subdir: str = "datasets", cache_dir: Any = None, **kwargs: Any
) -> str:
    """The path of a file of ~/.keras/datasets: nothing is downloaded."""
    import os

    folder = cache_dir or os.environ.get("KERAS_HOME") or os.path.join(os.path.expanduser("~"), ".keras")
    path = fname if os.path.isabs(fname) else os.path.join(folder, cache_subdir, fname)
    if not os.path.exists(path):
        raise FileNotFoundError(f"{path} is missing: put the file of {origin} there (this package downloads nothing)")
    return path


@export("keras.utils.plot_model")
def plot_model(model: Any, to_file: str = "model.png", **kwargs: Any) -> None:
    raise NotImplementedError("tf.keras.utils.plot_model: the C++ function keras::utils::plot_model draws models")


@export("keras.utils.multi_gpu_model")
def multi_gpu_model(model: Any, gpus: Any = None, **kwargs: Any) -> Any:
    return model


@export("keras.utils.Progbar", "keras.utils.generic_utils.Progbar")
class Progbar:
    """A bar of progress for loops of a program's own."""

    def __init__(self, target: Any, width: int = 30, verbose: int = 1, interval: float = 0.05, **kwargs: Any) -> None:
        self.target, self.width, self.verbose = target, width, verbose

    def update(self, current: int, values: Any = None) -> None:
        if self.verbose:
            end = "\n" if self.target is not None and current >= self.target else "\r"
            text = " - ".join(f"{name}: {value:.4f}" for name, value in values or [])
            print(f"{current}/{self.target} {text}", end=end, flush=True)

    def add(self, n: int, values: Any = None) -> None:
        self._seen = getattr(self, "_seen", 0) + n
        self.update(self._seen, values)


__all__ = ["Sequence"]
