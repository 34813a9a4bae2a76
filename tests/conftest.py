"""Settings that all tests share."""

from __future__ import annotations

from hypothesis import settings

# Compiled kernels make the first example slow, so there is no deadline; the same examples every
# time, so that a failure can be seen again.
settings.register_profile("linkfield", deadline=None, derandomize=True, max_examples=15)
settings.load_profile("linkfield")
