"""Tests run on the plugin, with JAX's own CPU beside it."""

from __future__ import annotations

import os

os.environ.setdefault("JAX_PLATFORMS", "systole,cpu")
os.environ.setdefault("SYSTOLE_CORES", "8")
