"""Finds out which architectures the installed llama.cpp supports, without loading it.

There is no function for this, but their names are C strings in the library file. If that cannot be read, every
architecture counts as supported and loading reports the error.
"""

import importlib.util
from functools import cache
from pathlib import Path

_LIBRARIES = ("libllama.so", "libllama.dylib")
_ALWAYS_KNOWN = b"llama\0"


@cache
def is_known(architecture: str) -> bool:
    """Whether the installed llama.cpp supports this GGUF architecture; True if that cannot be determined."""
    try:
        library = _library().read_bytes()
    except (OSError, ImportError, ValueError):
        return True
    # A linker may merge a string into the end of a longer one: only the terminator is certain.
    return architecture.encode() + b"\0" in library or _ALWAYS_KNOWN not in library


def _library() -> Path:
    """Raises FileNotFoundError, ImportError, ValueError if llama-cpp-python is not installed in the usual layout."""
    package = importlib.util.find_spec("llama_cpp")
    if package is None or package.origin is None:
        raise FileNotFoundError
    folder = Path(package.origin).parent / "lib"
    return next((path for name in _LIBRARIES if (path := folder / name).exists()), folder / _LIBRARIES[0])
