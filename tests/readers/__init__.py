"""What `readers/` promises."""
