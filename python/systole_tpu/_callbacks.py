"""Python functions that programs call: jax.pure_callback, jax.experimental.io_callback, jax.debug.

Each function has a number, which the program holds. All are called by one handler of XLA's FFI.
"""

from __future__ import annotations

import ctypes
import secrets
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax._src.callback as jax_callback
import ml_dtypes
import numpy as np
from jax import ffi
from jax._src import compiler, config, core, debugging, dtypes, mesh
from jax._src.interpreters import mlir
from jax._src.sharding_impls import SdyArray, SdyArrayList
from jaxlib.mlir import ir

from systole_tpu import _ffi

TARGET = "systole_python_callback"
_INTERNAL = 13

# The module that holds the mesh of a thread: `mesh` in JAX 0.12, `config` before.
_contexts: Any = mesh if hasattr(mesh, "device_context") else config

_functions: dict[int, Callable[..., Sequence[Any]]] = {}


class _Registration:
    """Keeps a function while the program that calls it lives."""

    def __init__(self, function: Callable[..., Sequence[Any]]) -> None:
        # Random: a program from the cache of another process must not find a function here.
        self.number = secrets.randbits(63)
        _functions[self.number] = function

    def __del__(self) -> None:
        _functions.pop(self.number, None)


def _dtype(number: int) -> np.dtype[Any]:
    name = _ffi.DATA_TYPES[number]
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def _shape(buffer: _ffi.Buffer) -> tuple[int, ...]:
    return tuple(buffer.dims[: buffer.rank])


def _argument(buffer: _ffi.Buffer) -> np.ndarray[Any, Any] | None:
    """Returns a copy, which stays when the call is over. None for a token."""
    if buffer.dtype == _ffi.TOKEN:
        return None
    array = np.empty(_shape(buffer), _dtype(buffer.dtype))
    if array.nbytes > 0:
        ctypes.memmove(array.ctypes.data, buffer.data, array.nbytes)
    return array


@contextmanager
def _no_mesh() -> Iterator[None]:
    """The caller's mesh, of other devices, is not that of the function, which runs in the caller's thread."""
    abstract = _contexts.abstract_mesh_context_manager.swap_local(mesh.empty_abstract_mesh)
    devices = _contexts.device_context.swap_local(mesh.empty_concrete_mesh)
    try:
        yield
    finally:
        _contexts.abstract_mesh_context_manager.set_local(abstract)
        _contexts.device_context.set_local(devices)


def _call(frame: _ffi.CallFrame) -> None:
    number = ctypes.c_uint64.from_address(ctypes.cast(frame.attributes.values[0], ctypes.POINTER(_ffi.Scalar))[0].value)
    function = _functions.get(number.value)
    if function is None:
        raise RuntimeError("the program calls a function of a process that has ended")
    arguments = [_argument(frame.arguments.buffers[i][0]) for i in range(frame.arguments.size)]
    values = function(*arguments)
    for i, value in enumerate(values):
        result = frame.results.buffers[i][0]
        if result.dtype == _ffi.TOKEN:
            continue
        array = np.ascontiguousarray(value, _dtype(result.dtype))
        if array.nbytes > 0:
            ctypes.memmove(result.data, array.ctypes.data, array.nbytes)


def _handle(pointer: Any) -> int | None:
    frame = pointer[0]
    if frame.extension:
        extension = ctypes.cast(frame.extension, ctypes.POINTER(_ffi.MetadataExtension))[0]
        extension.metadata[0].version.major, extension.metadata[0].version.minor = 0, 1
        return None
    try:
        with _no_mesh():
            _call(frame)
    except BaseException:
        message = f"CpuCallback error calling callback: {traceback.format_exc()}".encode()
        error = _ffi.ErrorCreateArgs(ctypes.sizeof(_ffi.ErrorCreateArgs), None, message, _INTERNAL)
        created: int | None = frame.api[0].error_create(ctypes.byref(error))
        return created
    return None


_handler = _ffi.HANDLER(_handle)  # must live as long as the process


def _checked(callback: Callable[..., Any], result_avals: Sequence[Any]) -> Callable[..., tuple[Any, ...]]:
    """Returns the callback, which also checks that its results are what the program expects."""

    def call(*arguments: Any) -> tuple[Any, ...]:
        values = callback(*arguments)
        if len(values) != len(result_avals):
            raise RuntimeError(
                f"Mismatched number of outputs from callback. Expected: {len(result_avals)}, Actual: {len(values)}"
            )
        arrays = tuple(dtypes.canonicalize_value(np.asarray(value)) for value in values)
        for i, (array, aval) in enumerate(zip(arrays, result_avals, strict=True)):
            for what, actual, expected in (("shape", array.shape, aval.shape), ("dtype", array.dtype, aval.dtype)):
                if actual != expected:
                    raise RuntimeError(
                        f"Incorrect output {what} for return value #{i}: Expected: {expected}, Actual: {actual}"
                    )
        return arrays

    return call


def _emit(
    ctx: Any,
    callback: Callable[..., Any],
    token: Any,
    operands: Sequence[Any],
    result_avals: Sequence[Any],
    has_side_effect: bool,
    partitioned: bool,
    sharding: Any,
) -> tuple[Any, Any]:
    """Returns the results of a call of the callback, and the token after it.

    Raises:
        ValueError: each device shall call it, and it has results.
    """
    if partitioned and result_avals:
        raise ValueError("Partitioned callback not supported with return values.")
    checked = _checked(callback, result_avals)
    function = checked if token is None else lambda first, *rest: (first, *checked(*rest))
    if token is not None:
        operands = [token, *operands]
        if isinstance(sharding, SdyArrayList) and len(ctx.avals_out) > 0:
            ids = sharding.shardings[0].logical_device_ids
            sharding = SdyArrayList(
                (SdyArray(mesh_shape=(), dim_shardings=(), logical_device_ids=ids), *sharding.shardings)
            )
        ctx = ctx.replace(
            avals_in=[core.abstract_token, *ctx.avals_in], avals_out=[core.abstract_token, *ctx.avals_out]
        )
    registration = _Registration(function)
    ctx.module_context.add_keepalive(registration)
    # JAX's cache of compiled programs leaves out programs with host callbacks.
    ctx.module_context.add_host_callback(registration)
    lower = ffi.build_ffi_lowering_function(TARGET, has_side_effect=has_side_effect)
    call = lower(ctx, *operands, index=np.uint64(registration.number))
    if partitioned:
        call.attributes["systole.on_parts"] = ir.BoolAttr.get(True)
    elif sharding is not None:
        mlir.set_sharding(ctx.module_context, call, sharding)
    results = list(call.results)
    return (results[1:], results[0]) if token is not None else (results, None)


def _compile_without_callbacks(platform: str) -> None:
    """The library gets callbacks by the handler: it does not take those of `host_callbacks`."""
    compile_program = compiler.backend_compile_and_load

    def backend_compile_and_load(
        backend: Any, module: Any, devices: Any, options: Any, host_callbacks: Sequence[Any]
    ) -> Any:
        taken = [] if backend.platform == platform else host_callbacks
        return compile_program(backend, module, devices, options, taken)

    compiler.backend_compile_and_load = backend_compile_and_load


def register(library: _ffi.Library, platform: str) -> None:
    """Registers the handler, and lets JAX's own rules of callbacks emit calls of it for the platform."""
    library.register_handler(TARGET, {"execute": ctypes.cast(_handler, ctypes.c_void_p).value or 0})
    original = jax_callback.emit_python_callback
    if getattr(original, "knows_systole", False):
        return

    def emit_python_callback(
        ctx: Any, callback: Any, token: Any, operands: Any, operand_avals: Any, result_avals: Any, **options: Any
    ) -> Any:
        if tuple(ctx.module_context.platforms) != (platform,):
            return original(ctx, callback, token, operands, operand_avals, result_avals, **options)
        side_effect, sharding = options["has_side_effect"], options.get("sharding")
        on_parts = options.get("partitioned", False)
        results, after = _emit(ctx, callback, token, list(operands), result_avals, side_effect, on_parts, sharding)
        return results, after, None

    emit_python_callback.knows_systole = True  # type: ignore[attr-defined]
    jax_callback.emit_python_callback = emit_python_callback
    _compile_without_callbacks(platform)
    mlir.register_lowering(
        debugging.debug_callback_p, debugging.debug_callback_lowering, platform=platform, cacheable=False
    )
    mlir.register_lowering(
        debugging.debug_print_p, debugging.debug_print_lowering_rule, platform=platform, cacheable=False
    )
