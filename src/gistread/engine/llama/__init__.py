"""The local engine: `worker/` is the process that owns the model, `client.py` speaks to it, `gguf.py` reads headers."""
