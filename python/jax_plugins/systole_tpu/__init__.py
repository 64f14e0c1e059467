"""The PJRT plugin of Systole, which JAX finds by itself."""

from __future__ import annotations

from typing import NoReturn

import jax
import jax._src.xla_bridge as xla_bridge
import jaxlib

PLATFORM = "systole"
# The versions whose inner modules the package knows.
_JAX = "0.10"


def initialize() -> None:
    """Registers the platform; JAX calls it when it looks for devices.

    What is wrong, such as an environment variable's value, becomes the error of the platform: JAX raises it when the
    platform is used, and not when another one is.
    """
    try:
        from systole_tpu import _platform

        _platform.register()
    except (ValueError, OSError, RuntimeError) as error:
        _register_failure(str(error))
    except (ImportError, AttributeError, TypeError) as error:
        got = f"JAX {jax.__version__} with jaxlib {jaxlib.__version__}"
        _register_failure(f"systole_tpu: got {got}, expected {_JAX}: {type(error).__name__}: {error}")


def _register_failure(message: str) -> None:
    def fail() -> NoReturn:
        raise RuntimeError(message)

    xla_bridge.register_backend_factory(PLATFORM, fail, priority=500, fail_quietly=False)
