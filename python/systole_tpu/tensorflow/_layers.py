"""tf.layers as classes, and recurrent cells."""

from __future__ import annotations

from typing import Any

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
    positions = [a for a in core_function_arguments(function) if a != "inputs"]

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        Layer.__init__(self, kwargs.get("trainable", True), kwargs.get("name"))
        self._arguments = dict(zip(positions, args, strict=False), **kwargs)
        self._made: Any = None

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
        {"__init__": __init__, "__call__": __call__, "apply": __call__, "__module__": "systole_tpu.tensorflow.layers"},
    )


def core_function_arguments(function: str) -> list[str]:
    import inspect

    from ._functions import make_all

    if f"layers.{function}" not in NAMES:
        make_all()
    return list(inspect.signature(NAMES[f"layers.{function}"]).parameters)


for _name, _function in _CLASSES.items():
    export(f"layers.{_name}")(_layer_class(_name, _function))


@export("contrib.layers.flatten")
def contrib_flatten(inputs: Any, outputs_collections: Any = None, scope: Any = None) -> Any:
    return NAMES["layers.flatten"](inputs)


@export("contrib.layers.fully_connected")
def fully_connected(
    inputs: Any,
    num_outputs: int,
    activation_fn: Any = "relu",
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = None,
    weights_regularizer: Any = None,
    biases_initializer: Any = None,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """activation_fn(inputs * weights + biases)."""
    if normalizer_fn is not None:
        raise NotImplementedError("tf.contrib.layers.fully_connected: normalizer_fn, expected None")
    return NAMES["layers.dense"](
        inputs,
        num_outputs,
        activation=NAMES["nn.relu"] if activation_fn == "relu" else activation_fn,
        kernel_initializer=weights_initializer,
        kernel_regularizer=weights_regularizer,
        bias_initializer=biases_initializer,
        bias_regularizer=biases_regularizer,
        trainable=trainable,
        name=scope or "fully_connected",
        reuse=reuse,
    )
