"""Registers the PJRT plugin of Systole as JAX's platform `systole`."""

from __future__ import annotations

import ctypes
import sys
from functools import partial
from types import SimpleNamespace
from typing import Any

import jax._src.xla_bridge as xla_bridge
import jax.numpy as jnp
from jax import lax
from jax._src import compilation_cache
from jax._src.interpreters import mlir
from jax._src.lax import ann
from jaxlib import xla_client

from systole_tpu import _callbacks, _dlpack, _ffi, _like_cpu, _partitioning, library_path

PLATFORM = "systole"
# Primitives whose rules for CPUs call LAPACK by names that the plugin has, too. The CPU's rule of dot_general is left
# out: it refuses precisions that the plugin takes.
_LAPACK_PRIMITIVES = frozenset(
    "cholesky eig eigh geqp3 geqrf hessenberg householder_product lu ormqr schur svd triangular_solve tridiagonal "
    "tridiagonal_solve".split()
)


def register() -> None:
    """Registers the platform, and what JAX has by the names of platforms: rules of lowering, callbacks, caches.

    Raises:
        FileNotFoundError: the library is not there.
    """
    library = library_path()
    _load_lapack(library.parent)
    known: set[str] = xla_bridge._nonexperimental_plugins
    known.add(PLATFORM)
    xla_bridge.register_plugin(PLATFORM, priority=500, library_path=str(library), options=_client_options)
    _register_lapack()
    _register_ffi(str(library))
    _like_cpu.register(PLATFORM)
    _dlpack.register(PLATFORM)
    mlir.register_lowering(ann.approx_top_k_p, _lower_approx_top_k, platform=PLATFORM)
    if PLATFORM not in mlir._platforms_with_donation:
        mlir._platforms_with_donation.append(PLATFORM)
    _allow_compilation_cache()


def _client_options() -> dict[str, Any]:
    """Returns the options of jax.config if the program has defined them: nobody else may, JAX's tests compare."""
    defined = sys.modules.get("systole_tpu.jax_options")
    return defined.client_options() if defined is not None else {}


def _load_lapack(folder: Any) -> None:
    """Loads the package's own LAPACK, which the plugin then finds by its name."""
    lapack = folder / "liblapacke.so.3"
    if lapack.is_file():
        ctypes.CDLL(str(lapack), mode=ctypes.RTLD_LOCAL)


def _register_ffi(library: str) -> None:
    """Gives the plugin the handlers that jax.ffi registers for the platform, and Python's callbacks."""
    ffi = _ffi.Library(library)
    xla_client.register_custom_call_handler(PLATFORM, partial(_ffi.register_target, ffi))
    xla_client.register_custom_type_handler(PLATFORM, partial(_ffi.register_type, ffi))
    _callbacks.register(ffi, PLATFORM)
    _partitioning.register(ffi, PLATFORM)


def _register_lapack() -> None:
    rules = mlir._platform_specific_lowerings
    for primitive, entry in list(rules["cpu"].items()):
        if primitive.name in _LAPACK_PRIMITIVES:
            mlir.register_lowering(
                primitive, partial(_lower_widened, primitive, entry.rule), platform=PLATFORM, inline=entry.inline
            )


def _lower_widened(primitive: Any, rule: Any, ctx: Any, *operands: Any, **params: Any) -> Any:
    """Lowers by `rule`; 16-bit floats, which LAPACK does not have, are computed in f32."""
    narrow = [a.dtype for a in ctx.avals_in if a.dtype in (jnp.bfloat16, jnp.float16)]
    if not narrow:
        return rule(ctx, *operands, **params)

    def widened(*arrays: Any) -> Any:
        wide = [a.astype(jnp.float32) if a.dtype == narrow[0] else a for a in arrays]
        results = primitive.bind(*wide, **params)
        many = results if primitive.multiple_results else [results]
        cast = [r.astype(o.dtype) for r, o in zip(many, ctx.avals_out, strict=True)]
        return cast if primitive.multiple_results else cast[0]

    return mlir.lower_fun(widened, multiple_results=primitive.multiple_results)(ctx, *operands)


def _approx_top_k(operand: Any, *, reduction_dimension: int, is_max_k: bool, size: int) -> tuple[Any, Any]:
    """Returns the exact results of lax.approx_max_k and approx_min_k, the best `size` of them."""
    rows = jnp.moveaxis(operand, reduction_dimension, -1)
    values, indices = lax.top_k(rows if is_max_k else -rows, min(size, rows.shape[-1]))
    values = values if is_max_k else -values
    return jnp.moveaxis(values, -1, reduction_dimension), jnp.moveaxis(indices, -1, reduction_dimension)


def _lower_approx_top_k(ctx: Any, operand: Any, *, reduction_dimension: int, is_max_k: bool, **_: Any) -> Any:
    """lax.approx_max_k and approx_min_k may return the exact results, and do."""
    size = ctx.avals_out[0].shape[reduction_dimension]
    exact = partial(_approx_top_k, reduction_dimension=reduction_dimension, is_max_k=is_max_k, size=size)
    return mlir.lower_fun(exact, multiple_results=True)(ctx, operand)


def _allow_compilation_cache() -> None:
    """Lets JAX keep compiled programs of the platform: its list of platforms that can is fixed."""
    is_used = compilation_cache.is_cache_used
    if getattr(is_used, "knows_systole", False):
        return

    def is_cache_used(backend: Any) -> bool:
        if backend.platform == PLATFORM:
            backend = SimpleNamespace(platform="cpu", supports_executable_serialization=True)
        return bool(is_used(backend))

    is_cache_used.knows_systole = True  # type: ignore[attr-defined]
    compilation_cache.is_cache_used = is_cache_used
