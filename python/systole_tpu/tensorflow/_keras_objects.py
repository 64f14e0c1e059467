"""What layers and models are told: initializers, regularizers, activations, losses, metrics, optimizers."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from systole_tpu import _core

from ._arguments import bind, constructor, described, has_arguments, refuse_rest, signature_of, with_defaults
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
    _full = ""
    _arguments: tuple[str, ...] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        signature = signature_of(self._full, self._arguments)
        values = bind(self._full or type(self).__name__, signature, ["dtype"], args, kwargs)
        values.pop("dtype", None)
        refuse_rest(self._full, signature, values, self._arguments)
        self._config = {key: value for key, value in values.items() if key in self._arguments}

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
        full = next((f for n in (name, *aliases) if has_arguments(f := f"keras.{kind}.{n}")), f"keras.{kind}.{name}")
        fields = {
            "_class_name": name, "_full": full, "_arguments": tuple(arguments), "__doc__": doc,
            "__signature__": signature_of(full, arguments), "__module__": f"systole_tpu.tensorflow.keras.{kind}",
        }  # fmt: skip
        made[name] = type(name, (base,), fields)
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
    return _named(name, lambda x: _core.keras_activation(name, x))


ACTIVATIONS = {name: _activation(name) for name in _core.keras_activation_names()}


def _activation_of(function: Any) -> Any:
    """An activation with arguments: with their defaults that of its name."""
    name = function.__name__
    usual = ACTIVATIONS[name]

    @functools.wraps(function)
    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        return function(x, *args, **kwargs) if args or kwargs else usual(x)

    made = symbolic(call)
    made._keras_name = name
    ACTIVATIONS[name] = made
    return made


@_activation_of
def elu(x: Any, alpha: float = 1.0) -> Any:
    """x where it is positive, else alpha * (exp(x) - 1)."""
    zero = NAMES["zeros_like"](x)
    below = NAMES["exp"](NAMES["minimum"](x, zero)) - 1.0  # exp(x) of large x is infinite
    return NAMES["maximum"](x, zero) + alpha * below


@_activation_of
def relu(x: Any, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0) -> Any:
    """x from the threshold on, at most max_value; alpha * (x - threshold) below the threshold."""
    above = NAMES["where"](x >= float(threshold), x, NAMES["zeros_like"](x))
    if max_value is not None:
        above = NAMES["minimum"](above, float(max_value))
    return above + alpha * NAMES["minimum"](x - float(threshold), 0.0)


@_activation_of
def softmax(x: Any, axis: int = -1) -> Any:
    """exp(x) over its sum along the axis."""
    return NAMES["nn.softmax"](x, axis)


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


def _classes(listed: Any) -> dict[str, tuple[str, list[str]]]:
    """{name of a function: (its class, what the class takes)}"""
    return {known: (made, taken) for name, aliases, made, taken in listed for known in (name, *aliases)}


_LOSS_CLASSES = _classes(_core.keras_loss_classes())
_METRIC_CLASSES = _classes(_core.keras_metric_classes())


def _given(values: dict[str, Any], signature: Any) -> dict[str, Any]:
    """The values that are not the defaults."""
    return {k: v for k, v in values.items() if v is not None and v != signature.parameters[k].default}


def _of_two(kind: str, name: str, classes: dict[str, tuple[str, list[str]]], call: Any) -> Any:
    """The function `name` of targets and predictions, with TensorFlow's arguments."""
    full = f"keras.{kind}.{name}"
    signature = signature_of(full if has_arguments(full) else "keras.losses.mse", [])
    class_name, taken = classes.get(name, (name, []))

    def function(*args: Any, **kwargs: Any) -> Any:
        values = bind(full, signature, [], args, kwargs)
        refuse_rest(full, signature, values, ["y_true", "y_pred", *taken])
        y_true, y_pred = values.pop("y_true"), values.pop("y_pred")
        config = _given(values, signature)
        return call(json.dumps({"class_name": class_name, "config": config}) if config else name, y_true, y_pred)

    made = _named(name, function)
    return described(made, name, f"tf.{full} of TensorFlow 1.15.", signature)


LOSSES = {name: _of_two("losses", name, _LOSS_CLASSES, _core.keras_loss) for name in _core.keras_loss_names()}
METRICS = {name: _of_two("metrics", name, _METRIC_CLASSES, _core.keras_metric) for name in _core.keras_metric_names()}
for _name, _function in METRICS.items():
    export(f"keras.metrics.{_name}")(_function)
for _name, _function in LOSSES.items():
    export(f"keras.losses.{_name}", f"keras.metrics.{_name}")(_function)


class LossObject:
    """A loss with arguments, for compile(); called, the mean of its values."""

    _full = ""
    _class_name = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        signature = signature_of(self._full, [])
        values = bind(self._full, signature, [], args, kwargs)
        self.reduction, self.name = values.pop("reduction", "auto"), values.pop("name", self._class_name)
        taken = next(taken for made, taken in _LOSS_CLASSES.values() if made == self._class_name)
        refuse_rest(self._full, signature, values, taken)
        self._config = _given(values, signature)

    def get_config(self) -> dict[str, Any]:
        return {**self._config, "reduction": self.reduction, "name": self.name}

    def _spec(self) -> str:
        return json.dumps({"class_name": self._class_name, "config": plain({**self.get_config(), "name": None}, [])})

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        values = _core.keras_loss(json.dumps({"class_name": self._class_name, "config": self._config}), y_true, y_pred)
        values = values if sample_weight is None else values * sample_weight
        if self.reduction == "none":
            return values
        return NAMES["reduce_sum" if self.reduction == "sum" else "reduce_mean"](values)


def _make_loss_classes() -> None:
    for name in sorted({made for made, _ in _LOSS_CLASSES.values()}):
        full = f"keras.losses.{name}"
        if has_arguments(full):
            fields = {"_full": full, "_class_name": name, "__signature__": signature_of(full, [])}
            export(full)(type(name, (LossObject,), {**fields, "__module__": "systole_tpu.tensorflow.keras.losses"}))


_make_loss_classes()


def loss_spec(value: Any) -> Any:
    """A loss as the library takes it: a name, a function, or lists and dicts of them by output."""
    if isinstance(value, dict) and "class_name" not in value:
        return {k: loss_spec(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [loss_spec(v) for v in value]
    if isinstance(value, dict):
        return json.dumps(value)
    if isinstance(value, LossObject):
        return value._spec()
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
    full = f"keras.optimizers.{name}"
    own = ["learning_rate" if key == "lr" else key for key in usual]
    signature = with_defaults(signature_of(full, own), dict(zip(own, usual.values(), strict=True)))

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        if "lr" in kwargs:
            kwargs["learning_rate"] = kwargs.pop("lr")
        values = bind(full, signature, own, args, kwargs)
        _check_kinds(full, signature, values)
        values.pop("name", None)
        refuse_rest(full, signature, values, [key for key in values if key in own or key not in signature.parameters])
        given = {"lr" if key == "learning_rate" else key: v for key, v in values.items() if v is not None}
        config = {key: v for key, v in given.items() if key == "lr" or key in own or key not in signature.parameters}
        try:
            Optimizer.__init__(self, _core.keras_optimizer(encoded({"class_name": name, "config": config})[0]))
        except KeyError as error:
            raise TypeError(f"Unexpected keyword argument passed to optimizer: {error.args[0]}") from None

    __init__.__signature__ = constructor(signature)  # type: ignore[attr-defined]
    fields = {"__init__": __init__, "__doc__": doc, "__module__": "systole_tpu.tensorflow.keras.optimizers"}
    return type(name, (Optimizer,), fields)


def _check_kinds(full: str, signature: Any, values: dict[str, Any]) -> None:
    """Errors: TypeError for a number in the place of a flag or a name: Keras 2 had 'decay' before them."""
    for key, value in values.items():
        usual = signature.parameters[key].default if key in signature.parameters else None
        kind = type(usual) if isinstance(usual, (bool, str)) else None
        if kind is not None and value is not None and not isinstance(value, (kind, np.bool_) if kind is bool else kind):
            raise TypeError(f"tf.{full}(): argument '{key}', got {value!r}, expected a {kind.__name__}; {signature}")


OPTIMIZERS: dict[str, type] = {}
for _name, _alias, _usual, _doc in _core.keras_optimizer_classes():
    OPTIMIZERS[_name] = OPTIMIZERS[_alias] = _class = _optimizer_class(_name, _usual, _doc)
    export(f"keras.optimizers.{_name}", f"keras.optimizers.{_alias}")(_class)


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
