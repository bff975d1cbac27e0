"""What the book says about an entity so far: known facts and, on request, those the model finds in more pages."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from gistread.engine.protocol import Priority
from gistread.errors import GistreadError
from gistread.memory import facts
from gistread.memory.model import GistMemory
from gistread.people.index import Index
from gistread.people.joining import Entity
from gistread.readers.claims import claims, identities, pages_without_facts
from gistread.tui.screens.card import CardFacts

if TYPE_CHECKING:
    from gistread.session.session import Session

_AT_ONCE = 8  # Pages; asking again goes on


async def gather_facts(
    entity: Entity, view: Index, memory: GistMemory | None, session: "Session | None" = None
) -> AsyncGenerator[CardFacts, None]:
    """Facts up to the end of the view. With a session, its model first looks for more in a few more pages."""
    known = await asyncio.to_thread(memory.upto, len(view.book.text)) if memory is not None else None

    def collect(note: str = "") -> CardFacts:
        found = tuple(claims(entity, known)) if known is not None else ()
        return CardFacts(found, tuple(identities(entity, view, found)), note)

    yield await asyncio.to_thread(collect)
    if session is not None:
        async with aclosing(_look_for_facts(entity, known, memory, session)) as notes:
            async for note in notes:
                yield await asyncio.to_thread(collect, note)


async def _look_for_facts(
    entity: Entity, known: GistMemory | None, memory: GistMemory | None, session: "Session"
) -> AsyncGenerator[str, None]:
    """Let the model look for facts in a few more pages, yielding its progress. `known`: the memory up to a place."""
    if memory is None or known is None or not memory.entries:
        yield "Facts come from pages that a model has read: none so far."
        return
    if not session.has_model:
        yield "No model is chosen to look for facts."
        return
    try:
        if session.info is None:
            yield "Loading the model …"
        engine = await session.load_model()
        check = await session.check_result(engine.info)
        if check is not None and not check.is_reliable:
            yield f"{engine.info.name} invents facts; these are the book's own sentences."
            return
        pages = await asyncio.to_thread(pages_without_facts, entity, known)
        pages = [one for one in pages if memory.entry(one.page.number).page.end == one.page.end]  # Whole ones
        wanted = pages[:_AT_ONCE]
        if wanted:
            yield f"Looking at {len(wanted)} of {len(pages)} pages …"
            looking = facts.build(replace(known, entries=wanted), engine, Priority.INTERACTIVE)
            async with aclosing(looking) as steps:
                async for step in steps:
                    yield f"Looked at {step.done} of {len(wanted)} pages …"
    except GistreadError as error:
        yield str(error)
        return
    left = len(pages) - len(wanted)
    yield f"{left} more to look at." if left else "All pages that were read have been looked at."
