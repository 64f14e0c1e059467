#!/usr/bin/env python3
"""Records the values of floats below 16 bits, and the codes of numbers, as ml_dtypes has them.

Run it with a Python that has ml_dtypes (jax brings it). Each line of small_floats.txt: the type, the bits of its
values as f32 in hexadecimal, and hashes (FNV-1a) of the codes of all numbers f32(bits << 16) and f32(bits << 16 | 1).
"""

from pathlib import Path

import ml_dtypes
import numpy as np

TYPES = ("4_e2m1fn", "8_e3m4", "8_e4m3", "8_e4m3b11fnuz", "8_e4m3fn", "8_e4m3fnuz", "8_e5m2", "8_e5m2fnuz", "8_e8m0fnu")


def fnv1a(codes: np.ndarray) -> int:
    value = 0xCBF29CE484222325
    for code in codes.tolist():
        value = ((value ^ code) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return value


def line(name: str) -> str:
    dtype = getattr(ml_dtypes, f"float{name}")
    count = 16 if name.startswith("4") else 256
    values = np.arange(count, dtype=np.uint8).view(dtype).astype(np.float32).view(np.uint32)
    upper = np.arange(65536, dtype=np.uint32) << 16
    hashes = [fnv1a((upper | low).view(np.float32).astype(dtype).view(np.uint8)) for low in (0, 1)]
    digits = "".join(f"{value:08x}" for value in values.tolist())
    return f"f{name.replace('_', '')} {digits} {hashes[0]:016x} {hashes[1]:016x}\n"


if __name__ == "__main__":
    (Path(__file__).parent / "small_floats.txt").write_text("".join(line(name) for name in TYPES))
