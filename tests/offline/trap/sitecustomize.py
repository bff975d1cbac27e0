"""Records the use of sockets by every Python process that has this folder on its path.

Each call, and each import of a network client, appends a line to the file that `GISTREAD_TRAP`
names: a keyword, the process, the call and its arguments. Audit hooks see every call that the
interpreter makes; they miss what a C library does itself (`test_system_calls.py` sees it).
"""

import os
import sys

_CLIENTS = {
    "requests",
    "urllib3",
    "httpx",
    "httpx2",
    "aiohttp",
    "websockets",
    "huggingface_hub",
    "openai",
    "sentry_sdk",
}
_FILE = os.environ.get("GISTREAD_TRAP", "")
_UNIX = 1
"""Of a pair within one process, as asyncio has it to wake itself."""
_NAMES = ("socket.gethostname", "socket.sethostname")  # Of this machine


def _tell(*words: object) -> None:
    file = os.open(_FILE, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        os.write(file, (" ".join(map(str, words)) + "\n").encode())
    finally:
        os.close(file)


def _hear(event: str, arguments: tuple[object, ...]) -> None:
    if event == "import":
        name = str(arguments[0])
        if name.partition(".")[0] in _CLIENTS:
            _tell("import", os.getpid(), name)
    elif event == "socket.__new__":
        if arguments[1] != _UNIX:
            _tell("socket", os.getpid(), event, arguments[1:])
    elif event.startswith("socket.") and event not in _NAMES:
        _tell("socket", os.getpid(), event, arguments[1:])


if _FILE:
    _tell("began", os.getpid(), *sys.orig_argv[1:])
    sys.addaudithook(_hear)
