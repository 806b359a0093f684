"""Matrices as an immutable catalog: loading, overlays, queries, the rule evaluator, lint."""

from stackcheck.catalog.catalog import Catalog
from stackcheck.catalog.files import matrices_root, open_catalog

__all__ = ["Catalog", "matrices_root", "open_catalog"]
