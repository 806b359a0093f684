"""Widgets, one a file; none of them knows the library's logic."""
