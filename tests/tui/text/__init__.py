"""What the widget for long text promises."""
