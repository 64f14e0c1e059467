"""The structs of XLA's FFI, and the registration of its handlers in the plugin's library.

Source: xla/ffi/api/c_api.h, which jaxlib contains.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from typing import Any

_VOID = ctypes.c_void_p
DATA_TYPES = {
    1: "bool", 26: "int2", 21: "int4", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 27: "uint2", 22: "uint4",
    6: "uint8", 7: "uint16", 8: "uint32", 9: "uint64", 32: "float4_e2m1fn", 29: "float8_e3m4", 28: "float8_e4m3",
    23: "float8_e4m3b11fnuz", 20: "float8_e4m3fn", 25: "float8_e4m3fnuz", 19: "float8_e5m2", 24: "float8_e5m2fnuz",
    33: "float8_e8m0fnu", 10: "float16", 16: "bfloat16", 11: "float32", 12: "float64", 15: "complex64",
    18: "complex128",
}  # fmt: skip
TOKEN = 17


class Extension(ctypes.Structure):
    _fields_ = (("struct_size", ctypes.c_size_t), ("type", ctypes.c_int), ("next", _VOID))


class ApiVersion(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension", _VOID),
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
    )


class Metadata(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("version", ApiVersion),
        ("traits", ctypes.c_uint32),
        ("state_type", ctypes.c_int64),
    )


class MetadataExtension(ctypes.Structure):
    _fields_ = (("base", Extension), ("metadata", ctypes.POINTER(Metadata)))


class ErrorCreateArgs(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension", _VOID),
        ("message", ctypes.c_char_p),
        ("code", ctypes.c_int),
    )


class Api(ctypes.Structure):
    """The first fields of XLA_FFI_Api."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension", _VOID),
        ("version", ApiVersion),
        ("internal", _VOID),
        ("error_create", ctypes.CFUNCTYPE(_VOID, ctypes.POINTER(ErrorCreateArgs))),
    )


class Buffer(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension", _VOID),
        ("dtype", ctypes.c_int),
        ("data", _VOID),
        ("rank", ctypes.c_int64),
        ("dims", ctypes.POINTER(ctypes.c_int64)),
    )


class Buffers(ctypes.Structure):
    """XLA_FFI_Args and XLA_FFI_Rets."""

    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension", _VOID),
        ("size", ctypes.c_int64),
        ("types", _VOID),
        ("buffers", ctypes.POINTER(ctypes.POINTER(Buffer))),
    )


class Scalar(ctypes.Structure):
    _fields_ = (("dtype", ctypes.c_int), ("value", _VOID))


class Attributes(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension", _VOID),
        ("size", ctypes.c_int64),
        ("types", _VOID),
        ("names", _VOID),
        ("values", ctypes.POINTER(_VOID)),
    )


class CallFrame(ctypes.Structure):
    _fields_ = (
        ("struct_size", ctypes.c_size_t),
        ("extension", ctypes.POINTER(Extension)),
        ("api", ctypes.POINTER(Api)),
        ("context", _VOID),
        ("stage", ctypes.c_int),
        ("arguments", Buffers),
        ("results", Buffers),
        ("attributes", Attributes),
        ("future", _VOID),
    )


HANDLER = ctypes.CFUNCTYPE(_VOID, ctypes.POINTER(CallFrame))


class Bundle(ctypes.Structure):
    _fields_ = tuple((stage, _VOID) for stage in ("instantiate", "prepare", "initialize", "execute"))


INSPECTOR = ctypes.CFUNCTYPE(_VOID, _VOID, ctypes.c_size_t, _VOID, ctypes.c_size_t)
PARTITIONER = ctypes.CFUNCTYPE(_VOID, _VOID, ctypes.c_size_t, ctypes.POINTER(_VOID), ctypes.POINTER(ctypes.c_size_t))


class Library:
    """Functions of libsystole_pjrt.so that are not in the PJRT C API. JAX has loaded it from the same path."""

    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL)
        for function in (self._library.systole_register_ffi_handler, self._library.systole_register_ffi_type):
            function.restype = ctypes.c_char_p

    def register_handler(self, name: str, stages: Mapping[str, int]) -> None:
        """Registers the addresses of a handler's functions by stage.

        Raises:
            RuntimeError: the library refuses the handler.
        """
        bundle = Bundle(**stages)
        text = name.encode()
        self._check(self._library.systole_register_ffi_handler(text, ctypes.c_size_t(len(text)), ctypes.byref(bundle)))

    def register_type(self, name: str, type_id: int, type_info: int | None) -> None:
        """Registers a type by the addresses of its XLA_FFI_TypeId and XLA_FFI_TypeInfo.

        Raises:
            RuntimeError: the library refuses the type.
        """
        text = name.encode()
        self._check(
            self._library.systole_register_ffi_type(
                text, ctypes.c_size_t(len(text)), ctypes.c_void_p(type_id), ctypes.c_void_p(type_info)
            ),
        )

    def inspect_shardings(self, inspector: Any) -> None:
        """Sets the INSPECTOR that is told of shardings; it must live as long as the process."""
        self._library.systole_inspect_shardings(inspector)

    def partition_custom_calls(self, partitioner: Any) -> None:
        """Sets the PARTITIONER that is asked for programs of parts; it must live as long as the process."""
        self._library.systole_partition_custom_calls(partitioner)

    @staticmethod
    def _check(message: bytes | None) -> None:
        if message is not None:
            raise RuntimeError(message.decode())


def address(capsule: Any) -> int:
    """Returns the address that a PyCapsule of any name holds."""
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, (ctypes.py_object,)
    api.PyCapsule_GetPointer.restype = _VOID
    api.PyCapsule_GetPointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    return int(api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule)))


def register_target(
    library: Library, name: str, function: Any, platform: str, api_version: int, traits: int = 0
) -> None:
    """What jax.ffi.register_ffi_target() does for the platform.

    Raises:
        NotImplementedError: a handler of the old custom calls, whose api_version is 0.
        RuntimeError: the library refuses the handler.
    """
    del platform, traits
    if api_version != 1:
        raise NotImplementedError(f"systole: target '{name}' has api_version {api_version}, expected 1, the typed FFI")
    stages = function if isinstance(function, dict) else {"execute": function}
    library.register_handler(name, {stage: address(capsule) for stage, capsule in stages.items()})


def register_type(library: Library, name: str, registration: Any) -> None:
    """What jax.ffi.register_ffi_type() does for the platform.

    Raises:
        RuntimeError: the library refuses the type.
    """
    parts = registration if isinstance(registration, dict) else {"type_id": registration}
    info = parts.get("type_info")
    library.register_type(name, address(parts["type_id"]), None if info is None else address(info))
