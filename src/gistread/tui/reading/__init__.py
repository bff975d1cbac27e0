"""The reading screen's controllers, one for each concern. `controllers.py` puts them together."""
