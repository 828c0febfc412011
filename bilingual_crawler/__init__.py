"""A focused crawler that finds parallel documents early."""

__version__ = "0.1.0"
