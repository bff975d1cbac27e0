"""What `sample/` promises."""
