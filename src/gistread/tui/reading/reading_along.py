"""Lets the model read along, or pauses it; remembered for each book."""

from typing import TYPE_CHECKING

from gistread.tui.reading.context import ReadingContext

if TYPE_CHECKING:
    from gistread.session.session import Session


class ReadingAlong:
    def __init__(self, context: ReadingContext) -> None:
        self._context = context

    async def toggle(self) -> None:
        session = self._session_with_model()
        if session is None:
            return
        along = not session.busy
        if along:
            self._context.model_place.set(self._context.place)
            session.resume()
        else:
            await session.pause()
        self._keep(session, along)

    def here(self, alone: bool = False) -> None:
        """Read the current chapter first, or only that with `alone`."""
        session = self._session_with_model()
        if session is None:
            return
        if session.memory is not None and session.memory.complete:
            self._context.warn("The whole book has been read.")
        else:
            self._context.model_place.set(self._context.place)
            session.read_here(alone=alone)
            self._keep(session, True)

    async def use_model(self, model: str) -> None:
        """Let this model read the book from now on, or none if empty."""
        if self._context.session is not None:
            await self._context.session.use_model(model)
            self._keep(self._context.session, bool(model))

    def _session_with_model(self) -> "Session | None":
        """The session, if a model can read; otherwise offer the choice of one."""
        session = self._context.session
        if session is not None and not session.has_model:
            self._context.screen.app.call_later(self._context.screen.app.run_action, "choose_model")
            return None
        return session

    def _keep(self, session: "Session", along: bool) -> None:
        self._context.user_data.save_reading_along(session.reading_model, along)
