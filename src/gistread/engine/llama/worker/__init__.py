"""The process that owns the model: the only package that imports llama_cpp (design D2).

`scheduler.py` is its core.
"""
