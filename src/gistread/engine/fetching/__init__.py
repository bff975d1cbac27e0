"""Downloads of model files, only on request."""
