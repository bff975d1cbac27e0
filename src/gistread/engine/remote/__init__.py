"""Models on servers.

`client.py` is the engine, `discovery.py` identifies the server, `connection.py` speaks HTTP.
"""
