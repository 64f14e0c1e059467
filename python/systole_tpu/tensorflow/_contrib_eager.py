"""The part of tf.contrib.eager that has a meaning in a graph."""

from __future__ import annotations

from typing import Any, NoReturn

from systole_tpu import _core

from ._registry import NAMES, export


@export("enable_eager_execution", "contrib.eager.enable_eager_execution")
def enable_eager_execution(config: Any = None, device_policy: Any = None, execution_mode: Any = None) -> NoReturn:
    """Raises NotImplementedError: this package runs graphs."""
    raise NotImplementedError(
        "tf.enable_eager_execution(): this package runs graphs; leave out the call, make data sets' elements by "
        "make_one_shot_iterator().get_next(), and compute values by `with tf.Session() as session: session.run(...)` "
        "(docs/python.md)"
    )


@export("executing_eagerly", "contrib.eager.executing_eagerly", "contrib.eager.in_eager_mode")
def executing_eagerly() -> bool:
    """Returns False."""
    return False


@export("contrib.eager.in_graph_mode")
def in_graph_mode() -> bool:
    """Returns True."""
    return True


@export("contrib.eager.num_gpus")
def num_gpus() -> int:
    """Returns 0."""
    return 0


@export("contrib.eager.list_devices")
def list_devices() -> list[str]:
    """Returns the name of this machine's processor."""
    return ["/job:localhost/replica:0/task:0/device:CPU:0"]


@export("contrib.eager.defun")
def defun(func: Any = None, input_signature: Any = None, autograph: bool = True, **kwargs: Any) -> Any:
    """Returns the function itself: calls add its ops to the caller's graph."""
    return (lambda function: function) if func is None else func


@export("contrib.eager.py_func")
def py_func(func: Any, inp: Any, Tout: Any, name: Any = None) -> Any:
    """tf.py_func."""
    return NAMES["py_func"](func, inp, Tout, name=name)


export("contrib.eager.Variable")(_core.Variable)
for _public in ("train.Saver", "train.get_or_create_global_step"):
    export(f"contrib.eager.{_public.rpartition('.')[2]}")(NAMES[_public])
