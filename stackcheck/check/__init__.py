"""An inventory held against the catalog: findings, ranked, with proved remedies. Pure: values in, values out."""

from stackcheck.check.verdict import check

__all__ = ["check"]
