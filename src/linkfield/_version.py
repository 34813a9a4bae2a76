"""The version of linkfield, kept in this one place."""

__version__ = "0.1.0.dev0"
