"""Small parameter objects that scikit-learn's ``clone`` and ``set_params`` understand."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self

__all__ = ["Parameters"]


class Parameters:
    """Mixin for dataclasses: ``get_params`` and ``set_params`` as scikit-learn expects them.

    It lets an object that stands in an estimator's parameter be searched by name, for example
    ``inference__max_sweeps``, without the mathematical rooms importing scikit-learn.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the object's parameters by name (``deep`` is accepted for compatibility)."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.init}  # type: ignore[arg-type]

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; an unknown name is an error."""
        known = self.get_params()
        for name, value in params.items():
            if name not in known:
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; it has {sorted(known)}"
                )
            setattr(self, name, value)
        return self
