"""Small whole files of each format, to be broken.

Written here, and real ones where the checkout has them beside it.
"""

import io
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.book.data import all_epubs, text_book
from tests.book.make_epub import epub, page
from tests.book.make_pdf import Entry, LinkTo, Put, Sheet, column, pdf

_PROSE = (
    (
        "The lamp had burned all night in the tower above the sea, and nobody had come until the "
        "glass was black."
    ),
    (
        "“Down in the village they sleep,” she said; the boats lay on the sand as the storm had "
        "left "
        "them."
    ),
    (
        "It was the keeper’s daughter who first saw that the light was low, and she climbed the "
        "stairs with-\nout a word."
    ),
)
_SMALL_BYTES = 40_000
_MOST_REAL = 40


def seeds(name: str) -> list[bytes]:
    """Files of a format, the same ones in the same order every time.

    Raises KeyError for a format it does not know.
    """
    return _MAKERS[name]()


def formats() -> tuple[str, ...]:
    return tuple(_MAKERS)


def _txt() -> list[bytes]:
    plain = "\n\n".join(
        f"CHAPTER {number}\n\n" + "\n\n".join(_PROSE) for number in ("I", "II", "III")
    )
    verse = "\n".join(
        [
            "   O lamp, my lamp,",
            "   that burned for me",
            "   above the sea,",
            "   was black.",
        ]
    )
    listed = "1. oil\n2. wick\n\n* * *\n\n- glass\n- sand\n\na | b | c\nd | e | f\n"
    made = [
        plain,
        f"{plain}\n\n{verse}\n\n{listed}",
        "".join(f"  {line}\n" for line in _PROSE * 9),
        "\n".join(_PROSE * 5),
    ]
    encoded = [text.encode() for text in made]
    encoded += [
        made[1].encode("utf-16"),
        made[1].encode("cp1252", "replace"),
        ("雪国の長いトンネルを抜けると。" * 40).encode(),
    ]
    with suppress(OSError, StopIteration):
        encoded.append(text_book("Cask").read_bytes()[:12_000])
    return encoded


def _md() -> list[bytes]:
    text = f"""---
title: The Lamp
author: A. Keeper
---
# The Lamp

{_PROSE[0]} It was *very* **black**, ~~white~~ and `burned`.[^1] See [the storm](#the-storm) and <https://example.org>.

## The Storm

> {_PROSE[1]}

- oil
- wick
  1. long
  2. short

| a | b |
|---|---|
| 1 | 2 |

![The lamp](lamp.png "seen from the sea")

```python
def lamp(): return "oil"
```

[^1]: By soot.
"""
    return [text.encode(), (text * 3).encode()]


def _html() -> list[bytes]:
    body = f"""<h1 id="a">The Lamp</h1><p>{_PROSE[0]}
It was <em>very</em> <b>black</b>&mdash;&#x2014;<a href="#n1">1</a>.</p>
<h2>The Storm</h2><blockquote><p>{_PROSE[1]}</p></blockquote>
<ul><li>oil<ol><li>long</ol><li>wick</ul>
<table><tr><th>a<th>b<tr><td>1<td>2</table><figure><img src="lamp.png" alt="The lamp">
<figcaption>Seen</figcaption></figure><pre>def lamp():
    return 1</pre><p lang="fr">Il n’y a<br>pas de lampe.</p>
<aside id="n1"><p>By soot. <a href="#a">back</a></p></aside>"""
    head = '<title>The Lamp</title><meta charset="utf-8">'
    whole = (
        f'<!DOCTYPE html><html lang="en"><head>{head}</head><body>{body}</body></html>'
    )
    mhtml = "MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary=x\r\n\r\n--x\r\n"
    mhtml += f"Content-Type: text/html\r\n\r\n{whole}\r\n--x--\r\n"
    return [
        whole.encode(),
        body.encode(),
        page(body).encode(),
        mhtml.encode(),
        whole.encode("utf-16"),
    ]


def _fb2() -> list[bytes]:
    text = f"""<?xml version="1.0" encoding="utf-8"?>
<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0" xmlns:l="http://www.w3.org/1999/xlink">
<description><title-info><genre>sf</genre><author><first-name>A.</first-name><last-name>Keeper</last-name></author>
<book-title>The Lamp</book-title><lang>en</lang><coverpage>
<image l:href="#c.png"/></coverpage></title-info></description>
<body><title><p>The Lamp</p></title>
<epigraph><p>{_PROSE[1]}</p><text-author>She</text-author></epigraph>
<section id="s1"><title><p>One</p></title>
<p>{_PROSE[0]} <emphasis>very</emphasis><a l:href="#n1" type="note">1</a></p>
<poem><title><p>O</p></title><stanza><v>O lamp</v><v>my lamp</v></stanza></poem>
<empty-line/><subtitle>* * *</subtitle>
<table><tr><td>1</td><td>2</td></tr></table><image l:href="#c.png"/></section>
<section><title><p>Two</p></title><section><p>{_PROSE[2]}</p></section><section><p>{_PROSE[0]}</p></section></section></body>
<body name="notes"><section id="n1"><title><p>1</p></title><p>By soot.</p></section></body>
<binary id="c.png" content-type="image/png">iVBORw0KGgo=</binary></FictionBook>"""
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("lamp.fb2", text)
    return [
        text.encode(),
        text.replace("utf-8", "windows-1251").encode("cp1251", "replace"),
        zipped.getvalue(),
    ]


def _epub() -> list[bytes]:
    body = (
        f'<h1 id="a">One</h1><p>{_PROSE[0]} <i>very</i> <a '
        f'href="b.xhtml#n">1</a></p><hr/><p>{_PROSE[1]}</p>'
    )
    notes = (
        '<h1>Notes</h1><aside epub:type="footnote" id="n"><p>By '
        "soot.</p></aside><table><tr><td>1</td></tr></table>"
    )
    made = [
        epub(
            {
                "a.xhtml": page(body),
                "b.xhtml": page(notes),
                "c.xhtml": page(f"<p>{_PROSE[2]}</p>" * 5),
            }
        )
    ]
    real = [path for path in all_epubs() if path.stat().st_size < _SMALL_BYTES][
        :_MOST_REAL
    ]
    return made * 5 + [path.read_bytes() for path in real]


def _docx() -> list[bytes]:
    def word(inner: str, root: str = "document") -> str:
        return (
            f'<?xml version="1.0" encoding="UTF-8"?><w:{root} '
            'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/'
            '2006/main" '
            f'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">{inner}</w:{root}>'
        )

    def paragraph(text: str, style: str = "", run: str = "") -> str:
        properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
        return (
            f"<w:p>{properties}<w:r><w:rPr>{run}</w:rPr><w:t "
            f"xml:space='preserve'>{text}</w:t></w:r></w:p>"
        )

    note = '<w:p><w:r><w:t>Soot</w:t><w:footnoteReference w:id="1"/></w:r></w:p>'
    cells = f"<w:tc>{paragraph('1')}</w:tc><w:tc>{paragraph('2')}</w:tc>"
    table = f"<w:tbl><w:tr>{cells}</w:tr></w:tbl>"
    link = f'<w:hyperlink r:id="r1">{paragraph("x")[5:-6]}</w:hyperlink>'
    body = (
        paragraph("The Lamp", "Title")
        + paragraph("One", "Heading1")
        + paragraph(_PROSE[0], run="<w:i/><w:b/>")
        + note
        + table
        + f"<w:p>{link}</w:p>"
        + paragraph("Two", "Heading1")
        + paragraph(_PROSE[1])
    )
    files = {
        "[Content_Types].xml": "<Types "
        'xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default '
        'Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" '
        "ContentType="
        '"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
        "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
        "<Relationship"
        ' Id="r0" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" '
        'Target="word/document.xml"/></Relationships>',
        "word/document.xml": word(f"<w:body>{body}</w:body>"),
        "word/_rels/document.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
        'relationships"><Relationship Id="r1" '
        'Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/'
        'hyperlink" Target="https://example.org" TargetMode="External"/></Relationships>',
        "word/styles.xml": word(
            '<w:style w:type="paragraph" w:styleId="Heading1">'
            '<w:name w:val="heading 1"/></w:style>',
            "styles",
        ),
        "word/footnotes.xml": word(
            f'<w:footnote w:id="1">{paragraph("By soot.")}</w:footnote>', "footnotes"
        ),
        "docProps/core.xml": "<cp:coreProperties "
        'xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/'
        'core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        "<dc:title>The Lamp</dc:title></cp:coreProperties>",
    }
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return [made.getvalue()]


def _pdf() -> list[bytes]:
    text = "\n".join(_PROSE).replace("-\n", "-")
    foot = [
        Put(50, 60, "1", 5),
        Put(54, 57, "By soot, as the parish register says in its margin.", 8),
    ]
    puts = [
        Put(100, 570, "The Lamp", 16, "bold"),
        *column(text),
        Put(200, 505, "1", 6),
        *foot,
        Put(190, 20, "1"),
    ]
    links = [
        LinkTo(50, 500, 90, 520, page=1, y=500),
        LinkTo(100, 500, 120, 520, address="https://example.org"),
    ]
    second = [
        *column(text, x=30, width=150),
        *column(text, x=215, width=150),
        Put(20, 200, "draft", turned=True),
    ]
    sheets = [
        Sheet(puts, links),
        Sheet(second, rotate=90),
        Sheet(column(text, top=400), picture=True),
    ]
    outline = [Entry("The Lamp", 0, 580.0), Entry("Two", 1, 560.0)]
    return [
        pdf(
            sheets,
            outline=outline,
            metadata={"Title": "The Lamp", "Author": "A. Keeper"},
            language="en",
        ),
        pdf([Sheet(puts)]),
    ]


_MAKERS: dict[str, Callable[[], list[bytes]]] = {
    "txt": _txt,
    "md": _md,
    "html": _html,
    "fb2": _fb2,
    "epub": _epub,
    "docx": _docx,
    "pdf": _pdf,
}


def suffix(name: str, data: bytes) -> str:
    """What a file of a format is called; the name matters where the content leaves it open."""
    return str(
        Path("book").with_suffix(
            ".fb2.zip" if name == "fb2" and data[:2] == b"PK" else f".{name}"
        )
    )
