"""What `tui/` promises."""
