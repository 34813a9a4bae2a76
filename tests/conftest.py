"""Settings that all tests share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

# Compiled kernels make the first example slow, so there is no deadline; the same examples every
# time, so that a failure can be seen again.
settings.register_profile("linkfield", deadline=None, derandomize=True, max_examples=15)
settings.load_profile("linkfield")


@pytest.fixture(scope="module")
def long_passes() -> Iterator[None]:
    """Take every pass for one that is worth shortening: with bounds, and in single precision."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("linkfield.engine.assignment.MANY", 0)
        yield
