"""Clearway: the coordination layer for a fleet of coding agents on one repository.

Importing this package costs nothing: it holds the version and loads no other module.
"""

__version__ = "0.1.0"
