"""What layers and models are told: initializers, regularizers, activations, losses, metrics, optimizers."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from systole_tpu import _core

from ._keras_symbolic import symbolic
from ._registry import NAMES, export


def plain(value: Any, live: list[Any]) -> Any:
    """A value as a configuration has it. What has no form there goes to `live`; its place stands for it."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, KerasObject):
        return value._serialized()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {k: plain(v, live) for k, v in value.items()}
    if hasattr(value, "as_list"):
        return value.as_list()
    if isinstance(value, (list, tuple)):
        return [plain(v, live) for v in value]
    if type(value).__name__ == "Dimension":
        return value.value
    if hasattr(value, "_keras_class"):  # an initializer of tf.initializers
        name, config = value._keras_class
        return {"class_name": name, "config": plain(config, live)}
    if hasattr(value, "_keras_name"):
        return value._keras_name
    core = getattr(value, "_layer", value)
    live.append(core)
    return {"class_name": "PythonObject", "config": {"place": len(live) - 1}}


def encoded(config: dict[str, Any]) -> tuple[str, list[Any]]:
    live: list[Any] = []
    return json.dumps(plain(config, live)), live


# -- Objects with a class and arguments.


class KerasObject:
    """An object that files know by its class and arguments."""

    _class_name = ""
    _arguments: tuple[str, ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if len(args) > len(self._arguments):
            raise TypeError(f"{type(self).__name__}() takes {len(self._arguments)} arguments, got {len(args)}")
        values = dict(zip(self._arguments, args, strict=False))
        for key, value in kwargs.items():
            if key not in self._arguments and key != "dtype":
                raise TypeError(f"{type(self).__name__}() got an unexpected keyword argument '{key}'")
            values[key] = value
        values.pop("dtype", None)
        self._config = values

    def _serialized(self) -> dict[str, Any]:
        return {"class_name": self._class_name or type(self).__name__, "config": plain(self._config, [])}

    def get_config(self) -> dict[str, Any]:
        return dict(self._config)

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        return cls(**config)


class _Initializer(KerasObject):
    @property
    def _core(self) -> Any:
        return _core.keras_initializer(json.dumps(self._serialized()))

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        from ._dtypes import as_dtype
        from ._shapes import TensorShape

        return self._core._make(TensorShape(shape).as_list(), as_dtype(dtype or "float32"))


class _Regularizer(KerasObject):
    def __call__(self, x: Any) -> Any:
        return _core.keras_regularizer(json.dumps(self._serialized()))(x)


class _Constraint(KerasObject):
    def __call__(self, w: Any) -> Any:
        return _core.keras_constraint(json.dumps(self._serialized()))(w)


def _make_classes(kind: str, base: type, classes: Any) -> dict[str, type]:
    made: dict[str, type] = {}
    for name, aliases, arguments, doc in classes:
        fields = {"_class_name": name, "_arguments": tuple(arguments), "__doc__": doc}
        made[name] = type(name, (base,), {**fields, "__module__": f"systole_tpu.tensorflow.keras.{kind}"})
        for known in (name, *aliases):
            export(f"keras.{kind}.{known}")(made[name])
            made[known] = made[name]
    return made


_INITIALIZERS = _make_classes("initializers", _Initializer, _core.keras_initializer_classes())
_REGULARIZERS = _make_classes("regularizers", _Regularizer, _core.keras_regularizer_classes())
_CONSTRAINTS = _make_classes("constraints", _Constraint, _core.keras_constraint_classes())
export("keras.initializers.Initializer")(_Initializer)
export("keras.regularizers.Regularizer")(_Regularizer)
export("keras.constraints.Constraint")(_Constraint)


def _get(classes: dict[str, type], kind: str) -> Callable[[Any], Any]:
    def get(identifier: Any) -> Any:
        """The object of a name or a configuration."""
        if identifier is None or (callable(identifier) and not isinstance(identifier, type)):
            return identifier
        if isinstance(identifier, dict):
            return classes[identifier["class_name"]](**identifier.get("config", {}))
        if isinstance(identifier, type):
            return identifier()
        if identifier not in classes:
            raise ValueError(f"Unknown {kind}: {identifier}")
        return classes[identifier]()

    return get


get_initializer = export("keras.initializers.get")(_get(_INITIALIZERS, "initializer"))
get_regularizer = export("keras.regularizers.get")(_get(_REGULARIZERS, "regularizer"))
get_constraint = export("keras.constraints.get")(_get(_CONSTRAINTS, "constraint"))


@export("keras.regularizers.l1_l2")
def l1_l2(l1: float = 0.01, l2: float = 0.01) -> Any:
    return _REGULARIZERS["L1L2"](l1=l1, l2=l2)


# -- Functions with names.


def _named(name: str, call: Any) -> Any:
    call.__name__ = call.__qualname__ = name
    call._keras_name = name
    made = symbolic(call)
    made._keras_name = name
    return made


def _activation(name: str) -> Any:
    return _named(name, lambda x, *args, **kwargs: _core.keras_activation(name, x))


ACTIVATIONS = {name: _activation(name) for name in _core.keras_activation_names()}
for _name, _function in ACTIVATIONS.items():
    export(f"keras.activations.{_name}")(_function)
_REGISTERED: dict[Any, str] = {}


def activation_name(value: Any) -> Any:
    """The name of an activation that layers know; functions of a program are made known."""
    if value is None or isinstance(value, str):
        return value
    if hasattr(value, "_keras_name"):
        return value._keras_name
    for name in ACTIVATIONS:
        if value is NAMES.get(f"nn.{name}") or value is NAMES.get(name):
            return name
    if value not in _REGISTERED:
        base = getattr(value, "__name__", type(value).__name__)
        name, number = base, 1
        while name in ACTIVATIONS or name in _REGISTERED.values():
            name, number = f"{base}_{number}", number + 1
        _core.keras_register_activation(name, value)
        _REGISTERED[value] = name
    return _REGISTERED[value]


@export("keras.activations.get")
def get_activation(identifier: Any) -> Any:
    if identifier is None:
        return ACTIVATIONS["linear"]
    if callable(identifier):
        return identifier
    if identifier in ACTIVATIONS:
        return ACTIVATIONS[identifier]
    for function, name in _REGISTERED.items():
        if name == identifier:
            return function
    raise ValueError(f"Unknown activation function:{identifier}")


def _loss(name: str) -> Any:
    config = json.dumps(name)
    return _named(name, lambda y_true, y_pred: _core.keras_loss(config, y_true, y_pred))


def _metric(name: str) -> Any:
    return _named(name, lambda y_true, y_pred: _core.keras_metric(name, y_true, y_pred))


LOSSES = {name: _loss(name) for name in _core.keras_loss_names()}
METRICS = {name: _metric(name) for name in _core.keras_metric_names()}
for _name, _function in LOSSES.items():
    export(f"keras.losses.{_name}", f"keras.metrics.{_name}")(_function)
for _name, _function in METRICS.items():
    export(f"keras.metrics.{_name}")(_function)


def loss_spec(value: Any) -> Any:
    """A loss as the library takes it: a name, a function, or lists and dicts of them by output."""
    if isinstance(value, dict) and "class_name" not in value:
        return {k: loss_spec(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [loss_spec(v) for v in value]
    if isinstance(value, dict):
        return json.dumps(value)
    return getattr(value, "_keras_name", value)


def metric_specs(values: Any) -> list[Any]:
    if values is None:
        return []
    specs = []
    for value in values if isinstance(values, (list, tuple)) else [values]:
        if isinstance(value, str):
            specs.append(value)
        elif hasattr(value, "_keras_name"):
            specs.append(value._keras_name)
        elif callable(value):
            specs.append((getattr(value, "__name__", type(value).__name__), value))
        else:
            raise TypeError(f"metrics: got {value!r}, expected names and functions")
    return specs


@export("keras.losses.get")
def get_loss(identifier: Any) -> Any:
    if identifier is None or callable(identifier):
        return identifier
    if identifier not in LOSSES:
        raise ValueError(f"Unknown loss function:{identifier}")
    return LOSSES[identifier]


@export("keras.metrics.get")
def get_metric(identifier: Any) -> Any:
    if callable(identifier):
        return identifier
    if identifier not in METRICS and identifier not in LOSSES:
        raise ValueError(f"Unknown metric function:{identifier}")
    return METRICS.get(identifier) or LOSSES[identifier]


# -- Optimizers.


@export("keras.optimizers.Optimizer")
class Optimizer:
    """An optimizer of Keras; `lr` and `iterations` are weights, for K.get_value() and K.set_value()."""

    def __init__(self, core: Any) -> None:
        self._optimizer = core

    @property
    def lr(self) -> Any:
        return self._optimizer.lr

    @lr.setter
    def lr(self, value: Any) -> None:
        self._optimizer.lr._set_value(value)

    learning_rate = lr

    @property
    def iterations(self) -> Any:
        return self._optimizer.iterations

    @property
    def weights(self) -> list[Any]:
        return self._optimizer.weights()

    def get_weights(self) -> list[Any]:
        return [w._value() for w in self._optimizer.weights()]

    def set_weights(self, weights: list[Any]) -> None:
        self._optimizer.set_weights(list(weights))

    def get_config(self) -> dict[str, Any]:
        return self._optimizer.config()

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        return cls(**config)


def _optimizer_class(name: str, usual: dict[str, Any], doc: str) -> type:
    positions = list(usual)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if len(args) > len(positions):
            raise TypeError(f"{name}() takes {len(positions)} arguments, got {len(args)}")
        values = {**dict(zip(positions, args, strict=False)), **kwargs}
        if "learning_rate" in values:
            values["lr"] = values.pop("learning_rate")
        values.pop("name", None)
        given = {k: v for k, v in values.items() if v is not None}
        try:
            Optimizer.__init__(self, _core.keras_optimizer(encoded({"class_name": name, "config": given})[0]))
        except KeyError as error:
            raise TypeError(f"Unexpected keyword argument passed to optimizer: {error.args[0]}") from None

    fields = {"__init__": __init__, "__doc__": doc, "__module__": "systole_tpu.tensorflow.keras.optimizers"}
    return type(name, (Optimizer,), fields)


OPTIMIZERS: dict[str, type] = {}
for _name, _alias, _usual, _doc in _core.keras_optimizer_classes():
    OPTIMIZERS[_name] = OPTIMIZERS[_alias] = _class = _optimizer_class(_name, _usual, _doc)
    export(f"keras.optimizers.{_name}")(_class)


@export("keras.optimizers.TFOptimizer")
class TFOptimizer(Optimizer):
    """An optimizer of tf.train in Keras."""

    def __init__(self, optimizer: Any) -> None:
        super().__init__(_core.keras_train_optimizer(optimizer))
        self.optimizer = optimizer


@export("keras.optimizers.get")
def get_optimizer(identifier: Any) -> Any:
    """The optimizer of a name, a configuration, or an optimizer of tf.train."""
    if isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, NAMES["train.Optimizer"]):
        return TFOptimizer(identifier)
    if isinstance(identifier, str):
        found = OPTIMIZERS.get(identifier) or OPTIMIZERS.get(identifier.lower())
        if found is None:
            raise ValueError(f"Unknown optimizer: {identifier}")
        return found()
    if isinstance(identifier, dict):
        return Optimizer(_core.keras_optimizer(json.dumps(identifier)))
    raise ValueError(f"Could not interpret optimizer identifier: {identifier}")
