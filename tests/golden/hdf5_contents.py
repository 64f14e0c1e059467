"""What h5py finds in an HDF5 file."""

import pathlib
from typing import Any

import golden
import h5py
import numpy as np


def hdf5_contents(path: pathlib.Path) -> dict[str, Any]:
    datasets: dict[str, Any] = {}

    def visit(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and np.issubdtype(item.dtype, np.number):
            values = item[()]
            datasets[name] = golden.array_summary(values.astype(values.dtype.newbyteorder("=")))

    with h5py.File(path) as file:
        file.visititems(visit)
    return {"datasets": datasets}
