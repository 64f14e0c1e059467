"""What a TPU would say of a program of TensorFlow 1, on a machine without one: see docs/tpu_check.md.

    report = tpu_check.check_run([train_op, loss], {x: [1024, 784], y: [1024]}, compile="v3-8")
    print(report)
    report.ok                           # whether a TPU takes it; where its compiler was asked, as that says
    report.to_dict()["memory"]          # the same as a dict

Keywords of all functions: `compile`, the TPU that Google's compiler is asked for, "v2-8", "v3-8", "v5e-4", ...;
`tpu_library`, the path of its libtpu.so; `effort`, "low" for a verdict rather than a time; `time_limit` in seconds;
`save`, the file for the executable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from systole_tpu import _core
from systole_tpu.tensorflow._framework import get_default_graph
from systole_tpu.tensorflow._session import flatten_fetches

__all__ = ["check_estimator", "check_model", "check_run"]


def check_run(fetches: Any, feed_shapes: Mapping[Any, Any] | None = None, *, graph: Any = None, **keywords: Any) -> Any:
    """What a TPU would refuse of `session.run(fetches, feeds)`, and the memory of a core; nothing runs.

    Args:
        fetches: as Session.run() takes them.
        feed_shapes: the shape of what each tensor is fed, by tensor or name. Placeholders of known shapes need none.
        graph: the default graph, unless it is given.

    Raises:
        tf.errors.InvalidArgumentError: a shape that its tensor cannot have; a TPU that does not exist.
        tf.errors.NotFoundError: no libtpu is installed; the message has the command that installs it.
        tf.errors.FailedPreconditionError: a program that Google's compiler cannot be given: see the message.
    """
    graph = graph if graph is not None else get_default_graph()
    leaves: list[Any] = []
    flatten_fetches(graph, fetches, leaves)
    shapes = {
        graph.as_graph_element(key) if isinstance(key, str) else key: shape
        for key, shape in (feed_shapes or {}).items()
    }
    return _core.check_run(graph, leaves, shapes, keywords)


def check_estimator(estimator: Any, input_fn: Any, **keywords: Any) -> Any:
    """The same of a training step of an Estimator or a TPUEstimator, of its train_batch_size.

    Raises:
        The errors of check_run(), of the input_fn and of the model_fn.
    """
    return estimator._core.check(estimator._input(input_fn), keywords)


def check_model(model: Any, x: Any, y: Any, batch_size: int = 32, **keywords: Any) -> Any:
    """The same of a training step of a compiled Keras model: `model.check(x, y)`.

    Args:
        x, y: arrays as fit() takes them. Of their values only the classes count, so one example will do.
        batch_size: of all 8 cores, as fit() on a TPU takes it.

    Raises:
        The errors of check_run(), and of fit() for arrays that do not fit.
    """
    return model.check(x, y, batch_size, **keywords)
