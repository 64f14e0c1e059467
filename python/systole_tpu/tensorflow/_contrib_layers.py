"""tf.contrib.layers: layers as functions, whose variables are `weights` and `biases`."""

from __future__ import annotations

from typing import Any

from ._arg_scope import add_arg_scope
from ._arguments import taking
from ._framework import GraphKeys, get_collection, op
from ._registry import NAMES, export
from ._variables import get_variable, variable_scope

_RELU = "relu"


def _activated(value: Any, activation_fn: Any) -> Any:
    if activation_fn == _RELU:
        return op("nn.relu", value)
    return value if activation_fn is None else activation_fn(value)


def _finished(value: Any, biases: Any, normalizer_fn: Any, normalizer_params: Any, activation_fn: Any) -> Any:
    if normalizer_fn is not None:
        value = normalizer_fn(value, **(normalizer_params or {}))
    elif biases is not None:
        value = op("nn.bias_add", value, biases())
    return _activated(value, activation_fn)


def _xavier() -> Any:
    return NAMES["contrib.layers.xavier_initializer"]()


def _weights(shape: list[int], initializer: Any, regularizer: Any, trainable: bool) -> Any:
    return get_variable(
        "weights", shape, initializer=initializer or _xavier(), regularizer=regularizer, trainable=trainable
    )


def _biases(units: int, initializer: Any, regularizer: Any, trainable: bool) -> Any:
    if initializer is None:
        return None
    made = NAMES["zeros_initializer"]() if initializer == "zeros" else initializer
    return lambda: get_variable("biases", [units], initializer=made, regularizer=regularizer, trainable=trainable)


@export("contrib.layers.fully_connected", "contrib.layers.linear")
@add_arg_scope
def fully_connected(
    inputs: Any,
    num_outputs: int,
    activation_fn: Any = _RELU,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = None,
    weights_regularizer: Any = None,
    biases_initializer: Any = "zeros",
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """activation_fn(inputs * weights + biases)."""
    with variable_scope(scope, "fully_connected", reuse=reuse):
        shape = [inputs.shape[-1].value, num_outputs]
        weights = _weights(shape, weights_initializer, weights_regularizer, trainable)
        rank = len(inputs.shape)
        value = op("matmul", inputs, weights) if rank == 2 else op("tensordot", inputs, weights, [[rank - 1], [0]])
        biases = _biases(num_outputs, biases_initializer, biases_regularizer, trainable)
        return _finished(value, biases, normalizer_fn, normalizer_params, activation_fn)


def _pair(value: Any) -> list[int]:
    return [value, value] if isinstance(value, int) else list(value)


@export("contrib.layers.conv2d", "contrib.layers.convolution2d")
@add_arg_scope
def conv2d(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: Any = None,
    rate: Any = 1,
    activation_fn: Any = _RELU,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = None,
    weights_regularizer: Any = None,
    biases_initializer: Any = "zeros",
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """activation_fn(convolution of the inputs + biases), channels last."""
    with variable_scope(scope, "Conv", reuse=reuse):
        shape = [*_pair(kernel_size), inputs.shape[-1].value, num_outputs]
        weights = _weights(shape, weights_initializer, weights_regularizer, trainable)
        value = op("nn.conv2d", inputs, weights, [1, *_pair(stride), 1], padding, dilations=[1, *_pair(rate), 1])
        biases = _biases(num_outputs, biases_initializer, biases_regularizer, trainable)
        return _finished(value, biases, normalizer_fn, normalizer_params, activation_fn)


@export("contrib.layers.separable_conv2d", "contrib.layers.separable_convolution2d")
@add_arg_scope
def separable_conv2d(
    inputs: Any,
    num_outputs: Any,
    kernel_size: Any,
    depth_multiplier: int = 1,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    rate: Any = 1,
    activation_fn: Any = _RELU,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = None,
    pointwise_initializer: Any = None,
    weights_regularizer: Any = None,
    biases_initializer: Any = "zeros",
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """A convolution of each channel by itself, then one of 1 x 1 unless num_outputs is None."""

    def kernel(name: str, shape: list[int], initializer: Any) -> Any:
        made = initializer or _xavier()
        return get_variable(name, shape, initializer=made, regularizer=weights_regularizer, trainable=trainable)

    with variable_scope(scope, "SeparableConv2d", reuse=reuse):
        channels, strides = inputs.shape[-1].value, [1, *_pair(stride), 1]
        rates = None if _pair(rate) == [1, 1] else _pair(rate)
        depthwise = kernel("depthwise_weights", [*_pair(kernel_size), channels, depth_multiplier], weights_initializer)
        between = channels * depth_multiplier
        if num_outputs is None:
            value = op("nn.depthwise_conv2d", inputs, depthwise, strides, padding, rate=rates)
        else:
            shape = [1, 1, between, num_outputs]
            pointwise = kernel("pointwise_weights", shape, pointwise_initializer or weights_initializer)
            value = op("nn.separable_conv2d", inputs, depthwise, pointwise, strides, padding, rate=rates)
        biases = _biases(num_outputs or between, biases_initializer, biases_regularizer, trainable)
        return _finished(value, biases, normalizer_fn, normalizer_params, activation_fn)


def _pool(function: str) -> Any:
    def pool(
        inputs: Any,
        kernel_size: Any,
        stride: Any = 2,
        padding: str = "VALID",
        data_format: Any = None,
        outputs_collections: Any = None,
        scope: Any = None,
    ) -> Any:
        return op(function, inputs, _pair(kernel_size), _pair(stride), padding.lower())

    return pool


export("contrib.layers.max_pool2d")(add_arg_scope(_pool("layers.max_pooling2d")))
export("contrib.layers.avg_pool2d")(add_arg_scope(_pool("layers.average_pooling2d")))


@export("contrib.layers.batch_norm")
@add_arg_scope
@taking("contrib.layers.batch_norm", ["updates_collections", "variables_collections", "outputs_collections", "fused"])
def batch_norm(
    inputs: Any,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Any = None,
    is_training: Any = True,
    reuse: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Any:
    """Batch normalisation; the moving averages are updated by the operations of the collection update_ops."""
    value = NAMES["layers.batch_normalization"](
        inputs, momentum=decay, epsilon=epsilon, center=center, scale=scale, training=is_training,
        trainable=trainable, name=scope or "BatchNorm", reuse=reuse,
    )  # fmt: skip
    return _activated(value, activation_fn)


@export("contrib.layers.flatten")
@add_arg_scope
def flatten(inputs: Any, outputs_collections: Any = None, scope: Any = None) -> Any:
    return NAMES["layers.flatten"](inputs)


@export("contrib.layers.dropout")
@add_arg_scope
@taking("contrib.layers.dropout", ["outputs_collections"])
def dropout(
    inputs: Any, keep_prob: Any = 0.5, noise_shape: Any = None, is_training: Any = True, seed: Any = None
) -> Any:
    """Keeps each element with a probability, in training."""
    return NAMES["layers.dropout"](inputs, 1 - keep_prob, noise_shape, seed=seed, training=is_training)


@export("contrib.layers.softmax")
@add_arg_scope
def softmax(logits: Any, scope: Any = None) -> Any:
    return op("nn.softmax", logits)


def _scope_of(layer: Any) -> str:
    return getattr(layer, "__name__", "stack")


@export("contrib.layers.repeat")
def repeat(inputs: Any, repetitions: int, layer: Any, *args: Any, **kwargs: Any) -> Any:
    """The layer applied several times."""
    with variable_scope(kwargs.pop("scope", None), "Repeat"):
        for i in range(repetitions):
            inputs = layer(inputs, *args, **{**kwargs, "scope": f"{_scope_of(layer)}_{i + 1}"})
    return inputs


@export("contrib.layers.stack")
def stack(inputs: Any, layer: Any, stack_args: Any, **kwargs: Any) -> Any:
    """The layer applied once for each element of stack_args."""
    with variable_scope(kwargs.pop("scope", None), "Stack"):
        for i, arguments in enumerate(stack_args):
            given = arguments if isinstance(arguments, (list, tuple)) else [arguments]
            inputs = layer(inputs, *given, **{**kwargs, "scope": f"{_scope_of(layer)}_{i + 1}"})
    return inputs


@export("contrib.layers.summarize_activation", "contrib.layers.summaries.summarize_activation")
def summarize_activation(op: Any) -> Any:
    """Summaries of a layer's values."""
    NAMES["summary.scalar"](f"{op.op.name}/zeros", NAMES["nn.zero_fraction"](op))
    return NAMES["summary.histogram"](f"{op.op.name}/activation", op)


@export("contrib.layers.one_hot_encoding")
@taking("contrib.layers.one_hot_encoding", ["outputs_collections"])
def one_hot_encoding(labels: Any, num_classes: int, on_value: float = 1.0, off_value: float = 0.0) -> Any:
    """A row of each class number."""
    return op("one_hot", labels, num_classes, on_value, off_value)


@export("contrib.layers.l1_l2_regularizer")
def l1_l2_regularizer(scale_l1: float = 1.0, scale_l2: float = 1.0, scope: Any = None) -> Any:
    first = NAMES["contrib.layers.l1_regularizer"](scale_l1)
    second = NAMES["contrib.layers.l2_regularizer"](scale_l2)
    return lambda weights: first(weights) + second(weights)


@export("contrib.layers.apply_regularization")
def apply_regularization(regularizer: Any, weights_list: Any = None) -> Any:
    """The sum of the penalties on the weights."""
    weights = list(weights_list if weights_list is not None else get_collection(GraphKeys.WEIGHTS))
    total = op("add_n", [regularizer(w) for w in weights])
    NAMES["add_to_collection"](GraphKeys.REGULARIZATION_LOSSES, total)
    return total


@export("contrib.layers.optimize_loss")
@taking("contrib.layers.optimize_loss", ["summaries", "colocate_gradients_with_ops"])
def optimize_loss(
    loss: Any,
    global_step: Any,
    learning_rate: Any,
    optimizer: Any,
    clip_gradients: Any = None,
    learning_rate_decay_fn: Any = None,
    update_ops: Any = None,
    variables: Any = None,
    increment_global_step: bool = True,
) -> Any:
    """An operation that takes one step of an optimizer, by its name or class."""
    names = {
        "Adagrad": "AdagradOptimizer", "Adam": "AdamOptimizer", "Ftrl": "FtrlOptimizer",
        "Momentum": "MomentumOptimizer", "RMSProp": "RMSPropOptimizer", "SGD": "GradientDescentOptimizer",
    }  # fmt: skip
    step = NAMES["train.get_or_create_global_step"]() if global_step is None else global_step
    if learning_rate_decay_fn is not None:
        learning_rate = learning_rate_decay_fn(learning_rate, step)
    if isinstance(optimizer, str):
        arguments = [learning_rate, 0.9] if optimizer == "Momentum" else [learning_rate]
        made = NAMES[f"train.{names[optimizer]}"](*arguments)
    else:
        made = optimizer(learning_rate) if callable(optimizer) else optimizer
    pairs = made.compute_gradients(loss, var_list=variables)
    if clip_gradients is not None:
        clipped, _ = op("clip_by_global_norm", [g for g, _ in pairs], clip_gradients)
        pairs = list(zip(clipped, [v for _, v in pairs], strict=True))
    with NAMES["control_dependencies"](get_collection(GraphKeys.UPDATE_OPS) if update_ops is None else update_ops):
        return made.apply_gradients(pairs, global_step=step if increment_global_step else None)
