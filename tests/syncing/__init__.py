"""Progress sync."""
