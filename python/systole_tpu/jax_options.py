"""Options of jax.config: importing this module defines `systole_cores` and `systole_tpu`.

    import jax
    import systole_tpu.jax_options

    jax.config.update("systole_cores", 8)  # or "systole_tpu", "v3-8"

They hold until JAX looks for its devices, and come before the environment's SYSTOLE_CORES and SYSTOLE_TPU.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax._src.xla_bridge as xla_bridge
from jax._src import config


def _check_early(name: str, value: Any) -> None:
    if value is not None and xla_bridge.backends_are_initialized():
        raise RuntimeError(f"systole_tpu: {name}, got {value!r} after JAX looked for its devices, expected it before")


_CORES = config.int_flag(
    "systole_cores", None, help="The number of devices.", update_hook=partial(_check_early, "systole_cores")
)
_TPU = config.string_flag(
    "systole_tpu",
    None,
    help="The cores of a Cloud TPU with their memory: v2-8 or v3-8.",
    update_hook=partial(_check_early, "systole_tpu"),
)


def client_options() -> dict[str, Any]:
    """Returns the options that the program has set, by the plugin's names."""
    values = {"cores": _CORES.value, "tpu": _TPU.value}
    return {name: value for name, value in values.items() if value is not None}
