"""Plain text: layouts, headings, encodings, characters."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gistread.book.model import Book, ParagraphKind
from gistread.book.open import open_bytes
from gistread.errors import BookError
from tests.book.promises import assert_keeps_promises

_LONG = (
    "He had been walking for an hour when the rain began, and he did not stop until the bridge "
    "was in sight. "
) * 6


def read(text: str | bytes) -> Book:
    return open_bytes(text.encode() if isinstance(text, str) else text, "story.txt")


def paragraphs(book: Book) -> list[str]:
    return [book.text[p.start : p.end] for p in book.paragraphs]


def wrapped(text: str, width: int = 72) -> str:
    lines, line = [], ""
    for word in text.split():
        if len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}".strip()
    return "\n".join([*lines, line])


class TestLayouts:
    def test_hard_wrapped_lines_are_joined(self) -> None:
        book = read(f"{wrapped(_LONG)}\n\n{wrapped(_LONG)}\n")
        assert paragraphs(book) == [_LONG.strip(), _LONG.strip()]

    def test_a_word_with_a_hyphen_at_the_end_of_its_line_stays_one_word(self) -> None:
        text = (
            f"{wrapped(_LONG)}\nHe went at once, by the last train, to the house of a rich "
            "sugar-\nrefiner.\n"
        )
        assert read(text).text.endswith("a rich sugar-refiner.")

    def test_indents_separate_paragraphs_without_empty_lines(self) -> None:
        book = read("\n".join("    " + wrapped(_LONG) for _ in range(5)))
        assert paragraphs(book) == [_LONG.strip()] * 5

    def test_every_line_may_be_a_paragraph(self) -> None:
        book = read("\n".join([_LONG] * 4))
        assert paragraphs(book) == [_LONG.strip()] * 4

    def test_short_lines_that_end_in_full_stops_are_paragraphs(self) -> None:
        lines = [f"“Is it you, number {n}?” she asked." for n in range(60)]
        assert paragraphs(read("\n".join(lines))) == lines

    def test_a_list_keeps_its_lines(self) -> None:
        book = read(
            f"{wrapped(_LONG)}\n\n1. Bread\n2. Cheese\n3. A long rope\n\n{wrapped(_LONG)}"
        )
        assert book.paragraphs[1].kind is ParagraphKind.LIST
        assert paragraphs(book)[1] == "1. Bread\n2. Cheese\n3. A long rope"

    def test_a_table_keeps_its_columns(self) -> None:
        book = read(
            f"{wrapped(_LONG)}\n\nBread     2    4\nCheese    1   12\n\n{wrapped(_LONG)}"
        )
        assert book.paragraphs[1].kind is ParagraphKind.TABLE
        assert paragraphs(book)[1] == "Bread     2    4\nCheese    1   12"

    def test_a_row_of_asterisks_is_a_scene_break(self) -> None:
        book = read(f"{wrapped(_LONG)}\n\n     * * * * *\n\n{wrapped(_LONG)}")
        assert book.paragraphs[1].kind is ParagraphKind.BREAK

    def test_quotations_in_a_narrow_column_are_joined(self) -> None:
        narrow = "\n".join(
            "     " + line for line in wrapped(_LONG.lower(), 52).split("\n")
        )
        book = read(f"{wrapped(_LONG)}\n\n{narrow}\n\n{wrapped(_LONG)}")
        assert book.paragraphs[1].kind is ParagraphKind.QUOTE
        assert paragraphs(book)[1] == _LONG.lower().strip()


class TestChapters:
    @pytest.mark.parametrize(
        "headings",
        [
            ["Chapter I", "Chapter II", "Chapter III"],
            ["CHAPTER ONE", "CHAPTER TWO", "CHAPTER TWENTY-THREE"],
            ["CHAPTER 1. The Rain", "CHAPTER 2. The Bridge"],
            ["PART ONE--The Rain", "PART TWO--The Bridge"],
            ["01 The Rain", "02 The Bridge", "03 The Inn"],
            ["I", "II", "III", "IV"],
            ["1.", "2.", "3."],
            ["PROLOGUE", "Chapter 1", "EPILOGUE"],
            ["Letter 1", "Letter 2"],
            ["Erstes Kapitel", "Zweites Kapitel", "Drittes Kapitel"],
            ["Chapitre premier", "Chapitre II", "Chapitre III"],
            ["Capítulo primero", "Capítulo segundo"],
            ["Capítulo uno", "Capítulo dos", "Capítulo tres"],
            ["Глава первая", "Глава вторая", "Глава 3"],
            ["Kapitola první", "Kapitola druhá", "Kapitola třetí"],
            ["Első fejezet", "Második fejezet", "Harmadik fejezet"],
            ["BİRİNCİ BÖLÜM", "İKİNCİ BÖLÜM", "ÜÇÜNCÜ BÖLÜM"],
            ["Розділ перший", "Розділ 2", "Розділ III"],
            ["Κεφάλαιο Α΄", "Κεφάλαιο Β΄", "Κεφάλαιο ΙΒ΄"],
            ["Chương 1", "Chương II", "CHƯƠNG III"],
            ["الفصل الأول", "الفصل الثاني", "الفصل ١٢"],
            ["บทที่ 1", "บทที่ ๒", "บทที่ 3"],
            ["अध्याय 1", "अध्याय २", "तीसरा अध्याय"],
            ["第一章", "第二章", "第十二章"],
            ["# The Rain", "# The Bridge", "# The Inn"],
            ["THE RAIN", "THE BRIDGE", "THE INN"],
        ],
    )
    def test_headings_begin_chapters(self, headings: list[str]) -> None:
        book = read(
            "".join(
                f"\n\n\n{heading}\n\n\n{wrapped(_LONG)}\n\n{wrapped(_LONG)}"
                for heading in headings
            )
        )
        assert [chapter.title for chapter in book.chapters] == [
            heading.lstrip("# ") for heading in headings
        ]
        assert len(
            [p for p in book.paragraphs if p.kind is ParagraphKind.HEADING]
        ) == len(headings)

    def test_a_title_in_the_next_line_belongs_to_the_heading(self) -> None:
        book = read(
            "".join(
                f"\n\nCHAPTER {n}\n\nThe Bridge of Stone\n\n{wrapped(_LONG)}\n"
                for n in range(1, 4)
            )
        )
        assert [chapter.title for chapter in book.chapters][
            1
        ] == "CHAPTER 2. The Bridge of Stone"

    def test_chapters_stand_one_level_below_parts(self) -> None:
        body = f"\n\n{wrapped(_LONG)}\n\n"
        book = read(
            f"PART ONE\n\n\nChapter 1{body}Chapter 2{body}PART TWO\n\n\nChapter 1{body}"
        )
        assert [(c.title, c.level) for c in book.chapters] == [
            ("PART ONE", 1),
            ("Chapter 1", 2),
            ("Chapter 2", 2),
            ("PART TWO", 1),
            ("Chapter 1", 2),
        ]

    def test_a_table_of_contents_makes_no_chapters(self) -> None:
        contents = "\n\n".join(f"CHAPTER {n}. On Rain" for n in range(1, 9))
        chapters = "".join(
            f"\n\n\nCHAPTER {n}. On Rain\n\n{wrapped(_LONG)}" for n in range(1, 9)
        )
        book = read(f"A STORY\n\nCONTENTS\n\n{contents}\n\n\n{chapters}")
        assert [c.title for c in book.chapters] == [
            f"CHAPTER {n}. On Rain" for n in range(1, 9)
        ]
        assert all(c.end - c.start > 500 for c in book.chapters)

    def test_a_heading_without_an_empty_line_under_it_is_one(self) -> None:
        book = read("\n\n".join(f"CHAPTER {n}\n{wrapped(_LONG)}" for n in range(1, 4)))
        assert [c.title for c in book.chapters] == [
            "CHAPTER 1",
            "CHAPTER 2",
            "CHAPTER 3",
        ]

    def test_unnumbered_headings_are_found_by_the_contents(self) -> None:
        names = ["Economy", "Where I Lived, and What I Lived For", "Sounds", "Solitude"]
        contents = "\n".join(f" {name} .... {n}" for n, name in enumerate(names, 1))
        chapters = "".join(
            f"\n\n\n{name}\n\n{wrapped(_LONG)}\n\nSo it was.\n" for name in names
        )
        book = read(f"A STORY\n\nContents\n\n{contents}\n\n{chapters}")
        assert [c.title for c in book.chapters] == names

    def test_the_books_of_an_epic_are_its_chapters(self) -> None:
        books = "".join(
            f"\n\n\nBOOK {n}\n\nOF RAIN AND BRIDGES\n\n{wrapped(_LONG)}"
            for n in range(1, 9)
        )
        assert [(c.title, c.level) for c in read(books).chapters] == [
            (f"BOOK {n}. OF RAIN AND BRIDGES", 1) for n in range(1, 9)
        ]

    def test_acts_and_scenes(self) -> None:
        body = f"\n\n{wrapped(_LONG)}\n\n"
        book = read(
            f"ACT I\n\nSCENE I. A bridge.{body}SCENE II. An inn.{body}ACT II\n\nSCENE I. "
            f"Rain.{body}"
        )
        assert [c.level for c in book.chapters] == [1, 2, 2, 1, 2]

    def test_a_sentence_about_a_chapter_is_not_a_heading(self) -> None:
        book = read(
            f"{wrapped(_LONG)}\n\nChapter 3 of the book was lost.\n\nPart one, he said, was "
            f"over.\n\n{wrapped(_LONG)}"
        )
        assert len(book.chapters) == 1

    def test_pronouns_and_years_are_not_chapters(self) -> None:
        book = read(
            "\n\n".join(
                [wrapped(_LONG), "I", wrapped(_LONG), "1849", wrapped(_LONG), "I"]
            )
        )
        assert len(book.chapters) == 1

    def test_page_numbers_are_not_chapters(self) -> None:
        book = read("\n\n".join(f"{wrapped(_LONG * 2)}\n\n{n}" for n in range(1, 50)))
        assert len(book.chapters) == 1

    def test_a_book_without_headings_is_one_chapter(self) -> None:
        book = read(f"The Rain\n\n\n{wrapped(_LONG)}")
        assert [(c.title, c.start, c.end) for c in book.chapters] == [
            ("The Rain", 0, len(book.text))
        ]


class TestEncodings:
    @pytest.mark.parametrize(
        ("encoding", "text"),
        [
            ("utf-8", "Grüße, dit-il — déjà 「はい」"),
            ("utf-8-sig", "Grüße"),
            ("utf-16", "Grüße, 「はい」"),
            ("utf-16-le", "Plain words, and many of them. Grüße. " * 9),
            ("utf-16-be", "Plain words, and many of them. Grüße. " * 9),
            ("utf-32", "Grüße"),
            ("iso2022_jp", "吾輩は猫である。名前はまだ無い。"),
            ("iso2022_kr", "나는 고양이로소이다. 이름은 아직 없다."),
            ("hz", "我是猫。名字还没有。"),
            ("utf-16-be", "吾輩は一匹の猫である。 名前はまだ無い。 一つだけ。"),
            (
                "utf-16-le",
                "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。",
            ),
            ("utf-16-be", "话说天下大势，分久必合，合久必分。周末七国分争，并入于秦。"),
            ("utf-16-be", "Шёлдождь,ишёл,ишёл.Потомпошёлснег."),
            ("utf-16-le", "Itrained,andthensnowed."),
            (
                "cp850",
                "Er hörte die Glocken läuten und wußte, daß es für ihn zu spät war. ",
            ),
            (
                "cp437",
                "Il a déjà été très gêné par la forêt brûlée, hélas, où le garçon était allé. ",
            ),
            (
                "mac_roman",
                "Il a déjà été très gêné par la forêt brûlée, hélas, où le garçon était allé. ",
            ),
            (
                "cp1252",
                (
                    "« Où êtes-vous allé ? » dit-elle. L’été était déjà passé, hélas… et la forêt "
                    "brûlée. "
                )
                * 9,
            ),
            (
                "cp1252",
                "Er hörte die Glocken läuten und wußte, daß es für ihn zu spät war. "
                * 9,
            ),
            (
                "cp1252",
                "El niño soñó con un pingüino. ¿Qué hacía allí? Nadie lo sabía aún. "
                * 9,
            ),
            ("iso8859-1", "Die Stra\xdfe war naß, die H\xe4user grau. " * 9),
            (
                "cp1250",
                "Příliš žluťoučký kůň úpěl ďábelské ódy. Kdož ví, proč byl tak smutný. "
                * 20,
            ),
            (
                "cp1251",
                "Все счастливые семьи похожи друг на друга, каждая несчастливая семья несчастлива. "
                * 9,
            ),
        ],
    )
    def test_the_encoding_is_detected_from_the_bytes(
        self, encoding: str, text: str
    ) -> None:
        assert read(text.encode(encoding)).text == text.strip()

    def test_a_guessed_encoding_is_named(self) -> None:
        # cp437 has the same letters as cp850.
        assert read("Grüße für Käthe".encode("cp850")).notices == (
            "The text is not UTF-8; it was read as cp437 (`--encoding` names another).",
        )
        assert open_bytes("# Käthe".encode("cp1252"), "a.md").notices == (
            "The text is not UTF-8; it was read as cp1252 (`--encoding` names another).",
        )
        assert read("Grüße".encode("utf-16")).notices == ()

    def test_surrogates_in_utf8_are_joined(self) -> None:
        book = read(
            "Grüße \ud83d\ude00 und \ud83d mehr".encode("utf-8", "surrogatepass")
        )
        assert book.text == "Grüße 😀 und \ufffd mehr"
        assert len(book.notices) == 1

    def test_the_encoding_of_a_gutenberg_header_is_used(self) -> None:
        header = (
            "The Project Gutenberg EBook of X, by Y\n\nCharacter set encoding: ISO-8859-2\n\n"
            "*** START OF THIS PROJECT GUTENBERG EBOOK X ***\n\n"
        )
        assert read((header + "Łódź, źle").encode("iso8859-2")).text == "Łódź, źle"

    def test_a_few_broken_bytes_in_utf8_leave_the_rest_as_it_is(self) -> None:
        data = ("Grüße über Grüße. " * 20).encode() + b"\xff" + b" Ende"
        book = read(data)
        assert book.text.startswith("Grüße über Grüße.")
        assert book.text.count("\ufffd") == 1
        assert book.notices == (
            "1 unreadable character is shown as \ufffd (read as utf-8).",
        )


class TestCharacters:
    def test_terminal_escapes_become_harmless_text(self) -> None:
        book = read("Red \x1b[31malert\x1b[0m and \x1b]0;title\x07 and \x9b2J.")
        assert book.text == "Red alert and ]0;title and 2J."

    def test_direction_overrides_and_invisible_characters_are_removed(self) -> None:
        assert read("a\u202eb\u2066c\u200bd\u00ade\ufefff\U000e0041g").text == "abcdefg"

    def test_joiners_that_spell_words_stay(self) -> None:
        assert read("می\u200cخواهم").text == "می\u200cخواهم"

    def test_spaces_that_do_not_break_are_spaces(self) -> None:
        assert read("10\u00a0000\u202f€").text == "10 000 €"

    def test_decomposed_letters_are_composed(self) -> None:
        assert read("cafe\u0301").text == "café"

    def test_a_few_nuls_are_dropped_and_reported(self) -> None:
        book = read(
            b"Once upon\x00 a time. "
            + b"There was a king who had a son. " * 20
            + b"\x00"
        )
        assert book.text.startswith("Once upon a time.")
        assert book.notices == ("2 control characters were left out.",)

    @pytest.mark.parametrize(
        ("shown", "text"),
        [
            ("b\bbo\bol\bld", "bold"),
            ("_\bu_\bn_\bd_\be_\br", "under"),
            ("u\b_n\b_", "un"),
            ("\x1b[1;31mred\x1b[0m", "red"),
            ("\x1b]8;;http://127.0.0.1\x1b\\link\x1b]8;;\x1b\\", "link"),
        ],
    )
    def test_codes_of_terminals_and_typewriters_leave_no_letters(
        self, shown: str, text: str
    ) -> None:
        assert read(f"It is {shown}.").text == f"It is {text}."

    @pytest.mark.parametrize("end", ["\r\n", "\r"])
    def test_line_ends_of_every_system(self, end: str) -> None:
        assert paragraphs(read(f"One.{end}{end}Two.")) == ["One.", "Two."]

    def test_underscores_of_names_stay(self) -> None:
        assert read("It is _very_ good, my_file_name too, and __init__.").text == (
            "It is very good, my_file_name too, and __init__."
        )

    @given(st.text(st.characters(categories=("L", "N", "P", "S", "Z")), max_size=400))
    def test_any_text_gives_a_book_that_satisfies_the_invariants(
        self, text: str
    ) -> None:
        """With a sentence before it: signs alone are refused as no text."""
        words = f"It rained all day. {text}"
        assert_keeps_promises(open_bytes(words.encode(), "any.txt"))

    @given(st.binary(min_size=1, max_size=400))
    def test_any_bytes_give_a_book_or_a_book_error(self, data: bytes) -> None:
        with contextlib.suppress(BookError):
            assert_keeps_promises(open_bytes(data, "any"))


def test_indented_lines_stay_lines_among_paragraph_lines() -> None:
    prose = (
        "It was a long paragraph that stood on one line, as editors without hard wraps write it. "
        * 3
    )
    book = read(
        f"{prose}\n\n    A red light went across\n    As I lay in my boat.\n\n{prose}\n"
    )
    assert [p.kind for p in book.paragraphs] == [
        ParagraphKind.TEXT,
        ParagraphKind.VERSE,
        ParagraphKind.TEXT,
    ]
    assert "A red light went across\nAs I lay in my boat." in book.text


def test_a_byline_under_the_title_names_the_author() -> None:
    prose = (
        "It was a long paragraph that stood on one line, as editors without hard wraps write it. "
        * 3
    )
    assert read(f"The Gauge\n\nby Noah Peachey\n\n{prose}\n").authors == (
        "Noah Peachey",
    )
    assert read(f"The Gauge\n\n{prose}\n\nby the way\n").authors == ()


EAST_ASIAN = "　　雨下了一整天，老人坐在窗边，望着河水，想起从前的事情。\n" * 16


class TestEastAsian:
    def test_each_line_of_japanese_dialogue_is_a_paragraph(self) -> None:
        lines = [
            "　老人は河を見ていた。雨が降っていた。誰も彼に話しかけなかったし、彼も黙っていた。",
            "「舟が来る」",
            "と彼は言った。",
            "　しかし舟は来なかった。",
        ] * 9
        book = read("\n".join(lines))
        assert paragraphs(book) == [line.strip() for line in lines]
        assert book.title == "story"

    def test_japanese_wrapped_to_a_width_is_joined(self) -> None:
        text = (
            "老人は河を見ていた雨が降っていた誰も彼に話しかけなかったし彼も黙っていた"
            * 5
        )
        wrapped_lines = [text[start : start + 30] for start in range(0, len(text), 30)]
        book = read("\n\n".join("\n".join(wrapped_lines) + "。" for _ in range(4)))
        assert len(book.paragraphs) == 4

    def test_volumes_side_stories_and_epilogues_are_chapters(self) -> None:
        titles = [
            "楔子",
            "卷一",
            "第一章 起",
            "卷二 风云",
            "第二章 承",
            "番外一：回家",
            "尾声",
        ]
        book = read("".join(f"{title}\n\n{EAST_ASIAN}\n" for title in titles))
        levels = [(chapter.title, chapter.level) for chapter in book.chapters]
        assert levels == list(zip(titles, [1, 1, 2, 1, 2, 1, 1], strict=True))

    @pytest.mark.parametrize(
        "line", ["尾声渐渐远去。", "卷起袖子，他走了出去。", "第一次见面时，她笑了。"]
    )
    def test_a_sentence_is_no_heading(self, line: str) -> None:
        book = read(
            f"第一章\n\n{EAST_ASIAN}\n\n{line}\n\n{EAST_ASIAN}\n\n第二章\n\n{EAST_ASIAN}"
        )
        assert [chapter.title for chapter in book.chapters] == ["第一章", "第二章"]


AOZORA = f"""雨の夜
山田太郎

{"-" * 55}
【テキスト中に現れる記号について】

《》：ルビ
（例）河《かわ》
{"-" * 55}

［＃３字下げ］一［＃「一」は中見出し］

　東京｜駅前《えきまえ》の河《かわ》を見た。
　※［＃「てへん＋丑」、第3水準1-84-73］は字である。［＃「字」に傍点］
［＃改ページ］
［＃大見出し］終わり［＃大見出し終わり］

　舟は来なかった。
"""


class TestAozora:
    def test_marks_become_headings_readings_and_characters(self) -> None:
        book = read(AOZORA)
        assert (book.title, book.authors, book.language) == (
            "雨の夜",
            ("山田太郎",),
            "ja",
        )
        assert [chapter.title for chapter in book.chapters] == ["一", "終わり"]
        assert "東京駅前（えきまえ）の河（かわ）を見た。" in book.text
        assert "［＃" not in book.text
        assert "※" not in book.text

    def test_notes_for_typesetters_are_counted(self) -> None:
        assert any("notes for typesetters" in notice for notice in read(AOZORA).notices)

    def test_brackets_of_other_texts_stay(self) -> None:
        text = "　彼は《魔法》を使った。\n" * 9
        assert "《魔法》" in read(text).text
