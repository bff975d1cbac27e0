"""Every reader, baselines included, except `dense`: it needs an embedding model."""

from research.evaluation import readers

METHODS = {name: method for name, method in readers.METHODS.items() if name != "dense"}
