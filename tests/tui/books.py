"""A small hand-made book and its memory, so that tests know every word on the screen."""

from gistread.book.model import Book, Chapter, Paragraph, ParagraphKind

CHAPTERS = (
    (
        "I. The Lamp",
        (
            "Ada Brennan kept the lamp on Skerry Point for thirty years, and in all that time she "
            "let it go out once."
        ),
        "She trimmed it at dusk and again at midnight. The oil came by boat each month, in tins "
        "that smelled of "
        "iron, and the boatman, Tomas, never stayed for tea.",
        (
            "On the night of the great storm she found a boy asleep under the stair. He would not "
            "say his name."
        ),
    ),
    (
        "II. The Boy",
        "The boy ate like a dog that has been beaten, quickly and looking up. Ada called him "
        "Finch, because he was "
        "small and brown and never still.",
        "Finch learned the lamp in a week. He learned the tides in two. What he would not learn "
        "was to sleep in a "
        "bed; each morning she found him under the stair again.",
        (
            "When Tomas came with the oil he looked at the boy a long time, and for once he stayed "
            "for tea."
        ),
    ),
    (
        "III. The Dark Night",
        "In November Ada fell on the stair and broke her wrist, and that night the lamp went out.",
        "Finch relit it. It took him an hour, with wet matches and the last dry page of the log, "
        "and in that hour "
        "the Maribel passed the point in the dark and did not strike.",
        (
            "Nobody ever asked who had lit the lamp. Tomas, who had been at the wheel of the "
            "Maribel, knew."
        ),
    ),
)


def small_book(
    title: str = "The Lamp at Skerry Point", author: str = "A. Writer"
) -> Book:
    """Three chapters, nine paragraphs, three headings."""
    text = ""
    paragraphs: list[Paragraph] = []
    chapters: list[Chapter] = []
    for heading, *body in CHAPTERS:
        begin = len(text)
        for index, words in enumerate((heading, *body)):
            start = len(text)
            text += words
            kind = ParagraphKind.HEADING if index == 0 else ParagraphKind.TEXT
            paragraphs.append(Paragraph(start, len(text), kind, 1 if index == 0 else 0))
            text += "\n\n"
        chapters.append(Chapter(heading, begin, len(text)))
    text = text.rstrip()
    chapters[-1] = Chapter(chapters[-1].title, chapters[-1].start, len(text))
    return Book(text, title, tuple(paragraphs), tuple(chapters), (author,), "en")


def long_book(paragraphs: int = 120) -> Book:
    """Twenty chapters of plain sentences, each of which says which it is."""
    text = ""
    parts: list[Paragraph] = []
    chapters: list[Chapter] = []
    for number in range(paragraphs):
        if number % (paragraphs // 20) == 0:
            if chapters:
                chapters[-1] = Chapter(
                    chapters[-1].title, chapters[-1].start, len(text)
                )
            title = f"Chapter {len(chapters) + 1}"
            chapters.append(Chapter(title, len(text), 0))
            parts.append(
                Paragraph(len(text), len(text) + len(title), ParagraphKind.HEADING, 1)
            )
            text += title + "\n\n"
        words = (
            f"This is paragraph {number}. "
            + "The road went on along the river and his day was long. " * 6
        )
        parts.append(Paragraph(len(text), len(text) + len(words.strip())))
        text += words.strip() + "\n\n"
    text = text.rstrip()
    chapters[-1] = Chapter(chapters[-1].title, chapters[-1].start, len(text))
    return Book(
        text, "The Long Road", tuple(parts), tuple(chapters), ("B. Walker",), "en"
    )
