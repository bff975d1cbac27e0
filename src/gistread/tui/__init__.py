"""Screens, widgets and commands. The only place that knows Textual."""
