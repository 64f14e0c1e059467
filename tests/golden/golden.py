"""What the scripts of this folder share: where files go, and expected.json."""

import json
import pathlib
import shutil
from collections.abc import Mapping
from typing import Any

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parent


def fresh(name: str) -> pathlib.Path:
    """Empties a subfolder and returns its path."""
    path = FOLDER / name
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    return path


def relative(path: pathlib.Path) -> str:
    return path.relative_to(FOLDER).as_posix()


def array_summary(array: Any) -> dict[str, Any]:
    """Returns type, shape, sums and first elements of an array of numbers."""
    values = np.asarray(array)
    flat = values.reshape(-1).astype(np.complex128 if np.iscomplexobj(values) else np.float64)
    summary: dict[str, Any] = {"dtype": values.dtype.name, "shape": list(values.shape)}
    if np.iscomplexobj(flat):
        summary["real"] = flat.real.tolist()
        summary["imag"] = flat.imag.tolist()
        return summary
    summary["sum"] = float(flat.sum())
    summary["abs_sum"] = float(np.abs(flat).sum())
    summary["first"] = [float(x) for x in flat[:4]]
    if flat.size:
        summary["last"] = float(flat[-1])
    return summary


def tensor_json(array: Any) -> dict[str, Any]:
    """Returns all elements of a small array, to be compared one by one."""
    values = np.asarray(array)
    return {"shape": list(values.shape), "values": values.reshape(-1).astype(np.float64).tolist()}


def varints(data: bytes, count: int) -> list[int]:
    values, position = [], 0
    for _ in range(count):
        value, shift = 0, 0
        while True:
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        values.append(value)
    return values


def table_compression(path: pathlib.Path) -> str:
    """Returns how the blocks of a LevelDB table, such as a checkpoint's index, are compressed."""
    data = path.read_bytes()
    _, _, offset, size = varints(data[-48:], 4)  # the footer: handles of the meta index and of the index
    if data[offset + size] == 1:
        return "snappy"
    _, key_size, _ = varints(data[offset:], 3)
    block_offset, block_size = varints(data[offset + 3 + key_size :], 2)
    return {0: "none", 1: "snappy"}[data[block_offset + block_size]]


def record(kinds: Mapping[str, Mapping[str, Any]]) -> None:
    """Replaces in expected.json the contents of the files of these kinds, {kind: {file: contents}}. Those of files in
    other folders stay."""
    path = FOLDER / "expected.json"
    expected = json.loads(path.read_text()) if path.exists() else {}
    for kind, files in kinds.items():
        folders = {name.split("/")[0] for name in files}
        kept = {name: value for name, value in expected.get(kind, {}).items() if name.split("/")[0] not in folders}
        expected[kind] = {**kept, **files}
    path.write_text(json.dumps(expected, indent=0, sort_keys=True) + "\n")
