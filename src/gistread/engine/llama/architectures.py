"""Which architectures the installed llama.cpp knows, found out without loading it.

Their names stand in the library's file as C strings, and there is no function to ask for them before a model is
loaded. So they are looked for in the file. Where that cannot be done every architecture counts as known, and loading
says what is wrong.
"""

import importlib.util
from functools import cache
from pathlib import Path

_LIBRARIES = ("libllama.so", "libllama.dylib", "llama.dll")
_ALWAYS_KNOWN = b"llama\0"


@cache
def is_known(architecture: str) -> bool:
    """Whether the installed llama.cpp has this architecture, as GGUF files name it; True where that cannot be told."""
    try:
        library = _library().read_bytes()
    except (OSError, ImportError, ValueError):
        return True
    # A linker lets a string be the end of a longer one: the name need not begin where a string does.
    return architecture.encode() + b"\0" in library or _ALWAYS_KNOWN not in library


def _library() -> Path:
    """Raises FileNotFoundError, ImportError, ValueError where llama-cpp-python is not installed as it usually is."""
    package = importlib.util.find_spec("llama_cpp")
    if package is None or package.origin is None:
        raise FileNotFoundError
    folder = Path(package.origin).parent / "lib"
    return next((path for name in _LIBRARIES if (path := folder / name).exists()), folder / _LIBRARIES[0])
