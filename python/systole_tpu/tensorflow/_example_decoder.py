"""tf.contrib.slim.tfexample_decoder: items of serialized Examples, such as pictures and boxes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ._examples import parse_single_example
from ._framework import op
from ._registry import export
from ._sparse import SparseTensor

_HOME = "contrib.slim.tfexample_decoder"


@export(f"{_HOME}.ItemHandler")
class ItemHandler:
    """Makes an item from the features that `keys` names."""

    def __init__(self, keys: Any) -> None:
        self._keys = list(keys) if isinstance(keys, (list, tuple)) else [keys]

    @property
    def keys(self) -> list[str]:
        return self._keys

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        raise NotImplementedError(f"{type(self).__name__}: a handler defines tensors_to_item()")


def _dense(value: Any) -> Any:
    return value.values if isinstance(value, SparseTensor) else value


@export(f"{_HOME}.ItemHandlerCallback")
class ItemHandlerCallback(ItemHandler):
    """Makes an item by calling a function with the features."""

    def __init__(self, keys: Any, func: Callable[[dict[str, Any]], Any]) -> None:
        super().__init__(keys)
        self._function = func

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        return self._function(keys_to_tensors)


@export(f"{_HOME}.Tensor")
class Tensor(ItemHandler):
    """A feature, reshaped to `shape` or to the sizes in the features `shape_keys`."""

    def __init__(self, tensor_key: str, shape_keys: Any = None, shape: Any = None, default_value: Any = 0) -> None:
        if shape_keys and shape is not None:
            raise ValueError("Cannot specify both shape_keys and shape parameters.")
        self._shape_keys = [shape_keys] if isinstance(shape_keys, str) else list(shape_keys or [])
        super().__init__([tensor_key, *self._shape_keys])
        self._shape = shape

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        tensor = _dense(keys_to_tensors[self._keys[0]])
        if self._shape is not None:
            return op("reshape", tensor, self._shape)
        if not self._shape_keys:
            return tensor
        sizes = [op("reshape", _dense(keys_to_tensors[key]), [-1]) for key in self._shape_keys]
        return op("reshape", tensor, op("cast", op("concat", sizes, 0), "int32"))


@export(f"{_HOME}.Image")
class Image(ItemHandler):
    """A picture, JPEG or PNG."""

    def __init__(
        self,
        image_key: Any = None,
        format_key: Any = None,
        shape: Any = None,
        channels: int = 3,
        dtype: Any = "uint8",
        repeated: bool = False,
        dct_method: str = "",
    ) -> None:
        super().__init__([image_key or "image/encoded", format_key or "image/format"])
        if repeated:
            raise NotImplementedError("tf.contrib.slim.tfexample_decoder.Image: repeated, got True, expected False")
        self._shape, self._channels, self._dtype = shape, channels, dtype

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        image = op("image.decode_image", keys_to_tensors[self._keys[0]], channels=self._channels)
        image.set_shape([None, None, self._channels])
        image = op("cast", image, self._dtype)
        return image if self._shape is None else op("reshape", image, self._shape)


@export(f"{_HOME}.BoundingBox")
class BoundingBox(ItemHandler):
    """Boxes [n, 4] from four features, one for each edge."""

    def __init__(self, keys: Any = None, prefix: str = "") -> None:
        edges = ["ymin", "xmin", "ymax", "xmax"] if keys is None else keys
        if len(edges) != 4:
            raise ValueError(f"BoundingBox expects 4 keys but got {len(edges)}")
        super().__init__([prefix + edge for edge in edges])

    def tensors_to_item(self, keys_to_tensors: dict[str, Any]) -> Any:
        return op("stack", [op("reshape", _dense(keys_to_tensors[key]), [-1]) for key in self._keys], axis=1)


@export(f"{_HOME}.TFExampleDecoder")
class TFExampleDecoder:
    """Parses the features of serialized Examples, and makes items of them with handlers."""

    def __init__(self, keys_to_features: dict[str, Any], items_to_handlers: dict[str, ItemHandler]) -> None:
        self._features, self._handlers = dict(keys_to_features), dict(items_to_handlers)

    def list_items(self) -> list[str]:
        return list(self._handlers)

    def decode(self, serialized_example: Any, items: Sequence[str] | None = None) -> list[Any]:
        """Returns the items that `items` names, in that order; by default all."""
        tensors = parse_single_example(serialized_example, self._features)
        chosen = [self._handlers[item] for item in (items or self._handlers)]
        return [handler.tensors_to_item({key: tensors[key] for key in handler.keys}) for handler in chosen]
