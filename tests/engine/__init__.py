"""What `engine/` promises."""
