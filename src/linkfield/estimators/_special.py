"""Special cases of an estimator in one line: parameters fixed, defaults changed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

__all__ = ["special_case"]

C = TypeVar("C", bound=type)


def special_case(fixed: Mapping[str, Any], **defaults: Any) -> Callable[[C], C]:
    """Give a subclass the constructor of its base without some parameters.

    ``fixed`` parameters leave the signature and always have the value given here; ``defaults``
    change what the remaining ones are if nothing is said. scikit-learn reads parameters from the
    signature, so ``get_params``, ``clone`` and searches see exactly those that are left.
    """

    def decorate(cls: C) -> C:
        build = cls.__mro__[1].__init__  # type: ignore[misc]
        inherited = inspect.signature(build)
        left = [
            p.replace(default=defaults.get(p.name, p.default))
            for p in inherited.parameters.values()
            if p.name not in fixed
        ]
        signature = inherited.replace(parameters=left)

        def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
            try:
                given = signature.bind(self, *args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{cls.__name__}: {error}") from None
            given.apply_defaults()
            build(**given.arguments, **fixed)

        initialise.__signature__ = signature  # type: ignore[attr-defined]
        initialise.__name__ = "__init__"
        initialise.__qualname__ = f"{cls.__qualname__}.__init__"
        cls.__init__ = initialise  # type: ignore[misc]
        return cls

    return decorate
