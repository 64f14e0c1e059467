"""The plugin's options, from environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping

Option = str | int
# Cores, and bytes of memory of a core, of a Cloud TPU's board.
_TPUS: dict[str, tuple[int, int]] = {"v2-8": (8, 8_034_172_928), "v3-8": (8, 16_624_107_520)}


def client_options(environment: Mapping[str, str] = os.environ) -> dict[str, Option]:
    """Returns the options that make a client of JAX.

    SYSTOLE_CORES is the number of devices. SYSTOLE_TPU names a Cloud TPU: its cores with their memory limits. Without
    both the library reads SYSTOLE_PJRT_OPTIONS.

    Raises:
        ValueError: a variable has another value, or both are set and contradict each other.
    """
    cores = environment.get("SYSTOLE_CORES", "")
    tpu = environment.get("SYSTOLE_TPU", "")
    options: dict[str, Option] = {}
    if cores:
        if not cores.isdecimal() or int(cores) < 1:
            raise ValueError(f"SYSTOLE_CORES, got {cores!r}, expected a number of devices, 1 or more")
        options["cores"] = int(cores)
    if tpu:
        if tpu not in _TPUS:
            raise ValueError(f"SYSTOLE_TPU, got {tpu!r}, expected one of {', '.join(_TPUS)}")
        number, memory = _TPUS[tpu]
        if options.get("cores", number) != number:
            raise ValueError(f"SYSTOLE_CORES, got {cores} with SYSTOLE_TPU={tpu}, expected {number} or none")
        options |= {"cores": number, "core_memory": memory, "core_kind": f"TPU {tpu.split('-')[0]}"}
    return options
