"""What JAX has for CPUs by their name, for programs on the platform, which is one."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

from jax._src import checkify
from jax._src.export import _export
from jax._src.interpreters import mlir
from jax._src.lax.control_flow import conditionals

Platforms = tuple[tuple[str, ...] | None, ...]


def _with_platform(platform: str, branches: Platforms) -> Platforms:
    """Returns the platforms of the branches of lax.platform_dependent.

    The branch of CPUs is that of the platform, unless it has one of its own or there is a default.
    """
    if any(names is None or platform in names for names in branches):
        return branches
    return tuple((*names, platform) if names and "cpu" in names else names for names in branches)


def _lower_platform_index(platform: str, ctx: Any, *, platforms: Platforms) -> Any:
    return conditionals._platform_index_lowering(ctx, platforms=_with_platform(platform, platforms))


def _lower_cond(platform: str, ctx: Any, *operands: Any, **params: Any) -> Any:
    branches = params.get("branches_platforms")
    if branches is not None:
        params["branches_platforms"] = _with_platform(platform, branches)
    return conditionals._cond_lowering(ctx, *operands, **params)


def _lower_exported(platform: str, ctx: Any, *operands: Any, exported: Any) -> Any:
    """A function that was exported for CPUs, and not for the platform, runs there."""
    if platform not in exported.platforms and "cpu" in exported.platforms:
        names = tuple(platform if name == "cpu" else name for name in exported.platforms)
        exported = dataclasses.replace(exported, platforms=names)
    return _export._call_exported_lowering(ctx, *operands, exported=exported)


def register(platform: str) -> None:
    """Registers the rules for the platform."""
    lower = partial(mlir.register_lowering, platform=platform)
    lower(conditionals.platform_index_p, partial(_lower_platform_index, platform))
    lower(conditionals.cond_p, partial(_lower_cond, platform))
    lower(_export.call_exported_p, partial(_lower_exported, platform))
    lower(checkify.check_p, checkify.check_lowering_rule)
