"""The controllers of one open book, and what reaches them: clicks and session events."""

from dataclasses import dataclass

from gistread.tui.layout import Pane
from gistread.tui.marking.controller import MarkController
from gistread.tui.reading.context import ReadingContext
from gistread.tui.reading.count_keys import CountKeys
from gistread.tui.reading.image_viewer import ImageViewer
from gistread.tui.reading.links import LinkController
from gistread.tui.reading.memory_pages import MemoryPages
from gistread.tui.reading.memory_picker import MemoryPicker
from gistread.tui.reading.memory_zoom import MemoryZoom
from gistread.tui.reading.navigation import GoTo, Navigation
from gistread.tui.reading.pane_switcher import PaneSwitcher
from gistread.tui.reading.questions import QuestionController
from gistread.tui.reading.read_aloud import ReadAloud
from gistread.tui.reading.search import SearchController
from gistread.tui.reading.session_listener import SessionListener
from gistread.tui.reading.source_follower import SourceFollower
from gistread.tui.reading.typography import Typography
from gistread.tui.text import Clicked


@dataclass(frozen=True, slots=True)
class Controllers:
    """A command's action names one of these fields: `run("search.next_hit")`."""

    context: ReadingContext
    panes: PaneSwitcher
    navigation: Navigation
    go_to: GoTo
    search: SearchController
    links: LinkController
    images: ImageViewer
    marks: MarkController
    speech: ReadAloud
    typography: Typography
    pages: MemoryPages
    zoom: MemoryZoom
    memories: MemoryPicker
    sources: SourceFollower
    questions: QuestionController
    count_keys: CountKeys
    session: SessionListener

    def clicked(self, event: Clicked) -> None:
        """Give a click to the first controller that recognises what was clicked, and to no other."""
        handlers = {
            Pane.BOOK: (self.links.clicked, self.marks.clicked, self.images.clicked),
            Pane.MEMORY: (self.pages.clicked, self.zoom.clicked),
        }
        any(handle(event) for handle in handlers.get(event.control.id, ()))  # type: ignore[call-overload]


def make_controllers(context: ReadingContext) -> Controllers:
    navigation = Navigation(context)
    pages = MemoryPages(context, navigation)
    zoom = MemoryZoom(context)
    sources = SourceFollower(context, navigation, pages)
    questions = QuestionController(context, pages)
    return Controllers(
        context=context,
        panes=context.panes,
        navigation=navigation,
        go_to=GoTo(context, navigation),
        search=SearchController(context, navigation),
        links=LinkController(context, navigation),
        images=ImageViewer(context, navigation),
        marks=MarkController(context, navigation),
        speech=ReadAloud(context),
        typography=Typography(context),
        pages=pages,
        zoom=zoom,
        memories=MemoryPicker(context),
        sources=sources,
        questions=questions,
        count_keys=CountKeys(context, sources),
        session=SessionListener(context, questions, zoom, pages),
    )
