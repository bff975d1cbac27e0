"""What `search/` promises."""
