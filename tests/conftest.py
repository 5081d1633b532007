"""Where and how long the random tests look, and what every test may rely on.

A run of all tests tells about the change, so it looks at the same examples every time. `make search` looks elsewhere
each time and longer (HYPOTHESIS_PROFILE=search); what it finds becomes a fixed example.
"""

from __future__ import annotations

import os
import signal

from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

_SLOW_MACHINES = [HealthCheck.too_slow, HealthCheck.data_too_large]

settings.register_profile("default", derandomize=True, deadline=None, suppress_health_check=_SLOW_MACHINES)
settings.register_profile("search", max_examples=1000, deadline=None, suppress_health_check=_SLOW_MACHINES)
_profile = os.environ.get("HYPOTHESIS_PROFILE", "default")
settings.load_profile(_profile)

# Hypothesis tries the constants that it finds in the modules loaded so far. With that, the examples of a test depend on
# every other test, on which of them run, and on whether the package is installed. There is no setting for it.
if _profile == "default" and hasattr(providers, "_get_local_constants"):
    _none = providers._local_constants
    providers._get_local_constants = lambda: _none

# A shell without job control ignores SIGINT in what it runs in the background, and so would every program that a test
# starts and interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
