"""tf.keras.preprocessing.image and pictures of models: C++'s."""

from __future__ import annotations

from collections.abc import Iterator as _Iterator
from typing import Any

import numpy as np

from systole_tpu import _core

from ._keras_models import Sequence
from ._registry import export

_GENERATOR = (
    "featurewise_center", "samplewise_center", "featurewise_std_normalization", "samplewise_std_normalization",
    "zca_whitening", "zca_epsilon", "rotation_range", "width_shift_range", "height_shift_range", "brightness_range",
    "shear_range", "zoom_range", "channel_shift_range", "fill_mode", "cval", "horizontal_flip", "vertical_flip",
    "rescale", "preprocessing_function", "data_format", "validation_split", "dtype",
)  # fmt: skip
_FLOW = (
    "x",
    "y",
    "batch_size",
    "shuffle",
    "sample_weight",
    "seed",
    "save_to_dir",
    "save_prefix",
    "save_format",
    "subset",
)
_DIRECTORY = (
    "directory", "target_size", "color_mode", "classes", "class_mode", "batch_size", "shuffle", "seed", "save_to_dir",
    "save_prefix", "save_format", "follow_links", "subset", "interpolation",
)  # fmt: skip
# What has no meaning here, unless it asks for something else.
_USUAL = {
    "data_format": "channels_last", "dtype": "float32", "save_to_dir": None, "save_prefix": "", "save_format": "png",
    "follow_links": False,
}  # fmt: skip


def _values(function: str, names: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    if len(args) > len(names):
        raise TypeError(f"{function}() takes {len(names)} arguments, got {len(args)}")
    values = {**dict(zip(names, args, strict=False)), **kwargs}
    for name in set(values) - set(names):
        raise TypeError(f"{function}() got an unexpected keyword argument '{name}'")
    for name, usual in _USUAL.items():
        if values.pop(name, None) not in (None, usual):
            raise NotImplementedError(f"{function}: {name}, expected {usual!r}")
    return values


def _batch(parts: Any) -> Any:
    """x, (x, y) or (x, y, weights)."""
    arrays = [part[0] for part in parts if part]
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


@export("keras.preprocessing.image.Iterator", "keras.preprocessing.image.NumpyArrayIterator")
class Iterator(Sequence, _Iterator):
    """Batches of images without end; those of an epoch by index."""

    def __init__(self, core: Any) -> None:
        self._core = core

    def _source_of_core(self) -> tuple[str, Any]:
        """What fit() reads: batches that are made without the GIL."""
        return "images", self._core

    def __len__(self) -> int:
        return self._core.size()

    def __getitem__(self, index: int) -> Any:
        if not 0 <= index < len(self):
            raise ValueError(f"Asked to retrieve element {index}, but the Sequence has length {len(self)}")
        return _batch(self._core.get(index))

    def __next__(self) -> Any:
        return _batch(self._core.next())

    next = __next__

    def on_epoch_end(self) -> None:
        self._core.on_epoch_end()

    def reset(self) -> None:
        self._core.reset()

    @property
    def n(self) -> int:
        return self._core.samples()

    samples = n


@export("keras.preprocessing.image.DirectoryIterator")
class DirectoryIterator(Iterator):
    """Batches of the images below a folder."""

    @property
    def class_indices(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self._core.class_names())}

    @property
    def num_classes(self) -> int:
        return len(self._core.class_names())

    @property
    def filenames(self) -> list[str]:
        return self._core.filenames()

    @property
    def classes(self) -> Any:
        return np.array(self._core.classes(), dtype="int32")


@export("keras.preprocessing.image.ImageDataGenerator")
class ImageDataGenerator:
    """Batches of images, changed at random."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._core = _core.keras_image_generator(_values("ImageDataGenerator", _GENERATOR, args, kwargs))

    mean = property(lambda self: self._core.mean())
    std = property(lambda self: self._core.std())

    def fit(self, x: Any, augment: bool = False, rounds: int = 1, seed: Any = None) -> None:
        """Computes what featurewise options and whitening need, of arrays [examples, height, width, channels]."""
        self._core.fit(np.asarray(x), augment, rounds, seed or 0)

    def flow(self, *args: Any, **kwargs: Any) -> Iterator:
        """Batches of the arrays x [examples, height, width, channels] and y."""
        values = _values("flow", _FLOW, args, kwargs)
        x, y = values.pop("x"), values.pop("y", None)
        weights = values.pop("sample_weight", None)
        if weights is not None:
            values["sample_weight"] = np.asarray(weights)
        return Iterator(self._core.flow(np.asarray(x), None if y is None else np.asarray(y), values))

    def flow_from_directory(self, *args: Any, **kwargs: Any) -> DirectoryIterator:
        """Batches of the JPEG and PNG files of a folder's subfolders, one for each class."""
        values = _values("flow_from_directory", _DIRECTORY, args, kwargs)
        if "class_mode" in values and values["class_mode"] is None:
            values["class_mode"] = ""
        return DirectoryIterator(self._core.flow_from_directory(str(values.pop("directory")), values))

    def standardize(self, x: Any) -> Any:
        return self._core.standardize(np.asarray(x))

    def random_transform(self, x: Any, seed: Any = None) -> Any:
        return self._core.random_transform(np.asarray(x), np.random.randint(2**31) if seed is None else seed)


@export("keras.preprocessing.image.load_img")
def load_img(path: Any, grayscale: bool = False, color_mode: str = "rgb", target_size: Any = None,
             interpolation: str = "nearest") -> Any:  # fmt: skip
    """The image of a JPEG or PNG file: uint8 [height, width, channels] (Keras gives an object of PIL)."""
    mode = "grayscale" if grayscale else color_mode
    values = {"color_mode": mode, "interpolation": interpolation}
    if target_size is not None:
        values["target_size"] = target_size
    return _core.keras_load_img(str(path), values)


@export("keras.preprocessing.image.img_to_array")
def img_to_array(img: Any, data_format: Any = None, dtype: str = "float32") -> Any:
    """An image, of load_img or of PIL, as an array [height, width, channels]."""
    array = np.asarray(img, dtype)
    return array[..., None] if array.ndim == 2 else array


@export("keras.utils.plot_model")
def plot_model(
    model: Any,
    to_file: str = "model.png",
    show_shapes: bool = False,
    show_layer_names: bool = True,
    rankdir: str = "TB",
    expand_nested: bool = False,
    dpi: int = 96,
) -> None:
    """Draws the layers of a model with Graphviz's `dot`: png, svg or pdf; a file .dot needs no program."""
    _core.keras_plot_model(model._layer, str(to_file), show_shapes, show_layer_names, rankdir)
