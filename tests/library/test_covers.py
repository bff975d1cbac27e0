"""The covers of books' files."""

from pathlib import Path

from gistread.library.metadata import read_cover
from tests.book.make_pdf import Sheet, column, pdf


def test_the_first_page_of_a_pdf_is_its_cover_unless_it_is_text_on_paper(tmp_path: Path) -> None:
    text = Sheet(column("\n".join(["The bell rang once in the fog."] * 40)))
    for name, sheets, begins in (
        ("pictured", [Sheet(picture=True), text], b"P6 320 480 255\n"),
        ("text", [text, Sheet(picture=True)], b""),
    ):
        path = tmp_path / f"{name}.pdf"
        path.write_bytes(pdf(sheets))
        assert read_cover(path)[:15] == begins
    path.write_bytes(path.read_bytes()[:300])
    assert read_cover(path) == b""
