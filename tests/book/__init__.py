"""What `book/` promises."""
