"""What the reading screen is made of. The widget for long text has a room of its own, `tui/text/`."""
