"""TensorFlow 1.15 as Systole has it: `import systole_tpu.tensorflow as tf`, or `systole run old.py`."""

from __future__ import annotations

import importlib as _importlib
from pathlib import Path as _Path

from systole_tpu import _core

from . import _functions, _registry

__version__ = "1.15.0"
VERSION = __version__
GIT_VERSION = f"systole-{__version__}"
COMPILER_VERSION = "systole"

# The user's line is the innermost one outside of these.
_core.set_own_folders([str(_Path(__file__).parent.parent), "<systole", "<frozen"])

# Each exports its names.
for _name in (
    "_dtypes",
    "_shapes",
    "_errors",
    "_framework",
    "_variables",
    "_control",
    "_ops",
    "_layers",
    "_contrib_layers",
    "_rnn",
    "_rules",
    "_training",
    "_hooks",
    "_session",
    "_data",
    "_examples",
    "_summary",
    "_estimator",
    "_mnist",
    "_tpu",
    "_platform",
    "_files",
    "_saved_model",
    "_queues",
    "_contrib_summary",
    "_feature_columns",
    "_keras_objects",
    "_keras_layers",
    "_keras_models",
    "_keras_backend",
    "_keras_data",
    "_renamed",
):
    _importlib.import_module(f"{__name__}.{_name}")
_functions.make_all()
_registry.assemble()

__all__ = [_name for _name in dir() if not _name.startswith("_")]
