"""Screens, one a file: six pages, and the dialogs over them."""
