"""Compiled loops over rows. Importing them loads numba: do it where they are called."""
