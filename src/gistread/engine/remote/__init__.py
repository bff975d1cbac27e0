"""The engine behind a URL: `client.py` is it, `discovery.py` finds out what answers, `connection.py` speaks HTTP."""
