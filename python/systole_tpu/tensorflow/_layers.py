"""tf.layers as classes, and recurrent cells."""

from __future__ import annotations

from typing import Any

from ._arguments import bind, constructor, signature_of
from ._registry import NAMES, export

_CLASSES = {
    "Dense": "dense",
    "Conv1D": "conv1d",
    "Conv2D": "conv2d",
    "Conv2DTranspose": "conv2d_transpose",
    "SeparableConv2D": "separable_conv2d",
    "MaxPooling1D": "max_pooling1d",
    "MaxPooling2D": "max_pooling2d",
    "AveragePooling1D": "average_pooling1d",
    "AveragePooling2D": "average_pooling2d",
    "BatchNormalization": "batch_normalization",
    "Dropout": "dropout",
    "Flatten": "flatten",
}


@export("layers.Layer")
class Layer:
    """A function with variables: the first call makes them, later ones use them."""

    def __init__(self, trainable: bool = True, name: Any = None, dtype: Any = None, **kwargs: Any) -> None:
        self.trainable, self._name, self.built = trainable, name, False

    @property
    def name(self) -> Any:
        return self._name

    def build(self, input_shape: Any) -> None:
        self.built = True

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        return inputs

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.built:
            self.build(inputs.shape)
            self.built = True
        return self.call(inputs, *args, **kwargs)

    apply = __call__

    def add_variable(
        self, name: str, shape: Any, dtype: Any = None, initializer: Any = None, trainable: bool = True, **kwargs: Any
    ) -> Any:
        return NAMES["get_variable"](name, shape, dtype, initializer, trainable=trainable)

    add_weight = add_variable


def _layer_class(name: str, function: str) -> Any:
    full = f"layers.{name}"
    signature = signature_of(full, [])

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        values = bind(full, signature, [], args, kwargs)
        Layer.__init__(self, values.get("trainable", True), values.get("name"))
        self._arguments = values
        self._made: Any = None

    __init__.__signature__ = constructor(signature)  # type: ignore[attr-defined]

    def __call__(self: Any, inputs: Any, **kwargs: Any) -> Any:
        arguments = {**self._arguments, **kwargs}
        if self._made is not None:
            arguments.update(name=self._made, reuse=True)
        before = {v.name for v in NAMES["global_variables"]()}
        result = NAMES[f"layers.{function}"](inputs, **arguments)
        new = [v.name for v in NAMES["global_variables"]() if v.name not in before]
        if new and self._made is None:
            scope = NAMES["get_variable_scope"]().name
            self._made = new[0].removeprefix(scope + "/" if scope else "").split("/")[0]
            self._name = self._made
        self.built = True
        return result

    return type(
        name,
        (Layer,),
        {
            "__init__": __init__,
            "__call__": __call__,
            "apply": __call__,
            "__module__": "systole_tpu.tensorflow.layers",
            "__doc__": f"tf.layers.{function} as an object, whose calls share their variables.",
        },
    )


for _name, _function in _CLASSES.items():
    export(f"layers.{_name}")(_layer_class(_name, _function))
