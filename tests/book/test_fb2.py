"""FictionBook: chapters, notes, encodings, damage."""

import io
import zipfile

import pytest

from gistread.book.formats.fb2 import read_binary, read_fb2
from gistread.book.model import Book, ParagraphKind, Style
from gistread.book.open import open_bytes
from gistread.errors import BookError
from tests.book.paragraphs import chapters, images, links, paragraphs, styles
from tests.book.promises import assert_keeps_promises

_INFO = (
    "<description><title-info><author><first-name>Анна</first-name><middle-name>И.</middle-name>"
    "<last-name>Автор</last-name></author><author><nickname>anon</nickname></author><book-title>Дождь</book-title>"
    '<coverpage><image l:href="#cover.jpg"/></coverpage><lang>ru</lang>'
    "<translator><first-name>Не</first-name><last-name>Она</last-name></translator></title-info>"
    "<document-info><author><nickname>scanner</nickname></author><id>ABC-1</id></document-info>"
    "<publish-info><isbn>5-01-000001-1</isbn></publish-info></description>"
)


def fb2(bodies: str, *, encoding: str = "utf-8") -> bytes:
    return (
        f'<?xml version="1.0" encoding="{encoding}"?>\n<FictionBook '
        'xmlns="http://www.gribuser.ru/xml/fictionbook/2.0"'
        f' xmlns:l="http://www.w3.org/1999/xlink">{_INFO}{bodies}'
        '<binary id="cover.jpg" content-type="image/jpeg">/9j/\n4AAQ</binary></FictionBook>'
    ).encode(encoding)


def read(bodies: str) -> Book:
    book = open_bytes(fb2(bodies), "rain.fb2")
    assert_keeps_promises(book)
    return book


class TestFile:
    @pytest.mark.parametrize(
        "encoding", ["utf-8", "windows-1251", "koi8-r", "utf-16", "iso-8859-5"]
    )
    def test_a_fictionbook_is_read_in_its_declared_encoding(
        self, encoding: str
    ) -> None:
        assert open_bytes(
            fb2("<body><section><p>Шёл дождь.</p></section></body>", encoding=encoding),
            "x",
        ).text == ("Шёл дождь.")

    def test_the_metadata_is_read(self) -> None:
        book = read("<body><section><p>Шёл дождь.</p></section></body>")
        assert (book.title, book.authors, book.language) == (
            "Дождь",
            ("Анна И. Автор", "anon"),
            "ru",
        )
        assert book.cover == "cover.jpg"

    def test_a_zipped_fictionbook_is_the_same_book(self) -> None:
        data = fb2("<body><section><p>Шёл дождь.</p></section></body>")
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("rain.fb2", data)
        assert open_bytes(buffer.getvalue(), "rain.fb2.zip") == open_bytes(
            data, "rain.fb2.zip"
        )

    def test_malformed_xml_is_read_with_a_notice(self) -> None:
        book = open_bytes(
            fb2("<body><section><p>Дождь & <b>ветер</p><p>и снег</section></body>"), "x"
        )
        assert "ветер" in book.text
        assert "и снег" in book.text
        assert book.notices == (
            "The file is not well-formed XML; the readable parts were read.",
        )

    def test_a_truncated_fictionbook_is_read_to_its_end(self) -> None:
        data = fb2("<body><section>" + "<p>Шёл дождь.</p>" * 50 + "</section></body>")
        assert open_bytes(data[: len(data) // 2], "x").text.startswith("Шёл дождь.")

    @pytest.mark.parametrize(
        "what", ["&#xd800;", "&#0;", "&#x110000;", "&#99999999;", "\x01", "\ufffe"]
    )
    def test_invalid_xml_characters_are_ignored(self, what: str) -> None:
        book = open_bytes(
            fb2(f"<body><section><p>Дождь {what}<b>и</p><p>снег</p></section></body>"),
            "x",
        )
        assert_keeps_promises(book)
        assert "снег" in book.text

    @pytest.mark.parametrize("tag", ["cite", "p><emphasis", "section"])
    @pytest.mark.parametrize("depth", [120, 240, 2000])
    def test_words_nested_too_deeply_are_read(self, tag: str, depth: int) -> None:
        closing = "".join(f"</{name}>" for name in reversed(tag.split("><")))
        words = [f"w{number}" for number in range(depth)]
        nested = "".join(f"<{tag}>{word} " for word in words) + closing * depth
        assert (
            open_bytes(
                fb2(f"<body><section>{nested}</section></body>"), "x"
            ).text.split()
            == words
        )

    def test_words_lost_with_damaged_markup_are_counted(self) -> None:
        book = open_bytes(
            fb2(
                "<body><section><p>Дождь</p></section></body></FictionBook><p>и снег</p>"
            ),
            "x",
        )
        assert book.notices[1:] == ("2 words in damaged markup were left out.",)

    def test_pictures_are_found_by_name(self) -> None:
        assert read_binary(fb2("<body/>"), "cover.jpg") == b"\xff\xd8\xff\xe0\x00\x10"
        assert read_binary(fb2("<body/>"), "other.jpg") is None

    def test_a_book_without_text_is_refused(self) -> None:
        with pytest.raises(BookError, match="no readable text"):
            open_bytes(b"<FictionBook><body><section/></body></FictionBook>", "x.fb2")

    def test_no_entity_is_resolved(self) -> None:
        data = fb2("<body><section><p>It &p; rained.</p></section></body>").replace(
            b"<FictionBook",
            b'<!DOCTYPE f [<!ENTITY p SYSTEM "file:///etc/passwd">]><FictionBook',
            1,
        )
        assert "root" not in open_bytes(data, "x.fb2").text


class TestChapters:
    def test_sections_with_titles_are_chapters(self) -> None:
        book = read(
            "<body><title><p>Автор</p><p>Дождь</p></title><section><title><p>Часть I</p></title>"
            "<section><title><p>1</p><p>Утро</p></title><p>Дождь.</p></section><section><p>Без "
            "имени.</p></section>"
            "<section><title><p>2.</p><p>Вечер</p></title><p>Снег.</p></section></section></body>"
        )
        assert chapters(book) == [(1, "Часть I"), (2, "1. Утро"), (2, "2. Вечер")]
        assert [text for _, text in paragraphs(book)][:5] == [
            "Автор",
            "Дождь",
            "Часть I",
            "1",
            "Утро",
        ]

    def test_chapters_of_a_second_body_are_under_its_title(self) -> None:
        book = read(
            "<body><section><title><p>I</p></title><p>Дождь.</p></section></body>"
            "<body><title><p>Приложение</p></title><section><title><p>A</p></title><p>Снег.</p></section></body>"
        )
        assert chapters(book) == [(1, "I"), (1, "Приложение"), (2, "A")]


class TestText:
    def test_prose_verse_quotations_and_tables_are_read(self) -> None:
        book = read(
            "<body><epigraph><p>Всё "
            "течёт.</p><text-author>Гераклит</text-author></epigraph><section>"
            "<p>Шёл <emphasis>дождь</emphasis> и "
            "<strong>снег</strong>.</p><empty-line/><p>Перестал.</p>"
            "<p>И.</p><p>И.</p><p>И.</p><p>И.</p>"
            "<poem><stanza><v>Дождик,</v><v>перестань</v></stanza><stanza><v>Мы <style "
            "name='x'>поедем</style></v>"
            "<v>в Иордань</v></stanza><text-author>Народ</text-author></poem><subtitle>* * "
            "*</subtitle>"
            "<cite><p>Цитата.</p></cite><table><tr><th>а</th><td>б</td></tr></table></section></body>"
        )
        assert [
            pair for pair in paragraphs(book) if pair != (ParagraphKind.TEXT, "И.")
        ] == [
            (ParagraphKind.QUOTE, "Всё течёт."),
            (ParagraphKind.QUOTE, "Гераклит"),
            (ParagraphKind.TEXT, "Шёл дождь и снег."),
            (ParagraphKind.BREAK, "* * *"),
            (ParagraphKind.TEXT, "Перестал."),
            (ParagraphKind.VERSE, "Дождик,\nперестань"),
            (ParagraphKind.VERSE, "Мы поедем\nв Иордань"),
            (ParagraphKind.QUOTE, "Народ"),
            (ParagraphKind.BREAK, "* * *"),
            (ParagraphKind.QUOTE, "Цитата."),
            (ParagraphKind.TABLE, "а | б"),
        ]
        assert styles(book) == [(Style.EMPHASIS, "дождь"), (Style.STRONG, "снег")]

    def test_frequent_empty_lines_are_not_scene_breaks(self) -> None:
        book = read(
            f"<body><section>{'<p>Дождь.</p><empty-line/>' * 9}</section></body>"
        )
        assert {kind for kind, _ in paragraphs(book)} == {ParagraphKind.TEXT}

    def test_pictures_are_described_by_alternative_text_or_name(self) -> None:
        book = read(
            '<body><section><p>Дождь <image l:href="#a.png" alt="туча"/>.</p><image '
            'l:href="#b.png"/></section></body>'
        )
        assert images(book) == [("a.png", "[туча]"), ("b.png", "[b.png]")]

    def test_languages_of_elements_are_kept(self) -> None:
        book = read(
            '<body><section><p>Он сказал <style xml:lang="fr">pluie</style>.</p></section></body>'
        )
        assert [
            (f.language, book.text[f.start : f.end]) for f in book.language_spans
        ] == [("fr", "pluie")]


class TestNotes:
    NOTES = (
        '<body name="notes"><title><p>Примечания</p></title><section '
        'id="n1"><title><p>1</p></title><p>Первое.</p>'
        "<p>И ещё.</p></section><section "
        'id="n2"><title><p>2</p></title><p>Второе.</p></section></body>'
    )

    def test_notes_open_at_their_references(self) -> None:
        book = read(
            '<body><section id="s"><title><p>I</p></title><p>Дождь<a l:href="#n1" '
            'type="note">1</a>, снег'
            '<a l:href="#n2" type="note">[2]</a>; <a l:href="#s">выше</a>.</p></section></body>'
            + self.NOTES
        )
        assert links(book) == [
            ("[1]", "1. Первое.\n\nИ ещё."),
            ("[2]", "2. Второе."),
            ("выше", "I"),
        ]
        assert paragraphs(book)[-3:] == [
            (ParagraphKind.NOTE, "1. Первое."),
            (ParagraphKind.NOTE, "И ещё."),
            (ParagraphKind.NOTE, "2. Второе."),
        ]

    def test_notes_are_their_own_chapter(self) -> None:
        book = read(
            "<body><section><title><p>I</p></title><p>Дождь.</p></section></body>"
            + self.NOTES
        )
        assert chapters(book) == [(1, "I"), (1, "Примечания")]

    def test_notes_grouped_by_chapter_are_recognised(self) -> None:
        notes = self.NOTES.replace(
            '<section id="n1">',
            '<section><title><p>К главе I</p></title><section id="n1">',
        )
        notes = notes.replace("</body>", "</section></body>")
        book = read(
            '<body><section><p>Дождь<a l:href="#n2" type="note">2</a></p></section></body>'
            + notes
        )
        assert links(book) == [("[2]", "2. Второе.")]


class TestWords:
    @pytest.mark.parametrize(
        "name",
        ["description", "stylesheet", "binary", "empty-line", "unknown", "style"],
    )
    def test_words_are_read_whatever_their_element_is_called(self, name: str) -> None:
        page = f"<p>It rained.</p><{name}>It poured all day.</{name}>"
        book = open_bytes(
            fb2(f"<body><section>{page}</section></body></FictionBook>"), "x"
        )
        assert "It poured all day." in book.text

    def test_text_beside_the_body_is_read_in_order(self) -> None:
        inside = "<section><p>{}</p></section>"
        body = (
            f"<body>{inside.format('One')}</body>{inside.format('Two')}</FictionBook>"
        )
        assert open_bytes(fb2(body), "x").text == "One\n\nTwo"

    def test_text_after_the_title_of_a_note_is_read(self) -> None:
        notes = '<body name="notes"><section id="n"><title><p>1</p></title>Rain</section></body>'
        book = open_bytes(fb2(f"<body><p>It</p></body>{notes}</FictionBook>"), "x")
        assert "Rain" in book.text


def test_nested_verse_is_read_from_deep_in_another_program() -> None:
    nested = "<poem><stanza>" * 100 + "<v>A line</v>" + "</stanza></poem>" * 100

    def from_below(frames: int) -> Book:
        return from_below(frames - 1) if frames else read(f"<body>{nested}</body>")

    assert "A line" in from_below(150).text


def test_a_link_in_a_damaged_namespace_is_read() -> None:
    text = fb2(
        '<body><section><p>See <a l:href="#n">there</a></p></section></body>'
    ).decode()
    book = read_fb2(text.replace("/xlink", "/xl}nk").encode(), "book.fb2")
    assert "See there" in book.text
