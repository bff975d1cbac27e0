"""What `memory/` promises."""
