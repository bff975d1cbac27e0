"""What `cli/` promises."""
