"""Modules that are not needed at the start are imported later."""

import subprocess
import sys


def test_slow_modules_and_the_work_of_readers_are_imported_when_needed() -> None:
    program = """
import sys
import gistread.tui.app
late = {"walk", "paths", "team", "notebook", "passages"}
assert not {f"gistread.tui.work.{name}" for name in late} & set(sys.modules)
import gistread.cli.ask, gistread.session.session
assert not {"tiktoken", "llama_cpp", "rank_bm25", "numpy"} & set(sys.modules)
from gistread.readers.events import Branched, LookedUp, Noted, PartRead, Unfit
from gistread.tui.work.whole import Work
assert not Work().tells(Unfit(3)) and not Work().after(Noted("a", 5, 5))
walk = Work().after(Branched(()))
assert walk and walk.tells(Unfit(3)) and walk.tells(LookedUp(3, 1, "", 0))
notebook = Work().after(Noted("a note", 5, 9))
assert notebook and notebook.tells(Noted("another", 9, 12)) and not notebook.tells(Unfit(3))
assert "gistread.tui.work.team" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)
