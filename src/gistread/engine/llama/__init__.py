"""The local engine.

`client.py` is the engine, `worker/` the process that runs the model, `gguf.py` reads headers.
"""
