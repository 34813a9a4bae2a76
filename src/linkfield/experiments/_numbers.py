"""How the report of the experiments writes numbers."""

from __future__ import annotations

import math

from .statistics import Interval

__all__ = ["figures", "mean_and_half", "p_text"]


def figures(number: float, like: str = "") -> str:
    """Write a number: three decimals for scores, three significant digits for other quantities."""
    if not math.isfinite(number):
        return "–"
    if like in ("seconds", "objective", "energy"):
        return f"{number:,.4g}" if abs(number) < 1e4 else f"{number:,.0f}"
    if like in ("iterations", "violated", "rises", "rises_equation_26"):
        return f"{number:.1f}"
    if number and abs(number) < 0.001:
        return f"{number:.1e}"
    return f"{number:.3f}"


def mean_and_half(span: Interval, like: str = "") -> str:
    """Write "mean ± half-width", the mean alone if there is one run, a dash if none."""
    text = figures(span.mean, like)
    return f"{text} ± {figures(span.half_width, like)}" if span.n > 1 else text


def p_text(p: float) -> str:
    """Write a p value with two digits, "< 0.0001" below that."""
    if not math.isfinite(p):
        return "–"
    return "< 0.0001" if p < 1e-4 else f"{p:.2g}" if p < 0.1 else f"{p:.2f}"
