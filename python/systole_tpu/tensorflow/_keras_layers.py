"""tf.keras.layers: layers of C++, by its registry of classes and arguments, and layers of Python."""

from __future__ import annotations

import inspect
import json
import weakref
from typing import Any

import numpy as np

from systole_tpu import _core

from ._arguments import bind, constructor, described, has_arguments, refuse_rest, signature_of
from ._estimator import in_model_fn
from ._framework import get_default_graph, notes
from ._keras_objects import (
    KerasObject,
    activation_name,
    encoded,
    get_constraint,
    get_initializer,
    get_regularizer,
    plain,
)
from ._keras_symbolic import KerasTensor, Weight, is_symbolic
from ._registry import export
from ._shapes import TensorShape

# -- Symbolic tensors and weights.

Weight.name = property(lambda self: f"{self._name}:0")
Weight.value = lambda self: self._in_program()
Weight.read_value = lambda self: self._in_program()
Weight._as_graph_element = lambda self: self._in_program()
Weight.numpy = lambda self: self._value()
Weight.eval = lambda self, session=None: self._value()
Weight.load = lambda self, value, session=None: self._set_value(value)
Weight.__repr__ = lambda self: f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"
KerasTensor.__repr__ = lambda self: f"<tf.Tensor '{self.name}' shape={self.shape} dtype={self.dtype.name}>"
KerasTensor._keras_shape = property(lambda self: tuple(self._dims))
KerasTensor.op = property(lambda self: self)

_OBJECTS: weakref.WeakValueDictionary[int, Layer] = weakref.WeakValueDictionary()
_CLASSES: dict[str, type] = {}


def tensors_of(inputs: Any) -> list[Any]:
    return list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]


def one_or_list(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else list(values)


def object_of(core: Any) -> Any:
    """The object of Python that stands for a layer of C++."""
    found = _OBJECTS.get(core.id)
    if found is not None:
        return found
    cls = _CLASSES.get(core.class_name, Layer)
    made = object.__new__(cls)
    made._adopt(core)
    return made


def _shape_argument(kwargs: dict[str, Any], own: list[str]) -> Any:
    """The input's shape with the batch, of input_shape, batch_input_shape or input_dim."""
    shape = kwargs.pop("batch_input_shape", None)
    if shape is not None:
        return list(shape)
    size = kwargs.pop("batch_size", None) if "batch_size" not in own else None
    shape = kwargs.pop("input_shape", None) if "input_shape" not in own else None
    if shape is None and "input_dim" in kwargs and "input_dim" not in own:
        depth = kwargs.pop("input_dim")
        length = [kwargs.pop("input_length")] if "input_length" in kwargs and "input_length" not in own else []
        shape = [*length, depth]
    if shape is None:
        return None
    return [size, *(tuple(shape) if isinstance(shape, (list, tuple, TensorShape)) else (shape,))]


@export("keras.layers.Layer", "keras.engine.Layer", "keras.engine.topology.Layer", "keras.engine.base_layer.Layer")
class Layer:
    """A function with weights. Derive from it: build(input_shape) adds weights, call(inputs) computes."""

    _layer: Any = None
    _of_registry = False
    _call: tuple[list[str], bool, list[str]] = ([], False, [])  # call()'s tensors, whether the first is a list, flags
    supports_masking = False

    def __init__(
        self, trainable: bool = True, name: Any = None, dtype: Any = None, dynamic: bool = False, **kwargs: Any
    ) -> None:
        shape = _shape_argument(kwargs, [])
        weights = kwargs.pop("weights", None)
        if kwargs:
            raise TypeError("Keyword argument not understood:", next(iter(kwargs)))
        core = self._make_core(name or "")
        if shape is not None:
            _core.keras_set_input_shape(core, shape)
            self.__dict__["_first_shape"] = shape
        if weights is not None:
            core.set_initial_weights(list(weights))
        self._adopt(core)
        if not trainable:
            self.trainable = False

    def _make_core(self, name: str) -> Any:
        return _core.keras_python_layer(self, type(self).__name__, name)

    def _adopt(self, core: Any) -> None:
        self.__dict__["_layer"] = core
        _OBJECTS[core.id] = self

    # -- For a class of the program.

    def build(self, input_shape: Any) -> None:
        """Adds the weights."""

    def call(self, inputs: Any, **kwargs: Any) -> Any:
        """The outputs, by functions of tensors and other layers."""
        return inputs

    def compute_output_shape(self, input_shape: Any) -> Any:
        return input_shape

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        return mask

    def add_weight(
        self,
        name: Any = None,
        shape: Any = None,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool = True,
        constraint: Any = None,
        **kwargs: Any,
    ) -> Any:
        """A weight of this layer; in call() it is its value as a tensor."""
        if not isinstance(name, (str, type(None))):
            name, shape = (shape if isinstance(shape, str) else None), name
        made = get_initializer("glorot_uniform" if initializer is None else initializer)
        return _core.keras_add_weight(
            self._layer, name or "weight", TensorShape(() if shape is None else shape).as_list(), dtype, made,
            get_regularizer(regularizer), get_constraint(constraint), bool(trainable),
        )  # fmt: skip

    add_variable = add_weight

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """(weight, value) pairs that each step of training sets."""
        for weight, value in updates if isinstance(updates, list) else [updates]:
            weight._update(value)

    def get_config(self) -> dict[str, Any]:
        """The arguments of the constructor; a class of the program adds its own."""
        if self._of_registry:
            return self._layer.config()
        shape = self.__dict__.get("_first_shape")
        return {"name": self.name, "trainable": self.trainable, **({"batch_input_shape": shape} if shape else {})}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        return cls(**config)

    # -- What C++ asks of a layer of Python.

    def _build_of_core(self, shapes: list[Any]) -> None:
        made = [TensorShape(s) for s in shapes]
        self.build(made[0] if len(made) == 1 else made)

    def _call_of_core(self, inputs: list[Any], masks: list[Any], training: bool) -> tuple[list[Any], list[Any]]:
        args, kwargs = self.__dict__.get("_extra", ((), {}))
        taken = inspect.signature(self.call).parameters
        kwargs = dict(kwargs)
        for name, value in (("training", training), ("mask", one_or_list(masks))):
            if name in taken and kwargs.get(name) is None:
                kwargs[name] = value
        value = one_or_list(inputs)
        result = tensors_of(self.call(value, *args, **kwargs))
        made = []
        if self._mask_support() == "custom" and any(m is not None for m in masks):
            made = tensors_of(self.compute_mask(value, one_or_list(masks)))
        return result, made

    def _mask_support(self) -> str:
        if type(self).compute_mask is not Layer.compute_mask:
            return "custom"
        return "pass" if self.supports_masking else "refuse"

    def _sublayers_of_core(self) -> list[Any]:
        found: list[Any] = []

        def collect(value: Any) -> None:
            if isinstance(value, Layer) and value is not self and value._layer is not None:
                if all(value is not f for f in found):
                    found.append(value)
            elif isinstance(value, (list, tuple)):
                for element in value:
                    collect(element)
            elif isinstance(value, dict):
                for element in value.values():
                    collect(element)

        for key, value in self.__dict__.items():
            if key != "_extra":
                collect(value)
        return [f._layer for f in found]

    def _config_of_core(self) -> str:
        config = {"name": self.name, "trainable": self.trainable, **self.get_config()}
        return json.dumps(plain(config, []))

    # -- For all layers.

    def __call__(self, inputs: Any = None, *args: Any, **kwargs: Any) -> Any:
        """The outputs for symbolic tensors, or for tensors of a graph."""
        if inputs is None and self._call[0]:
            inputs = kwargs.pop(self._call[0][0], None)
        if inputs is None:
            raise TypeError(f"{type(self).__name__}() missing 1 required positional argument: 'inputs'")
        if self._layer is None:
            raise RuntimeError(f"It looks like you did not call `super().__init__()` of {type(self).__name__}.")
        training = kwargs.get("training")
        states = tensors_of(kwargs.pop("initial_state", None) or [])
        if self._call[0]:
            values, named = self._named_arguments(inputs, args, kwargs)
        else:
            values, named = tensors_of(inputs), None
            own = {k: v for k, v in kwargs.items() if k not in ("training", "mask")}
            if args or own:
                self.__dict__["_extra"] = (args, own)
        if is_symbolic(values):
            return one_or_list(self._layer.call_symbolic(values, training, states, named))
        values = [_core.convert_to_tensor(v, None) if not hasattr(v, "_dtype_name") else v for v in [*values, *states]]
        results = self._layer.call_inside(values, training, named)
        if results is None:
            results = graph_context().apply(self._layer, values, bool(training), named)
        return one_or_list(results)

    def _named_arguments(self, inputs: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any]:
        """The tensors of a call, and the argument that each is with the flags of the call."""
        tensors, _, flags = self._call
        given = dict(zip(tensors, (inputs, *args), strict=False))
        for name, value in kwargs.items():
            if name not in (*tensors, *flags, "training"):
                raise TypeError(f"call() got an unexpected keyword argument '{name}'")
            given[name] = value
        values: list[Any] = []
        names: list[str] = []
        for name in tensors:
            for value in [] if given.get(name) is None else tensors_of(given[name]):
                values.append(value)
                names.append(name)
        return values, (names, {f: given[f] for f in flags if given.get(f) is not None})

    apply = __call__

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        core = self.__dict__.get("_layer")
        if core is not None and not isinstance(core, _core.KerasModel):
            for weight in core.weights():
                if weight._name == name:
                    return weight
            try:
                config = core.config() if self._of_registry else {}
            except NotImplementedError:
                config = {}
            if name in config:
                return config[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def name(self) -> str:
        return self._layer.name

    @property
    def built(self) -> bool:
        return self._layer.built if self._layer is not None else False

    @built.setter
    def built(self, value: bool) -> None:
        pass

    @property
    def trainable(self) -> bool:
        return self._layer.trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._layer.trainable = bool(value)

    @property
    def stateful(self) -> bool:
        return self._layer.stateful

    @property
    def weights(self) -> list[Any]:
        return self._layer.weights()

    variables = weights

    @property
    def trainable_weights(self) -> list[Any]:
        return self._layer.trainable_weights()

    trainable_variables = trainable_weights

    @property
    def non_trainable_weights(self) -> list[Any]:
        return self._layer.non_trainable_weights()

    @property
    def updates(self) -> list[Any]:
        """What calls on tensors of the current graph ask to run after a step: moving averages."""
        return graph_context().updates()

    def get_updates_for(self, inputs: Any) -> list[Any]:
        return self.updates

    @property
    def losses(self) -> list[Any]:
        return graph_context().losses()

    @property
    def input(self) -> Any:
        return one_or_list(self._layer.input())

    @property
    def output(self) -> Any:
        return one_or_list(self._layer.output())

    @property
    def input_shape(self) -> Any:
        return one_or_list([tuple(t._dims) for t in self._layer.input()])

    @property
    def output_shape(self) -> Any:
        return one_or_list([tuple(t._dims) for t in self._layer.output()])

    def get_input_at(self, node_index: int) -> Any:
        return one_or_list(self._layer.input_at(node_index))

    def get_output_at(self, node_index: int) -> Any:
        return one_or_list(self._layer.output_at(node_index))

    def get_weights(self) -> list[Any]:
        return self._layer.get_weights()

    def set_weights(self, weights: list[Any]) -> None:
        self._layer.set_weights(
            [w.astype(np.float32) if getattr(w, "dtype", None) == np.float64 else w for w in weights]
        )

    def count_params(self) -> int:
        return self._layer.count_params()

    def reset_states(self, states: Any = None) -> None:
        self._layer.reset_states([] if states is None else tensors_of(states))


def graph_context() -> Any:
    """The weights of layers as variables of the current graph."""
    graph = get_default_graph()
    found = notes(graph, "_keras")
    if "context" not in found:
        found["context"] = _core.keras_graph_context(graph)
    return found["context"]


# -- The classes of the registry.

_ACTIVATIONS = ("activation", "recurrent_activation")


def _convert(key: str, value: Any) -> Any:
    if key in _ACTIVATIONS:
        return activation_name(value)
    if isinstance(value, type) and issubclass(value, KerasObject):
        return value()
    return value


def _layer_class(name: str, arguments: list[Any], call: Any) -> type:
    own = [a for a, _, _ in arguments]
    required = [a for a, needed, _ in arguments if needed]
    full = f"keras.layers.{name}"
    signature = signature_of(full, [*required, *(a for a in own if a not in required)])
    positions = [p.name for p in signature.parameters.values() if p.kind != p.VAR_KEYWORD]
    positions += [a for a in own if a not in positions]

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if len(args) > len(positions):
            raise TypeError(f"{name}() takes {len(positions)} arguments, got {len(args)}")
        values = dict(zip(positions, args, strict=False))
        shape = _shape_argument(kwargs, own)
        weights = kwargs.pop("weights", None)
        for key in ("name", "trainable"):
            if key in kwargs:
                values[key] = kwargs.pop(key)
        kwargs.pop("dtype", None)
        for key, value in kwargs.items():
            if key not in positions:
                raise TypeError("Keyword argument not understood:", key)
            if key in values:
                raise TypeError(f"{name}() got multiple values for argument '{key}'")
            values[key] = value
        missing = [a for a in required if a not in values]
        if missing:
            raise TypeError(f"{name}() missing required argument '{missing[0]}'")
        refuse_rest(full, signature, values, [*own, "trainable"])
        config = {k: _convert(k, v) for k, v in values.items() if k in own or k in ("name", "trainable")}
        if config.get("name") is None:
            config.pop("name", None)
        if shape is not None:
            config["batch_input_shape"] = shape
        core = _core.keras_layer(name, *encoded(config))
        if weights is not None:
            core.set_initial_weights(list(weights))
        self._adopt(core)

    __init__.__signature__ = constructor(signature)  # type: ignore[attr-defined]
    fields = {
        "__init__": __init__,
        "_of_registry": True,
        "_call": call,
        "__module__": "systole_tpu.tensorflow.keras.layers",
    }
    return type(name, (Layer,), fields)


for _name, _aliases, _arguments, _call in _core.keras_layer_classes():
    _CLASSES[_name] = _class = _layer_class(_name, _arguments, _call)
    if _name in ("Lambda", "InputLayer"):
        continue
    for _known in (_name, *_aliases):
        export(f"keras.layers.{_known}")(_class)


@export("keras.layers.Lambda", "keras.layers.core.Lambda")
class Lambda(Layer):
    """A layer of a function of tensors."""

    def __init__(
        self, function: Any, output_shape: Any = None, mask: Any = None, arguments: Any = None, **kwargs: Any
    ) -> None:
        shape = _shape_argument(kwargs, [])
        own = dict(arguments or {})

        def call(values: list[Any]) -> list[Any]:
            return tensors_of(function(one_or_list(values), **own))

        known = getattr(function, "__name__", "<lambda>")
        name = kwargs.pop("name", None) or ""
        kwargs.pop("dtype", None)
        if kwargs:
            raise TypeError("Keyword argument not understood:", next(iter(kwargs)))
        self._adopt(_core.keras_lambda("" if known == "<lambda>" else known, call, name, shape))


_CLASSES["Lambda"] = Lambda


# The tensors of Input(tensor=...), by the names of their layers.
SOURCES: dict[str, Any] = {}


def _is_data(tensor: Any) -> bool:
    """Whether a tensor depends on no placeholder, and no estimator is building the graph."""
    if in_model_fn():
        return False
    seen, left = set(), [tensor.op]
    while left:
        here = left.pop()
        if here.name in seen:
            continue
        seen.add(here.name)
        if here.type.startswith("Placeholder"):
            return False
        left += [i.op for i in here.inputs]
    return True


@export("keras.Input", "keras.layers.Input", "keras.engine.Input")
def Input(
    shape: Any = None,
    batch_size: Any = None,
    name: Any = None,
    dtype: Any = None,
    sparse: bool = False,
    tensor: Any = None,
    ragged: bool = False,
    *,
    batch_shape: Any = None,
    **kwargs: Any,
) -> Any:
    """An input of a model; `shape` is without the batch.

    tensor: a tensor of data: fit(), evaluate() and predict() compute its values if they are given no x. In a model_fn,
    and for tensors that depend on placeholders, returns the tensor itself, on which layers can be called.
    """
    if tensor is not None:
        if not _is_data(tensor):
            return tensor
        dims = tensor.shape.as_list()
        made = Input(batch_shape=[None, *dims[1:]], name=name, dtype=tensor.dtype.name)
        SOURCES[made._layer.name] = tensor
        return made
    if sparse or ragged:
        raise NotImplementedError("tf.keras.Input: sparse and ragged tensors, expected a dense one")
    if batch_shape is not None:
        batch_size, shape = batch_shape[0], batch_shape[1:]
    if shape is None:
        raise ValueError("Please provide to Input either a `shape` or a `tensor` argument.")
    sizes = [s.value if hasattr(s, "value") else s for s in (shape if not np.isscalar(shape) else [shape])]
    return _core.keras_input(sizes, -1 if batch_size is None else int(batch_size), name or "", dtype)


@export("keras.layers.InputLayer", "keras.engine.InputLayer")
class InputLayer(Layer):
    """The input of a Sequential model."""

    def __init__(
        self,
        input_shape: Any = None,
        batch_size: Any = None,
        dtype: Any = None,
        input_tensor: Any = None,
        sparse: bool = False,
        name: Any = None,
        ragged: bool = False,
        **kwargs: Any,
    ) -> None:
        if input_tensor is not None:
            raise NotImplementedError("tf.keras.layers.InputLayer: input_tensor, expected an input_shape")
        shape = kwargs.pop("batch_input_shape", None) or [batch_size, *(() if input_shape is None else input_shape)]
        made = Input(batch_shape=shape, dtype=dtype, name=name, sparse=sparse, ragged=ragged)
        self._adopt(made._layer)


_CLASSES["InputLayer"] = InputLayer


def _merge(name: str) -> Any:
    full = f"keras.layers.{name.lower()}"
    signature = signature_of(full if has_arguments(full) else "keras.layers.add", [])

    def merge(*args: Any, **kwargs: Any) -> Any:
        values = bind(full, signature, [], args, kwargs)
        return _CLASSES[name](**{k: v for k, v in values.items() if k != "inputs"})(values["inputs"])

    return described(merge, name.lower(), f"{name}()(inputs)", signature)


for _name in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate", "Dot"):
    export(f"keras.layers.{_name.lower()}", f"keras.layers.merge.{_name.lower()}")(_merge(_name))
# Modules of layers, which programs import from.
for _module in ("core", "convolutional", "convolutional_recurrent", "pooling", "recurrent", "embeddings",
                "normalization", "merge", "noise", "advanced_activations", "wrappers"):  # fmt: skip
    for _name, _class in _CLASSES.items():
        export(f"keras.layers.{_module}.{_name}")(_class)


def class_named(name: str) -> Any:
    return _CLASSES.get(name)


def know_class(cls: type) -> None:
    """Lets a class stand for the layers of its name: those of a file, or made by C++."""
    _CLASSES[cls.__name__] = cls
