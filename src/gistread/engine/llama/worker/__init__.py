"""The process that owns the model: the only package that imports llama_cpp.

llama.cpp can crash, block and write to the terminal; none of that reaches the other process.
`scheduler.py` is its core.
"""
