"""Modules that are not needed at the start are imported later."""

import subprocess
import sys


def test_slow_modules_are_imported_when_needed() -> None:
    program = """
import sys
import gistread.tui.app
import gistread.cli.ask, gistread.session.session
assert not {"tiktoken", "llama_cpp", "numpy", "gistread.syncing.client"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
