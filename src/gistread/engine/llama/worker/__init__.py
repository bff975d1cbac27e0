"""The process that owns the model. The only place that imports llama_cpp (design D2).

From the outside in: `__main__.py` is the process, its pipe and its two threads; `loading.py` makes a model of a
file; `scheduler.py` decides what is evaluated next and for whom; `slots.py` gives requests their sequences in a
KV cache; `context.py` evaluates batches in one; `sampling.py` decides the next token; `streaming.py` makes text
of tokens; `weights.py` is the vocabulary, `template.py` the chat template. `requests.py` is the data.
"""
