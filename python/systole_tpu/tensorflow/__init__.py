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
    "_more_ops",
    "_image_boxes",
    "_layers",
    "_arg_scope",
    "_contrib_layers",
    "_factorization",
    "_tensor_forest",
    "_rnn",
    "_rules",
    "_training",
    "_proximal",
    "_hooks",
    "_session",
    "_data",
    "_sparse",
    "_examples",
    "_example_decoder",
    "_summary",
    "_estimator",
    "_mnist",
    "_tpu",
    "_platform",
    "_absl_flags",
    "_files",
    "_saved_model",
    "_queues",
    "_contrib_summary",
    "_contrib_eager",
    "_feature_columns",
    "_premade",
    "_keras_objects",
    "_keras_layers",
    "_keras_models",
    "_keras_backend",
    "_keras_images",
    "_keras_data",
    "_supervisor",
    "_contrib_training",
    "_internals",
    "_estimator_training",
    "_renamed",
):
    _importlib.import_module(f"{__name__}.{_name}")
_functions.make_all()
_registry.assemble()

__all__ = [_name for _name in dir() if not _name.startswith("_")]
