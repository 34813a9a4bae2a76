"""The papers' experiments: their data, protocols, reports; and a test of your own constraints."""

from .helpful import ConstraintsHelp, constraints_help
from .synthetic import four_gaussians

__all__ = ["ConstraintsHelp", "constraints_help", "four_gaussians"]
