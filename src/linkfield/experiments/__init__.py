"""The papers' experiments: their data, protocols and reports."""

from .synthetic import four_gaussians

__all__ = ["four_gaussians"]
