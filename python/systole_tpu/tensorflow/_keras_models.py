"""tf.keras models: Sequential, Model, their training, callbacks and files."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from systole_tpu import _core

from ._arguments import bind, constructor, refuse_rest, signature_of
from ._data import Dataset, _GraphIterator
from ._estimator import Estimator, options_of
from ._keras_layers import SOURCES, Layer, know_class, object_of, one_or_list, tensors_of
from ._keras_objects import Optimizer, get_optimizer, loss_spec, metric_specs
from ._registry import NAMES, export

# -- Callbacks.


@export("keras.callbacks.Callback")
class Callback:
    """Is called between the steps and epochs of fit(). Each batch is a launch of its own where it asks for batches."""

    model: Any = None
    validation_data: Any = None

    def __init__(self) -> None:
        self.params: dict[str, Any] = {}

    def set_params(self, params: dict[str, Any]) -> None:
        self.params = params

    def set_model(self, model: Any) -> None:
        self.model = model

    def on_train_begin(self, logs: Any = None) -> None: ...

    def on_train_end(self, logs: Any = None) -> None: ...

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None: ...

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None: ...

    def on_batch_begin(self, batch: int, logs: Any = None) -> None: ...

    def on_batch_end(self, batch: int, logs: Any = None) -> None: ...

    def _call_of_core(self, method: str, *args: Any) -> bool:
        sys.stdout.flush()
        getattr(self, method)(*args)
        return bool(getattr(self.model, "stop_training", False))

    def _core_callback(self, model: Any) -> Any:
        self.set_model(model)
        each = any(
            getattr(type(self), m) is not getattr(Callback, m) or m in self.__dict__
            for m in ("on_batch_begin", "on_batch_end")
        )
        return _core.keras_python_callback(self, each)


def _callback_class(name: str, arguments: list[str]) -> type:
    full = f"keras.callbacks.{name}"
    signature = signature_of(full, arguments)

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        Callback.__init__(self)
        if "epsilon" in kwargs and "min_delta" in arguments:
            kwargs.setdefault("min_delta", kwargs.pop("epsilon"))
        values = bind(full, signature, arguments, args, kwargs)
        unknown = set(values) - set(arguments) - set(signature.parameters)
        if unknown:
            raise TypeError(f"{name}() got an unexpected keyword argument '{min(unknown)}'")
        refuse_rest(full, signature, values, [*arguments, *_IGNORED])
        self.__dict__.update(values)
        given = {k: v for k, v in values.items() if v is not None and k in arguments}
        if name == "LearningRateScheduler":
            given["schedule"] = _two_arguments(given["schedule"])
        self._made = _core.keras_callback(name, given)

    def _core_callback(self: Any, model: Any) -> Any:
        self.set_model(model)
        return self._made

    __init__.__signature__ = constructor(signature)  # type: ignore[attr-defined]
    fields = {"__init__": __init__, "_core_callback": _core_callback}
    return type(name, (Callback,), {**fields, "__module__": "systole_tpu.tensorflow.keras.callbacks"})


# Of TensorBoard: nothing of them is written.
_IGNORED = {
    "batch_size", "write_grads", "embeddings_freq", "embeddings_layer_names", "embeddings_metadata", "embeddings_data",
    "profile_batch",
}  # fmt: skip


def _two_arguments(schedule: Any) -> Any:
    """schedule(epoch, lr), of a function that may take the epoch alone."""
    import inspect

    parameters = inspect.signature(schedule).parameters.values()
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD, p.VAR_POSITIONAL)]
    if len(positional) >= 2 or any(p.kind is p.VAR_POSITIONAL for p in positional):
        return schedule
    return lambda epoch, rate: schedule(epoch)


for _name, _arguments in _core.keras_callback_classes():
    export(f"keras.callbacks.{_name}")(_callback_class(_name, _arguments))


@export("keras.callbacks.LambdaCallback")
class LambdaCallback(Callback):
    """A callback of functions."""

    def __init__(
        self,
        on_epoch_begin: Any = None,
        on_epoch_end: Any = None,
        on_batch_begin: Any = None,
        on_batch_end: Any = None,
        on_train_begin: Any = None,
        on_train_end: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        given = {
            "on_epoch_begin": on_epoch_begin, "on_epoch_end": on_epoch_end, "on_batch_begin": on_batch_begin,
            "on_batch_end": on_batch_end, "on_train_begin": on_train_begin, "on_train_end": on_train_end,
        }  # fmt: skip
        self.__dict__.update({**kwargs, **{k: v for k, v in given.items() if v is not None}})


@export("keras.callbacks.History")
class History(Callback):
    """What fit() returns: `epoch`, and `history` by name."""

    def __init__(self, epoch: Any = None, history: Any = None) -> None:
        super().__init__()
        self.epoch: list[int] = epoch or []
        self.history: dict[str, list[float]] = history or {}

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)


# -- Sequences.


@export("keras.utils.Sequence")
class Sequence:
    """Batches by index."""

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def on_epoch_end(self) -> None: ...


class _Sequence:
    """A Sequence as C++ asks for it."""

    def __init__(self, sequence: Any, model: Any) -> None:
        self._sequence, self._model = sequence, model

    def __len__(self) -> int:
        return len(self._sequence)

    def _arrays_of_core(self, index: int) -> Any:
        return self._model._batch(self._sequence[index])

    def on_epoch_end(self) -> None:
        self._sequence.on_epoch_end()


# -- Models.


@contextlib.contextmanager
def unknown_names() -> Iterator[None]:
    """Keras's error of an unknown name is a ValueError."""
    try:
        yield
    except KeyError as error:
        raise ValueError(error.args[0]) from None


@export("keras.Model", "keras.models.Model", "keras.engine.Model", "keras.engine.training.Model")
class Model(Layer):
    """Model(inputs, outputs), or a class with call() of its own."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        name = kwargs.pop("name", None) or ""
        inputs = kwargs.pop("inputs", kwargs.pop("input", args[0] if args else None))
        outputs = kwargs.pop("outputs", kwargs.pop("output", args[1] if len(args) > 1 else None))
        if len(args) > 2:
            name = args[2] or ""
        if inputs is not None:
            core = _core.keras_model(tensors_of(inputs), tensors_of(outputs), name)
        else:
            core = self._make_core(name)
        self._adopt(core)

    def _make_core(self, name: str) -> Any:
        return _core.keras_python_model(self, type(self).__name__, name)

    def _mask_support(self) -> str:
        return "custom"

    def _call_of_core(self, inputs: list[Any], masks: list[Any], training: bool) -> tuple[list[Any], list[Any]]:
        return super()._call_of_core(inputs, masks, training)[0], []

    # -- Structure.

    @property
    def layers(self) -> list[Any]:
        return [object_of(core) for core in self._layer.layers()]

    @property
    def inputs(self) -> list[Any]:
        return self._layer.inputs()

    @property
    def outputs(self) -> list[Any]:
        return self._layer.outputs()

    @property
    def input(self) -> Any:
        return one_or_list(self.inputs)

    @property
    def output(self) -> Any:
        return one_or_list(self.outputs)

    @property
    def input_shape(self) -> Any:
        return one_or_list([tuple(t._dims) for t in self.inputs])

    @property
    def output_shape(self) -> Any:
        return one_or_list([tuple(t._dims) for t in self.outputs])

    @property
    def input_names(self) -> list[str]:
        return self._layer.input_names()

    @property
    def output_names(self) -> list[str]:
        return self._layer.output_names()

    def get_layer(self, name: Any = None, index: Any = None) -> Any:
        if index is not None:
            layers = self.layers
            if index >= len(layers):
                raise ValueError(
                    f"Was asked to retrieve layer at index {index} but model only has {len(layers)} layers."
                )
            return layers[index]
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise ValueError(f"No such layer: {name}")

    def summary(self, line_length: Any = None, positions: Any = None, print_fn: Any = None) -> None:
        self._layer.summary(print_fn or print)

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        self._layer.add_loss(tensors_of(losses))

    def get_config(self) -> Any:
        return self._layer.config()

    @property
    def state_updates(self) -> list[Any]:
        return self.updates

    # -- Training.

    stop_training = False

    def compile(
        self,
        optimizer: Any,
        loss: Any = None,
        metrics: Any = None,
        loss_weights: Any = None,
        sample_weight_mode: Any = None,
        weighted_metrics: Any = None,
        target_tensors: Any = None,
        distribute: Any = None,
        **kwargs: Any,
    ) -> None:
        """Chooses what is trained, and how."""
        made = get_optimizer(optimizer)
        named = {k: metric_specs(v) for k, v in metrics.items()} if isinstance(metrics, dict) else {}
        shared = [] if isinstance(metrics, dict) else metric_specs(metrics)
        with unknown_names():
            self._layer.compile(
                made._optimizer, loss_spec(loss), shared, named, loss_weights, metric_specs(weighted_metrics),
                sample_weight_mode,
            )  # fmt: skip
        targets = target_tensors.values() if isinstance(target_tensors, dict) else target_tensors
        self.__dict__.update(_optimizer=made, loss=loss, metrics=metrics, _targets=_listed(targets))

    @property
    def optimizer(self) -> Any:
        if "_optimizer" not in self.__dict__ and self._layer.is_compiled():
            self.__dict__["_optimizer"] = Optimizer(self._layer.optimizer())
        return self.__dict__.get("_optimizer")

    @optimizer.setter
    def optimizer(self, value: Any) -> None:
        self.__dict__["_optimizer"] = value

    @property
    def metrics_names(self) -> list[str]:
        return self._layer.metrics_names()

    def _arrays(self, data: Any, names: Any) -> list[Any]:
        """The arrays of x or y in the model's order."""
        if data is None:
            return []
        if isinstance(data, dict):
            return [_array(data[name]) for name in names()]
        several = isinstance(data, (list, tuple)) and len(data) > 0 and all(hasattr(a, "shape") for a in data)
        return [_array(a) for a in data] if several else [_array(data)]

    def _weights(self, weights: Any) -> list[Any]:
        if isinstance(weights, dict):
            return [_array(weights[name]) for name in self.output_names if name in weights]
        return [] if weights is None else self._arrays(weights, None)

    def _parts(self, x: Any, y: Any = None, weights: Any = None) -> tuple[Any, Any, Any]:
        return (
            self._arrays(x, lambda: self.input_names), self._arrays(y, lambda: self.output_names),
            self._weights(weights),
        )  # fmt: skip

    def _batch(self, batch: Any) -> tuple[Any, Any, Any]:
        """A batch of a generator: x, (x, y) or (x, y, weights)."""
        return self._parts(*batch) if isinstance(batch, tuple) else self._parts(batch)

    def _data_of_graph(self) -> Any:
        """Returns a function that computes the next batch of Input(tensor=) and compile(target_tensors=), and returns
        None at the end of the data. Returns None if an input has no tensor."""
        inputs = [SOURCES.get(name) for name in self.input_names]
        if not inputs or any(tensor is None for tensor in inputs):
            return None
        targets = self.__dict__.get("_targets", [])
        session = NAMES["Session"](graph=inputs[0].graph)

        def take() -> Any:
            try:
                return self._batch(tuple(session.run([inputs, targets])))
            except NAMES["errors.OutOfRangeError"]:
                return None

        return take

    def _source(self, x: Any, y: Any = None, weights: Any = None, steps: Any = None) -> tuple[Any, ...]:
        if x is None and (take := self._data_of_graph()):
            if steps is None:
                raise ValueError(
                    "If your data is in the form of symbolic tensors, you should specify the `steps_per_epoch` "
                    "argument, or `steps` of evaluate() and predict()"
                )
            return ("generator", take)
        if isinstance(x, _GraphIterator):
            x = x._dataset
        if isinstance(x, Dataset):
            return ("dataset", x._made)
        if hasattr(x, "_source_of_core"):
            return x._source_of_core()
        if isinstance(x, Sequence) or (hasattr(x, "__getitem__") and hasattr(x, "on_epoch_end")):
            return ("sequence", _Sequence(x, self))
        if isinstance(x, Iterator):

            def take() -> Any:
                batch = next(x, None)
                return None if batch is None else self._batch(batch)

            return ("generator", take)
        return ("arrays", self._parts(x, y, weights))

    def check(self, x: Any, y: Any = None, batch_size: int = 32, **keywords: Any) -> Any:
        """What a TPU would make of a training step on 8 cores: systole_tpu.tpu_check.check_model()."""
        return self._layer.check(self._parts(x, y), int(batch_size), keywords)

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: Any = None,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: Any = None,
        validation_split: float = 0.0,
        validation_data: Any = None,
        shuffle: Any = True,
        class_weight: Any = None,
        sample_weight: Any = None,
        initial_epoch: int = 0,
        steps_per_epoch: Any = None,
        validation_steps: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Trains; returns the History."""
        epochs = kwargs.pop("nb_epoch", epochs)
        if kwargs:
            raise TypeError(f"Unrecognized keyword arguments: {kwargs}")
        self.stop_training = False
        made = [c for c in callbacks or [] if type(c).__name__ not in ("BaseLogger", "ProgbarLogger")]
        validation = None
        if isinstance(validation_data, (list, tuple)):
            validation = self._source(*validation_data)
        elif validation_data is not None:
            validation = self._source(validation_data)
        history = History()
        history.set_model(self)
        self.history = history
        sys.stdout.flush()
        history.epoch, history.history = self._layer.fit(
            self._source(x, y, sample_weight, steps_per_epoch),
            {
                "batch_size": int(batch_size or 32), "epochs": int(epochs), "verbose": int(verbose),
                "callbacks": [c._core_callback(self) for c in made], "validation_split": float(validation_split or 0),
                "validation_data": validation, "shuffle": shuffle, "class_weight": class_weight,
                "initial_epoch": int(initial_epoch), "steps_per_epoch": steps_per_epoch,
                "validation_steps": validation_steps,
            },
        )  # fmt: skip
        return history

    def fit_generator(
        self,
        generator: Any,
        steps_per_epoch: Any = None,
        epochs: int = 1,
        verbose: int = 1,
        callbacks: Any = None,
        validation_data: Any = None,
        validation_steps: Any = None,
        class_weight: Any = None,
        max_queue_size: int = 10,
        workers: int = 1,
        use_multiprocessing: bool = False,
        shuffle: bool = True,
        initial_epoch: int = 0,
    ) -> Any:
        return self.fit(
            generator, epochs=epochs, verbose=verbose, callbacks=callbacks, validation_data=validation_data,
            shuffle=shuffle, class_weight=class_weight, initial_epoch=initial_epoch, steps_per_epoch=steps_per_epoch,
            validation_steps=validation_steps,
        )  # fmt: skip

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        batch_size: Any = None,
        verbose: int = 1,
        sample_weight: Any = None,
        steps: Any = None,
        **kwargs: Any,
    ) -> Any:
        """The loss, or the loss and the metrics."""
        sys.stdout.flush()
        source = self._source(x, y, sample_weight, steps)
        return _scores(self._layer.evaluate(source, int(batch_size or 32), int(verbose), steps))

    def evaluate_generator(self, generator: Any, steps: Any = None, *args: Any, verbose: int = 0, **kwargs: Any) -> Any:
        return self.evaluate(generator, steps=steps, verbose=verbose)

    def predict(self, x: Any = None, batch_size: Any = None, verbose: int = 0, steps: Any = None, **kwargs: Any) -> Any:
        source = self._source(x, steps=steps)
        return one_or_list(self._layer.predict(source, int(batch_size or 32), int(verbose), steps))

    def predict_generator(self, generator: Any, steps: Any = None, *args: Any, verbose: int = 0, **kwargs: Any) -> Any:
        return self.predict(generator, steps=steps, verbose=verbose)

    def train_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None, class_weight: Any = None) -> Any:
        return _scores(self._layer.train_on_batch(self._parts(x, y, sample_weight), class_weight))

    def test_on_batch(self, x: Any, y: Any = None, sample_weight: Any = None) -> Any:
        return _scores(self._layer.test_on_batch(self._parts(x, y, sample_weight)))

    def predict_on_batch(self, x: Any) -> Any:
        return self.predict(x, batch_size=len(self._arrays(x, lambda: self.input_names)[0]))

    # -- Files.

    def to_json(self, **kwargs: Any) -> str:
        return self._layer.to_json()

    def save(self, filepath: Any, overwrite: bool = True, include_optimizer: bool = True) -> None:
        self._layer.save(os.fspath(filepath), overwrite, include_optimizer)

    def save_weights(self, filepath: Any, overwrite: bool = True, save_format: Any = None) -> None:
        self._layer.save_weights(os.fspath(filepath), overwrite, save_format or "")

    def load_weights(self, filepath: Any, by_name: bool = False, skip_mismatch: bool = False) -> None:
        self._layer.load_weights(os.fspath(filepath), by_name, skip_mismatch)


def _listed(values: Any) -> list[Any]:
    if values is None:
        return []
    return [values] if hasattr(values, "_dims") else list(values)


def _array(value: Any) -> Any:
    return value if isinstance(value, np.ndarray) else np.asarray(value)


def _scores(values: list[float]) -> Any:
    return values[0] if len(values) == 1 else values


@export("keras.Sequential", "keras.models.Sequential", "keras.engine.sequential.Sequential")
class Sequential(Model):
    """A stack of layers."""

    def __init__(self, layers: Any = None, name: Any = None) -> None:
        self._adopt(_core.keras_sequential(name or ""))
        for layer in layers or []:
            self.add(layer)

    def add(self, layer: Any) -> None:
        if not isinstance(layer, Layer):
            raise TypeError(f"The added layer must be an instance of class Layer. Found: {layer}")
        self.__dict__.setdefault("_stack", []).append(layer)
        self._layer.add(layer._layer)

    def pop(self) -> None:
        self._layer.pop()
        self.__dict__.get("_stack", [None]).pop()

    def predict_classes(self, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
        p = self.predict(x, batch_size, verbose)
        return p.argmax(axis=-1) if p.shape[-1] > 1 else (p > 0.5).astype("int32")

    def predict_proba(self, x: Any, batch_size: int = 32, verbose: int = 0) -> Any:
        return self.predict(x, batch_size, verbose)


for _class in (Model, Sequential):
    know_class(_class)


# -- Files.

_CUSTOM: dict[str, Any] = {}


def know_objects(custom_objects: Any) -> None:
    """Makes classes and functions of a program known to files."""
    for name, value in dict(custom_objects or {}).items():
        new = name not in _CUSTOM
        _CUSTOM[name] = value
        if isinstance(value, type) and issubclass(value, Layer):
            know_class(value)
            if new:
                _core.keras_register_layer(name, lambda config, name=name: _CUSTOM[name].from_config(config)._layer)
        elif callable(value) and new:
            for register in (_core.keras_register_loss, _core.keras_register_metric):
                register(name, lambda a, b, name=name: _CUSTOM[name](a, b))


@export("keras.utils.CustomObjectScope", "keras.utils.custom_object_scope")
class CustomObjectScope:
    """`with CustomObjectScope({"MyLayer": MyLayer}):` files know the names."""

    def __init__(self, *objects: Any) -> None:
        self._objects = objects

    def __enter__(self) -> CustomObjectScope:
        for known in self._objects:
            know_objects(known)
        return self

    def __exit__(self, *error: Any) -> None: ...


@export("keras.utils.get_custom_objects")
def get_custom_objects() -> dict[str, Any]:
    return _Known()


class _Known(dict):  # type: ignore[type-arg]
    def __setitem__(self, key: str, value: Any) -> None:
        know_objects({key: value})

    def update(self, *args: Any, **kwargs: Any) -> None:
        know_objects(dict(*args, **kwargs))


@export("keras.models.load_model")
def load_model(filepath: Any, custom_objects: Any = None, compile: bool = True) -> Any:
    """The model of a file of save()."""
    know_objects(custom_objects)
    with unknown_names():
        return object_of(_core.keras_load_model(os.fspath(filepath), compile))


@export("keras.models.save_model")
def save_model(
    model: Any,
    filepath: Any,
    overwrite: bool = True,
    include_optimizer: bool = True,
    save_format: Any = None,
    signatures: Any = None,
) -> None:
    if save_format not in (None, "h5") or signatures is not None:
        raise NotImplementedError(f"save_model: format {save_format!r} with signatures, expected 'h5' without")
    model.save(filepath, overwrite, include_optimizer)


@export("keras.models.model_from_json")
def model_from_json(json_string: str, custom_objects: Any = None) -> Any:
    know_objects(custom_objects)
    with unknown_names():
        return object_of(_core.keras_model_from_json(json_string))


@export("keras.models.clone_model")
def clone_model(model: Any, input_tensors: Any = None, clone_function: Any = None) -> Any:
    if clone_function is not None:
        raise NotImplementedError("clone_model: clone_function, expected None")
    return object_of(_core.keras_clone_model(model._layer))


@export("keras.estimator.model_to_estimator")
def model_to_estimator(
    keras_model: Any = None,
    keras_model_path: Any = None,
    custom_objects: Any = None,
    model_dir: Any = None,
    config: Any = None,
    checkpoint_format: Any = None,
) -> Estimator:
    """An estimator with the layers, loss, metrics and optimizer of a compiled model."""
    if (keras_model is None) == (keras_model_path is None):
        raise ValueError("Please specity either `keras_model` or `keras_model_path` but not both.")
    know_objects(custom_objects)
    model = keras_model if keras_model is not None else load_model(keras_model_path)
    return Estimator.of_core(_core.keras_model_to_estimator(model._layer, options_of(config, model_dir)), config)


# -- TPUs.


@export("contrib.tpu.TPUDistributionStrategy", "contrib.distribute.TPUStrategy")
class TPUDistributionStrategy:
    """The cores that a model is copied to."""

    def __init__(self, tpu_cluster_resolver: Any = None, using_single_core: bool = False, **kwargs: Any) -> None:
        resolver = tpu_cluster_resolver or NAMES["contrib.cluster_resolver.TPUClusterResolver"]()
        self._master, self._single = resolver.master(), using_single_core


class KerasTPUModel(Model):
    """A model whose fit(), evaluate() and predict() run on a TPU; it shares its model's weights."""

    def __init__(self, model: Any, strategy: Any) -> None:
        self._cpu_model = model
        self._adopt(_core.keras_to_tpu_model(model._layer, strategy._master, strategy._single))
        if model._layer.is_compiled():
            self.__dict__["_optimizer"] = model.optimizer

    def _adopt(self, core: Any) -> None:
        self.__dict__["_layer"] = core  # the model's object stays the one of its layer

    def sync_to_cpu(self) -> Any:
        self._layer.sync_to_cpu()
        return self._cpu_model

    @property
    def cpu_model(self) -> Any:
        return self._cpu_model


@export("contrib.tpu.keras_to_tpu_model")
def keras_to_tpu_model(model: Any, strategy: Any = None) -> KerasTPUModel:
    """A handle on a model that trains on a TPU."""
    return KerasTPUModel(model, strategy or TPUDistributionStrategy())
