"""tf.errors: the exceptions of runs."""

from __future__ import annotations

from typing import Any

from ._registry import export


@export("OpError", "errors.OpError")
class OpError(Exception):
    """An error of a run."""

    def __init__(self, node_def: Any, op: Any, message: str, error_code: int) -> None:
        super().__init__(message)
        self.node_def = node_def
        self.op = op
        self.message = message
        self.error_code = error_code

    def __str__(self) -> str:
        return self.message


_CLASSES: dict[int, type[OpError]] = {}


def _make(name: str, code: int) -> None:
    constant = "".join("_" + c if c.isupper() else c for c in name.removesuffix("Error"))[1:].upper()
    export(f"errors.{constant.removesuffix('_ERROR')}")(code)

    def __init__(
        self: OpError, node_def: Any = None, op: Any = None, message: str = "", error_code: int = code
    ) -> None:
        OpError.__init__(self, node_def, op, message, error_code)

    made = type(name, (OpError,), {"__init__": __init__, "__module__": "systole_tpu.tensorflow.errors"})
    _CLASSES[code] = made
    export(f"errors.{name}")(made)


for _code, _name in enumerate(
    [
        "CancelledError", "UnknownError", "InvalidArgumentError", "DeadlineExceededError", "NotFoundError",
        "AlreadyExistsError", "PermissionDeniedError", "ResourceExhaustedError", "FailedPreconditionError",
        "AbortedError", "OutOfRangeError", "UnimplementedError", "InternalError", "UnavailableError", "DataLossError",
        "UnauthenticatedError",
    ],
    1,
):  # fmt: skip
    _make(_name, _code)
export("errors.OK")(0)


@export("errors.make_error")
def make_error(code: int, message: str) -> OpError:
    """The exception of a status code."""
    return _CLASSES.get(code, _CLASSES[2])(None, None, message)


@export("errors.exception_type_from_error_code")
def exception_type_from_error_code(error_code: int) -> type[OpError]:
    return _CLASSES[error_code]
