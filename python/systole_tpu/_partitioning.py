"""What the library tells and asks while it splits a program over devices.

jax.debug.inspect_array_sharding and visualize_array_sharding are told how an array is split; functions of
custom_partitioning are asked how parts of their result are computed.
"""

from __future__ import annotations

import ctypes
import json
import secrets
import threading
import traceback
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from jax._src import custom_partitioning, debugging
from jax._src.interpreters import mlir
from jaxlib import xla_client
from jaxlib.mlir import ir

from systole_tpu import _ffi

_callbacks: dict[str, Callable[[Any], None]] = {}
# What the last call on each thread returned. Not threading.local(), which ends with a call from the library's thread.
_kept: dict[tuple[int, str], Any] = {}


class _Registration:
    """Keeps a callback while the program that asks lives."""

    def __init__(self, callback: Callable[[Any], None]) -> None:
        self.key = str(secrets.randbits(63))
        _callbacks[self.key] = callback

    def __del__(self) -> None:
        _callbacks.pop(self.key, None)


def _keep(what: str, text: bytes) -> int:
    """Returns the address of the text, which stays until the thread's next call."""
    buffer = _kept[threading.get_ident(), what] = ctypes.create_string_buffer(text)
    return ctypes.addressof(buffer)


def _failure() -> int:
    return _keep("message", traceback.format_exc().encode())


def _sharding(message: bytes) -> Any:
    sharding = xla_client.OpSharding()
    sharding.ParseFromString(message)
    return xla_client.HloSharding.from_proto(sharding)


def _inspect(key: Any, key_size: int, sharding: Any, sharding_size: int) -> int | None:
    try:
        callback = _callbacks.get(ctypes.string_at(key, key_size).decode())
        if callback is not None:  # a program of another process asks for nothing here
            callback(_sharding(ctypes.string_at(sharding, sharding_size)))
    except BaseException:
        return _failure()
    return None


def _shape(value: dict[str, Any]) -> Any:
    name = value["dtype"]
    return xla_client.Shape.array_shape(np.dtype(getattr(ml_dtypes, name, None) or name), value["dims"])


def _reply(request: dict[str, Any]) -> str:
    """Returns the shardings and the program of a device, as systole_partition_custom_calls() wants them."""
    key = request["key"].encode()
    if key not in custom_partitioning._sharding_callbacks:
        raise RuntimeError("the program asks a function of a process that has ended")
    shapes = {what: [_shape(value) for value in request[what]] for what in ("operands", "results")}
    given = {what: [_sharding(bytes.fromhex(v["sharding"])) for v in request[what]] for what in ("operands", "results")}
    is_tuple = len(shapes["results"]) != 1
    shape = xla_client.Shape.tuple_shape(shapes["results"]) if is_tuple else shapes["results"][0]
    module, operands, result = custom_partitioning._custom_partitioning_partition(
        shapes["operands"],
        given["operands"],
        shape,
        xla_client.HloSharding.tuple_sharding(shape, given["results"]) if is_tuple else given["results"][0],
        key,
    )
    results = result.tuple_elements() if is_tuple else [result]
    with mlir.make_ir_context():
        program = str(ir.Module.parse(module))
    return "\n".join([*(str(sharding) for sharding in (*operands, *results)), program])


def _partition(request: Any, size: int, reply: Any, reply_size: Any) -> int | None:
    try:
        text = _reply(json.loads(ctypes.string_at(request, size))).encode()
        reply[0], reply_size[0] = _keep("reply", text), len(text)
    except BaseException:
        return _failure()
    return None


# These must live as long as the process.
_inspector = _ffi.INSPECTOR(_inspect)
_partitioner = _ffi.PARTITIONER(_partition)


def _emitted(rule: Callable[..., Any], ctx: Any, *values: Any, **params: Any) -> tuple[Any, Any]:
    """Returns the results of JAX's own rule, and the call that it has emitted; None on one device."""
    operations = ir.InsertionPoint.current.block.operations
    before = len(operations)
    kept = len(ctx.module_context.keepalives)
    results = rule(ctx, *values, **params)
    if len(ctx.module_context.keepalives) == kept:
        return results, None
    # JAX's cache of compiled programs leaves out programs with host callbacks.
    ctx.module_context.add_host_callback(ctx.module_context.keepalives[-1])
    return results, operations[before]


def _lower_inspection(ctx: Any, value: Any, *, callback: Any) -> Any:
    results, call = _emitted(debugging._inspect_sharding_lowering_rule, ctx, value, callback=callback)
    if call is not None:
        # JAX's key is an address, which the library would have to trust.
        registration = _Registration(ctx.module_context.keepalives[-1])
        call.attributes["backend_config"] = ir.StringAttr.get(registration.key)
        ctx.module_context.add_keepalive(registration)
    return results


def _lower_custom_partitioning(ctx: Any, *values: Any, **params: Any) -> Any:
    return _emitted(custom_partitioning._custom_partitioning_lowering_rule, ctx, *values, **params)[0]


def register(library: _ffi.Library, platform: str) -> None:
    """Registers the rules for the platform."""
    library.inspect_shardings(_inspector)
    library.partition_custom_calls(_partitioner)
    mlir.register_lowering(debugging.inspect_sharding_p, _lower_inspection, platform=platform)
    mlir.register_lowering(
        custom_partitioning.custom_partitioning_p, _lower_custom_partitioning, platform=platform, cacheable=False
    )
