"""Widgets of the reading screen and the library. Long text is in `tui/text/`."""
