"""Resolve, check and probe the software stack of GPU nodes that train and serve foundation models."""

__version__ = "0.1.0"
