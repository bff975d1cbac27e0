"""A reader at work, as lines that one can follow: a module for each thing that readers do. None knows a widget."""
