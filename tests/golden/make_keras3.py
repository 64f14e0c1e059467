#!/usr/bin/env python3
"""Makes the golden files of Keras 3 and NumPy 2, and what they hold by their own readers.

Run it with the Python of build/clients/keras3 (tools/install-clients.sh keras3).
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import golden
import numpy as np
from hdf5_contents import hdf5_contents
from keras_files import keras_contents, make_models


def main() -> None:
    folder = golden.fresh("keras3")
    make_models(folder, [".keras", ".weights.h5"])
    numpy = golden.fresh("numpy2")
    np.savez_compressed(numpy / "arrays.npz", x=np.arange(6, dtype=np.float32).reshape(2, 3), y=np.int64([1, -2]))
    with np.load(numpy / "arrays.npz") as file:
        arrays = {key: golden.array_summary(file[key]) for key in file.files}
    golden.record(
        {
            "keras_models": keras_contents(folder),
            "keras_h5": {f"keras3/{path.name}": hdf5_contents(path) for path in sorted(folder.glob("*.h5"))},
            "numpy": {"numpy2/arrays.npz": arrays},
        }
    )


if __name__ == "__main__":
    main()
