"""Export of arrays by DLPack: JAX knows the kinds of devices by the names of their platforms.

An array of the platform is host memory. It is exported as an array of JAX's CPU in the same memory.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax._src import array, dlpack
from jax._src.typing import DLDeviceType


def _on_cpu(x: Any) -> Any:
    """Returns an array of JAX's CPU in the memory of `x`, which it keeps alive."""
    return jax.device_put(np.asarray(x), jax.local_devices(backend="cpu")[0], may_alias=True)


def register(platform: str) -> None:
    """Lets `__dlpack__` and `__dlpack_device__` of JAX's arrays know the platform."""
    device_of = array.ArrayImpl.__dlpack_device__
    export = dlpack.to_dlpack
    if getattr(export, "knows_systole", False):
        return

    def dlpack_device(self: Any) -> Any:
        if self.platform() == platform and len(self.sharding.device_set) == 1:
            return DLDeviceType.kDLCPU, 0
        return device_of(self)

    def to_dlpack(
        x: Any,
        stream: Any = None,
        src_device: Any = None,
        dl_device: Any = None,
        max_version: Any = None,
        copy: Any = None,
    ) -> Any:
        if isinstance(x, array.ArrayImpl) and x.platform() == platform:
            x, src_device = _on_cpu(x), None
        return export(x, stream, src_device, dl_device, max_version, copy)

    to_dlpack.knows_systole = True  # type: ignore[attr-defined]
    array.ArrayImpl.__dlpack_device__ = dlpack_device
    dlpack.to_dlpack = to_dlpack
