"""What `marking/` promises."""
