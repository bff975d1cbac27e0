"""The process that owns the model: the only package that imports llama_cpp (design D2).

`__main__.py` is the process with its pipe and two threads. `loading.py` loads a GGUF file, `scheduler.py` decides what
is evaluated next, `slots.py` assigns requests to sequences of the KV cache, `context.py` evaluates batches,
`sampling.py` picks the next token. `weights.py` is the vocabulary, `template.py`
the chat template, `requests.py` the state of a request and its text.
"""
