"""Variables, variable scopes and initializers."""

from __future__ import annotations

import contextlib
import enum
import inspect
import threading
from collections.abc import Iterator
from typing import Any

from systole_tpu import _core

from ._arguments import bind, constructor, signature_of
from ._dtypes import as_dtype
from ._framework import GraphKeys, get_collection, get_default_graph, known, name_scope, notes, op
from ._registry import export
from ._shapes import TensorShape

# -- tf.Variable.


class _VariableType(type):
    """Makes tf.Variable both the function that makes variables and the class of all of them."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return _make_variable(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _core.Variable)


@export("Variable")
class Variable(metaclass=_VariableType):
    """A tensor that a session keeps between runs."""

    SaveSliceInfo = None


@export("VariableSynchronization")
class VariableSynchronization(enum.Enum):
    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


@export("VariableAggregation")
class VariableAggregation(enum.Enum):
    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


def _make_variable(
    initial_value: Any = None,
    trainable: Any = None,
    collections: Any = None,
    validate_shape: bool = True,
    caching_device: Any = None,
    name: Any = None,
    variable_def: Any = None,
    dtype: Any = None,
    expected_shape: Any = None,
    import_scope: Any = None,
    constraint: Any = None,
    use_resource: Any = None,
    synchronization: Any = None,
    aggregation: Any = None,
    shape: Any = None,
) -> Any:
    if initial_value is None:
        raise ValueError("initial_value must be specified.")
    if callable(initial_value):
        initial_value = initial_value()
    names = [] if collections is None else [c for c in collections if c != GraphKeys.TRAINABLE_VARIABLES]
    if collections is not None and GraphKeys.TRAINABLE_VARIABLES in collections:
        trainable = True
    made = _core.make_variable(initial_value, name or "Variable", trainable is None or bool(trainable), names, dtype)
    if constraint is not None:
        notes(made.graph, "_constraints")[made] = constraint
    return made


Variable.__signature__ = inspect.signature(_make_variable)  # type: ignore[attr-defined]


def _constraint(variable: Any) -> Any:
    return known(variable.graph, "_constraints").get(variable)


_V = _core.Variable
_V.name = property(lambda self: self._core_name + ":0")
_V.trainable = property(lambda self: self in self.graph.get_collection(GraphKeys.TRAINABLE_VARIABLES))
_V.constraint = property(_constraint)
_V.initialized_value = lambda self: self.initial_value
_V.load = lambda self, value, session=None: _session_of(session)._core.set_variable(self, value)
_V.is_initialized = lambda self, name=None: op("is_variable_initialized", self)
_V.__repr__ = lambda self: f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}_ref>"
_V.assign = lambda self, value, use_locking=False, name=None, read_value=True: self._assign(value)
_V.assign_add = lambda self, delta, use_locking=False, name=None, read_value=True: self._assign_add(delta)
_V.assign_sub = lambda self, delta, use_locking=False, name=None, read_value=True: self._assign_sub(delta)
_V.scatter_add = lambda self, sparse_delta, use_locking=False, name=None: op(
    "scatter_add", self, sparse_delta.indices, sparse_delta.values
)


def _session_of(session: Any) -> Any:
    from ._session import get_default_session

    return session or get_default_session()


@export("assign")
def assign(ref: Any, value: Any, validate_shape: Any = None, use_locking: Any = None, name: Any = None) -> Any:
    """ref = value; gives the value after it."""
    return ref.assign(value)


@export("assign_add")
def assign_add(ref: Any, value: Any, use_locking: Any = None, name: Any = None) -> Any:
    return ref.assign_add(value)


@export("assign_sub")
def assign_sub(ref: Any, value: Any, use_locking: Any = None, name: Any = None) -> Any:
    return ref.assign_sub(value)


# -- Lists of variables.


def _listed(key: str) -> Any:
    def variables(scope: Any = None) -> list[Any]:
        return get_collection(key, scope)

    return variables


global_variables = export("global_variables", "all_variables")(_listed(GraphKeys.GLOBAL_VARIABLES))
trainable_variables = export("trainable_variables")(_listed(GraphKeys.TRAINABLE_VARIABLES))
local_variables = export("local_variables")(_listed(GraphKeys.LOCAL_VARIABLES))
export("model_variables")(_listed(GraphKeys.MODEL_VARIABLES))
export("moving_average_variables")(_listed(GraphKeys.MOVING_AVERAGE_VARIABLES))


@export("variables_initializer", "initialize_variables", "initializers.variables")
def variables_initializer(var_list: Any, name: str = "init") -> Any:
    """An operation that gives variables their first values."""
    variables = list(var_list)
    restored = known(get_default_graph(), "_restored")
    if not any(v in restored for v in variables):
        return _core.variables_initializer(variables, name)
    first = [_core.variables_initializer([v for v in variables if v not in restored], name)]
    return _core.group(first + [v._assign(restored[v]).op for v in variables if v in restored], name)


@export("global_variables_initializer", "initialize_all_variables", "initializers.global_variables")
def global_variables_initializer() -> Any:
    return variables_initializer(global_variables())


@export("local_variables_initializer", "initialize_local_variables", "initializers.local_variables")
def local_variables_initializer() -> Any:
    return variables_initializer(local_variables(), "init_1")


@export("report_uninitialized_variables")
def report_uninitialized_variables(var_list: Any = None, name: str = "report_uninitialized_variables") -> Any:
    raise NotImplementedError("tf.report_uninitialized_variables: use session.run(tf.global_variables_initializer())")


# -- Variable scopes.


class _Reuse(enum.Enum):
    AUTO_REUSE = 1


AUTO_REUSE = _Reuse.AUTO_REUSE
export("AUTO_REUSE")(AUTO_REUSE)
_local = threading.local()


@export("VariableScope")
class VariableScope:
    """What tf.variable_scope gives: pass it to enter the scope again."""

    def __init__(
        self,
        reuse: Any,
        name: str = "",
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        name_scope: str = "",
        dtype: Any = "float32",
        use_resource: Any = None,
        constraint: Any = None,
    ) -> None:
        self.name, self.reuse, self.original_name_scope = name, reuse, name_scope
        self.initializer, self.regularizer, self.custom_getter = initializer, regularizer, custom_getter
        self.dtype = as_dtype(dtype or "float32")

    def reuse_variables(self) -> None:
        """get_variable gives the variables that are there, from now on."""
        self.reuse = True
        scopes = _scopes()
        if scopes and scopes[-1][0] is self:
            scope = _core.variable_scope(self.name + "/" if self.name else "/", "", True, self.initializer, None, None)
            scope.__enter__()
            scopes[-1][1].append(scope)
        else:
            _local.reuse_top = True

    def set_initializer(self, initializer: Any) -> None:
        self.initializer = initializer

    def get_variable(self, *args: Any, **kwargs: Any) -> Any:
        return get_variable(*args, **kwargs)

    def global_variables(self) -> list[Any]:
        return get_collection(GraphKeys.GLOBAL_VARIABLES, self.name)

    def trainable_variables(self) -> list[Any]:
        return get_collection(GraphKeys.TRAINABLE_VARIABLES, self.name)


def _scopes() -> list[Any]:
    if not hasattr(_local, "scopes"):
        _local.scopes = []
    return _local.scopes


@export("get_variable_scope")
def get_variable_scope() -> VariableScope:
    scopes = _scopes()
    return scopes[-1][0] if scopes else VariableScope(None)


@export("variable_scope")
class variable_scope:
    """`with tf.variable_scope(name):` get_variable's names begin with it."""

    def __init__(
        self,
        name_or_scope: Any,
        default_name: Any = None,
        values: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        caching_device: Any = None,
        partitioner: Any = None,
        custom_getter: Any = None,
        reuse: Any = None,
        dtype: Any = None,
        use_resource: Any = None,
        constraint: Any = None,
        auxiliary_name_scope: bool = True,
    ) -> None:
        if name_or_scope is None and default_name is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        again = isinstance(name_or_scope, VariableScope)
        self._name = name_or_scope.name + "/" if again else (name_or_scope or "")
        self._default = default_name or ""
        self._initializer = initializer if initializer is not None else (name_or_scope.initializer if again else None)
        self._reuse = reuse if reuse is not None else (name_or_scope.reuse if again else None)
        self._regularizer = regularizer if regularizer is not None else (name_or_scope.regularizer if again else None)
        self._dtype, self._getter = dtype, custom_getter

    def __enter__(self) -> VariableScope:
        getter = self._getter if self._regularizer is None else _regularizing(self._regularizer, self._getter)
        scope = _core.variable_scope(
            self._name, self._default, _core_reuse(self._reuse), self._initializer, self._dtype, getter
        )
        scope.__enter__()
        outer = get_variable_scope()
        made = VariableScope(
            self._reuse if self._reuse else outer.reuse,
            _core.entered_variable_scope(scope).rstrip("/"),
            self._initializer or outer.initializer,
            self._regularizer if self._regularizer is not None else outer.regularizer,
            custom_getter=self._getter,
            name_scope=_core.current_name_scope() + "/",
            dtype=self._dtype or outer.dtype,
        )
        _scopes().append((made, [scope]))
        return made

    def __exit__(self, *error: Any) -> None:
        _, entered = _scopes().pop()
        for scope in reversed(entered):
            scope.__exit__(*error)


def call_custom_getter(custom: Any, get: Any, name: str, shape: Any, dtype: str, trainable: bool) -> Any:
    """The variable of a program's custom_getter; `get` makes it as C++ does."""

    def getter(
        name: str,
        shape: Any = shape,
        dtype: Any = dtype,
        initializer: Any = None,
        trainable: Any = trainable,
        **kw: Any,
    ) -> Any:
        return get(name, TensorShape(shape).as_list(), dtype, initializer, trainable is None or bool(trainable))

    return custom(
        getter, name, shape=TensorShape(shape), dtype=as_dtype(dtype), initializer=None, regularizer=None,
        reuse=None, trainable=trainable, collections=None, caching_device=None, partitioner=None, validate_shape=True,
        use_resource=None, constraint=None,
    )  # fmt: skip


def _regularizing(regularizer: Any, custom: Any) -> Any:
    """The getter of a scope whose variables have a regularizer, where they and an inner scope have none."""

    def getter(get: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        before = len(global_variables())
        made = custom(get, name, *args, **kwargs) if custom is not None else get(name, *args, **kwargs)
        inner = getattr(_local, "regularizer", None) or get_variable_scope().regularizer
        if inner is regularizer and len(global_variables()) != before:
            _regularize(made, regularizer)
        return made

    return getter


def _regularize(variable: Any, regularizer: Any) -> None:
    with name_scope(f"{variable.op.name}/Regularizer/"):
        loss = regularizer(variable)
    if loss is not None:
        get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)


def _core_reuse(reuse: Any) -> Any:
    return "auto" if reuse is AUTO_REUSE else bool(reuse) if reuse is not None else None


@export("variable_op_scope")
@contextlib.contextmanager
def variable_op_scope(
    values: Any,
    name_or_scope: Any,
    default_name: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    reuse: Any = None,
    dtype: Any = None,
    use_resource: Any = None,
    constraint: Any = None,
) -> Iterator[Any]:
    """An older name of variable_scope."""
    with variable_scope(
        name_or_scope, default_name, values, initializer, regularizer, caching_device, partitioner, custom_getter,
        reuse, dtype, use_resource, constraint,
    ) as scope:  # fmt: skip
        yield scope


@export("get_variable")
def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: Any = None,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: Any = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Any:
    """The variable of this name in the current variable scope: a new one, or the one that is there."""
    if initializer is not None and not callable(initializer) and not hasattr(initializer, "_core"):
        value = _core.convert_to_tensor(initializer, dtype)
        shape, dtype = value.shape, value.dtype
        initializer = _Value(value)
    if shape is None:
        shape = _shape_of_existing(name)
    before = len(global_variables())
    _local.regularizer = regularizer
    try:
        made = _core.get_variable(
            name, TensorShape(shape).as_list(), dtype, initializer, trainable is None or bool(trainable), collections
        )
    finally:
        _local.regularizer = None
    if regularizer is not None and len(global_variables()) != before:
        _regularize(made, regularizer)
    return made


@export("get_local_variable")
def get_local_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: Any = False,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: Any = None,
    custom_getter: Any = None,
    constraint: Any = None,
    synchronization: Any = None,
    aggregation: Any = None,
) -> Any:
    """A variable that no checkpoint has."""
    local = [*(collections or []), GraphKeys.LOCAL_VARIABLES]
    return get_variable(name, shape, dtype, initializer, regularizer, False, local)


class _Value:
    """An initializer that gives a tensor."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Any:
        return self._value


def _shape_of_existing(name: str) -> Any:
    scope = get_variable_scope().name
    full = f"{scope}/{name}:0" if scope else f"{name}:0"
    for variable in global_variables():
        if variable.name == full:
            return variable.shape
    raise ValueError(f"Shape of a new variable ({full[:-2]}) must be fully defined, but instead was <unknown>.")


# -- Initializers: the list is C++'s; here are TensorFlow's names and arguments.


class Initializer:
    """The first value of a variable: a function of its shape and dtype."""

    _core: Any

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None, verify_shape: Any = None) -> Any:
        return self._core._make(TensorShape(shape).as_list(), as_dtype(dtype or getattr(self, "dtype", "float32")))

    def get_config(self) -> dict[str, Any]:
        return dict(self._config)


def _initializer_class(name: str, core: str) -> Any:
    """A class of initializers with TensorFlow's arguments."""
    signature = signature_of(name, ["dtype"])

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        values = {p.name: p.default for p in signature.parameters.values()}
        values.update(bind(name, signature, [], args, kwargs))
        if "maxval" in values and values["maxval"] is None:
            values["maxval"] = 1.0
        self._config = values
        self.dtype = as_dtype(values["dtype"])
        given = {k: v for k, v in values.items() if k not in ("dtype", "seed") and v is not None}
        self._core = _core.initializer(core, given, values.get("seed"))
        self._keras_class = (core, {**given, "seed": values["seed"]} if "seed" in values else given)

    __init__.__signature__ = constructor(signature)  # type: ignore[attr-defined]
    return type(
        name.rpartition(".")[2],
        (Initializer,),
        {
            "__init__": __init__,
            "__module__": "systole_tpu.tensorflow.initializers",
            "__doc__": f"First values of variables: {core}.",
        },
    )


zeros_initializer = _initializer_class("zeros_initializer", "Zeros")
ones_initializer = _initializer_class("ones_initializer", "Ones")
random_normal_initializer = _initializer_class("random_normal_initializer", "RandomNormal")
truncated_normal_initializer = _initializer_class("truncated_normal_initializer", "TruncatedNormal")
random_uniform_initializer = _initializer_class("random_uniform_initializer", "RandomUniform")
variance_scaling_initializer = _initializer_class("variance_scaling_initializer", "VarianceScaling")
orthogonal_initializer = _initializer_class("orthogonal_initializer", "Orthogonal")
identity_initializer = _initializer_class("initializers.identity", "Identity")


class constant_initializer(Initializer):
    """Every element is the value; a list gives the elements in their order."""

    def __init__(self, value: Any = 0, dtype: Any = "float32", verify_shape: bool = False) -> None:
        self._value = value
        self.dtype = as_dtype(dtype)
        self._config = {"value": value}
        if isinstance(value, (int, float)):
            self._core = _core.initializer("Constant", {"value": value}, None)
        else:
            self._core = None

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None, verify_shape: Any = None) -> Any:
        return _core.constant(self._value, as_dtype(dtype or self.dtype), TensorShape(shape).as_list(), "Const")


def _scaling(scale: float, mode: str, distribution: str) -> Any:
    def make(seed: Any = None, dtype: Any = "float32") -> Any:
        return variance_scaling_initializer(scale, mode, distribution, seed, dtype)

    return make


for _names, _made in {
    ("zeros_initializer", "initializers.zeros", "keras.initializers.Zeros"): zeros_initializer,
    ("ones_initializer", "initializers.ones", "keras.initializers.Ones"): ones_initializer,
    ("constant_initializer", "initializers.constant"): constant_initializer,
    ("random_normal_initializer", "initializers.random_normal"): random_normal_initializer,
    ("truncated_normal_initializer", "initializers.truncated_normal"): truncated_normal_initializer,
    ("random_uniform_initializer", "initializers.random_uniform"): random_uniform_initializer,
    ("variance_scaling_initializer", "initializers.variance_scaling"): variance_scaling_initializer,
    ("orthogonal_initializer", "initializers.orthogonal"): orthogonal_initializer,
    ("initializers.identity",): identity_initializer,
    ("glorot_uniform_initializer", "initializers.glorot_uniform"): _scaling(1.0, "fan_avg", "uniform"),
    ("glorot_normal_initializer", "initializers.glorot_normal"): _scaling(1.0, "fan_avg", "truncated_normal"),
    ("initializers.he_normal", "keras.initializers.he_normal"): _scaling(2.0, "fan_in", "truncated_normal"),
    ("initializers.he_uniform", "keras.initializers.he_uniform"): _scaling(2.0, "fan_in", "uniform"),
    ("initializers.lecun_normal",): _scaling(1.0, "fan_in", "truncated_normal"),
    ("initializers.lecun_uniform",): _scaling(1.0, "fan_in", "uniform"),
}.items():
    export(*_names)(_made)


@export("uniform_unit_scaling_initializer", "initializers.uniform_unit_scaling")
def uniform_unit_scaling_initializer(factor: float = 1.0, seed: Any = None, dtype: Any = "float32") -> Any:
    """Uniform within factor * sqrt(3 / n) of 0, where n is the size of all axes but the last."""
    return variance_scaling_initializer(float(factor) ** 2, "fan_in", "uniform", seed, dtype)


@export("contrib.layers.xavier_initializer", "contrib.layers.xavier_initializer_conv2d")
def xavier_initializer(uniform: bool = True, seed: Any = None, dtype: Any = "float32") -> Any:
    return variance_scaling_initializer(1.0, "fan_avg", "uniform" if uniform else "truncated_normal", seed, dtype)


@export("contrib.layers.variance_scaling_initializer")
def contrib_variance_scaling(
    factor: float = 2.0, mode: str = "FAN_IN", uniform: bool = False, seed: Any = None, dtype: Any = "float32"
) -> Any:
    return variance_scaling_initializer(factor, mode.lower(), "uniform" if uniform else "truncated_normal", seed, dtype)


@export("contrib.layers.l2_regularizer", "keras.regularizers.l2")
def l2_regularizer(scale: float, scope: Any = None) -> Any:
    return _core.regularizer("l2", {"scale": scale})


@export("contrib.layers.l1_regularizer", "keras.regularizers.l1")
def l1_regularizer(scale: float, scope: Any = None) -> Any:
    return _core.regularizer("l1", {"scale": scale})
