"""Files made to hurt: under 1 MB each, and large, deep or endless for whoever reads them.

Each format has its own traps; the same index gives the same file.
"""

import io
import zipfile
import zlib
from collections.abc import Callable
from random import Random

from tests.book.make_epub import page
from tests.fuzzing.run import Cases

MOST_BYTES = 1_000_000
MEMORY_BYTES = 500 * 1024 * 1024
HANG_S = 10.0

_WORDS = (
    "lamp",
    "oil",
    "é",
    "雪国",
    "маяк",
    "\u202e",
    "&amp;",
    "*",
    "_",
    "|",
    "`",
    "[1]",
    "\x00",
    "\ufffe",
)
_NUMBERS = (
    "-1",
    "0",
    "1e9",
    "99999999999999999999",
    "NaN",
    "0x7fffffff",
    "2147483648",
    "۱",
    "",
)


class HostileCases(Cases):
    """Hostile files of one format."""

    def __init__(self, name: str, seed: int, hang_s: float = HANG_S) -> None:
        super().__init__(name, seed)
        self._trap_seed = seed
        self._hang_s = hang_s

    @property
    def hang_s(self) -> float:
        return self._hang_s

    @property
    def memory_bytes(self) -> int:
        return MEMORY_BYTES

    def file(self, index: int) -> bytes:
        random = Random(f"hostile {self.name}:{self._trap_seed}:{index}")
        return _TRAPS[self.name](random)[:MOST_BYTES]


def _many(random: Random, most: int = 400_000) -> int:
    """A count, more often large than small."""
    return round(10 ** random.uniform(2.5, 6)) % most + 1


def _text(random: Random, words: int = 12) -> str:
    return " ".join(random.choice(_WORDS) for _ in range(random.randint(1, words)))


def _nested(
    random: Random, opening: str, closing: str, inner: str, most: int = 200_000
) -> str:
    depth = min(_many(random, most), MOST_BYTES // max(1, len(opening) + len(closing)))
    return opening * depth + inner + (closing * depth if random.random() < 0.8 else "")


def _repeat(random: Random, piece: str) -> str:
    return piece * min(_many(random, 1_000_000), MOST_BYTES // max(1, len(piece)))


# Front matter


def _yaml_aliases(random: Random) -> str:
    levels, width = random.randint(3, 40), random.randint(2, 12)
    lines = ["a0: &a0 [lol, lol]"]
    lines += [
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * width)}]" for n in range(1, levels)
    ]
    return (
        "---\n"
        + "\n".join(lines)
        + f"\ntitle: *a{levels - 1}\nauthor: [*a{levels - 1}]\n---\n\nText.\n"
    )


def _front_matter(random: Random) -> str:
    match random.randrange(9):
        case 0:
            return _yaml_aliases(random)
        case 7:
            return f"+++\ntitle = {'9' * random.randint(1, 15_000)}\n+++\n\nText.\n"
        case 8:
            code = random.choice(("FFFFFFFF", "00000000", "0000D800", "0010FFFF"))
            return f'---\ntitle: "\\U{code}"\n---\n\nText.\n'
        case 1:
            return (
                f"---\ntitle: {_nested(random, '[', ']', 'x', 18_000)}\n---\n\nText.\n"
            )
        case 2:
            return (
                f"+++\ntitle = {_nested(random, '[', ']', '1', 9_000)}\n+++\n\nText.\n"
            )
        case 3:
            return (
                "+++\n"
                + _repeat(random, "[a.b.c.d.e.f.g]\n")[:19_000]
                + "+++\n\nText.\n"
            )
        case 4:
            return f"---\nauthor: {_nested(random, '{name: ', '}', 'x', 2_000)}\n---\n\nText.\n"
        case 5:
            return (
                "---\n&a a: *a\n? *a\n: <<: *a\ntitle: !!python/object/apply:os.system "
                "[true]\n---\n\nText.\n"
            )
        case _:
            return f"---\n{_repeat(random, '- ')[:19_000]}\n---\n" + _text(random)


# Plain text and Markdown


def _txt(random: Random) -> bytes:
    match random.randrange(8):
        case 0:
            text = _repeat(random, "a\n\n")
        case 1:
            text = _repeat(random, "CHAPTER I\n\n")
        case 2:
            text = _repeat(
                random,
                random.choice((" ", "\n", "\t", "_", "—", "*", "a-", "\u200b", ". ")),
            )
        case 3:
            text = _repeat(random, "a | b | c\n")
        case 4:
            text = "word " * 10 + _repeat(random, "x")
        case 5:
            return bytes(random.randrange(256) for _ in range(2_000)) * random.randint(
                1, 400
            )
        case 6:
            halves = (
                ("The lamp. " * 40).encode("utf-16"),
                ("Лампа. " * 400).encode("cp1251"),
                b"\xff\xfe\x00",
            )
            return b"".join(random.choices(halves, k=9))
        case _:
            text = _front_matter(random)
    return text.encode("utf-8", "surrogatepass")


def _markdown(random: Random) -> bytes:
    inner = _text(random)
    traps: list[Callable[[], str]] = [
        lambda: _front_matter(random),
        lambda: (
            "|"
            + _repeat(random, "a|")
            + "\n|"
            + _repeat(random, "-|")
            + "\n"
            + _repeat(random, "|a|b|c|\n")
        ),
        lambda: "|a|b|\n|-|-|\n" + _repeat(random, "|1|2|\n"),
        lambda: _table(random),
        lambda: _nested(random, "> ", "", inner),
        lambda: _nested(random, "- ", "", inner),
        lambda: _nested(random, "[", "]", inner),
        lambda: _nested(random, "![", "](x)", inner),
        lambda: _nested(random, "*", "*", inner),
        lambda: _repeat(random, "a **b "),
        lambda: _repeat(
            random, random.choice(("<", "![", "[^a]", "[a](", "<http://a"))
        ),
        lambda: _repeat(random, "<b>"),
        lambda: _repeat(random, "`" * random.randint(1, 30) + "a"),
        lambda: _repeat(random, "[^1]: [^1]\n\n") + "[^1]",
        lambda: "".join(
            f"[^{n}]\n\n[^{n}]: note [^{n + 1}]\n\n"
            for n in range(_many(random, 20_000))
        ),
        lambda: _repeat(random, "[a]: b\n") + _repeat(random, "[a] "),
        lambda: _repeat(random, "a\n\n"),
        lambda: _repeat(random, "# a\n"),
        lambda: _repeat(random, "- a\n"),
        lambda: "".join("  " * n + "- a\n" for n in range(random.randint(10, 900))),
        lambda: _repeat(random, "a\n: b\n\n"),
        lambda: _repeat(random, "&amp;") + _repeat(random, "&x;"),
        lambda: _repeat(random, "~~a~"),
        lambda: "<div>\n\n" * min(_many(random), 100_000) + inner,
    ]
    return random.choice(traps)().encode("utf-8", "replace")


def _table(random: Random) -> str:
    columns = random.randint(2, 3_000)
    rows = min(_many(random), MOST_BYTES // 4)
    return "|" + "a|" * columns + "\n|" + "-|" * columns + "\n" + "|\n" * rows


# HTML, FB2, EPUB, DOCX


def _body(random: Random) -> str:
    """The inside of an XHTML page."""
    inner = _text(random).replace("\x00", "").replace("\ufffe", "")
    tag = random.choice(
        (
            "p",
            "div",
            "b",
            "i",
            "span",
            "ul",
            "table",
            "blockquote",
            "sub",
            "font",
            "ruby",
            "q",
        )
    )
    traps: list[Callable[[], str]] = [
        lambda: _nested(random, f"<{tag}>", f"</{tag}>", inner),
        lambda: _nested(random, "<ul><li>", "</li></ul>", inner),
        lambda: _nested(random, "<table><tr><td>", "</td></tr></table>", inner),
        lambda: _repeat(random, "<p>a</p>"),
        lambda: _repeat(random, "<p/>"),
        lambda: _repeat(random, "<h1>a</h1>"),
        lambda: _repeat(random, "<br/>") + inner,
        lambda: "<table>" + _repeat(random, "<tr><td>1</td></tr>") + "</table>",
        lambda: "<table><tr>" + _repeat(random, "<td>1</td>") + "</tr></table>",
        lambda: (
            f'<table><tr><td colspan="{random.choice(_NUMBERS)}" '
            f'rowspan="{random.choice(_NUMBERS)}">1</td></tr>'
            "</table>"
        ),
        lambda: (
            f'<ol start="{random.choice(_NUMBERS)}">'
            + _repeat(random, "<li>a</li>")
            + "</ol>"
        ),
        lambda: "".join(
            f'<p id="n{n}"><a href="#n{n + 1}">{n}</a></p>'
            for n in range(_many(random, 15_000))
        ),
        lambda: _repeat(random, '<p><a href="#x">1</a></p>') + '<p id="x">a</p>',
        lambda: _repeat(random, '<img src="a.png" alt="a"/>'),
        lambda: "<p>" + _repeat(random, "&#x61;&nbsp;&eacute;") + "</p>",
        lambda: "<p>" + _repeat(random, "a&") + "</p>",
        lambda: "<p " + _repeat(random, 'a="1" ') + ">x</p>",
        lambda: (
            "<p "
            + " ".join(
                f'a{n}="{random.choice("<>1")}"' for n in range(_many(random, 90_000))
            )
            + f">{inner}</p>"
        ),
        lambda: "<style>" + _repeat(random, "a{b:c}") + "</style><p>a</p>",
        lambda: "<p>" + _repeat(random, "<!-- a -->") + inner + "</p>",
        lambda: _nested(random, "<math><mfrac>", "</mfrac></math>", "x"),
        lambda: _nested(random, "<svg><g>", "</g></svg>", "x"),
        lambda: _repeat(random, f"<{tag}>") + inner,
        lambda: "<p>" + inner + "</p>",
    ]
    return random.choice(traps)()


def _html(random: Random) -> bytes:
    text = f"<!DOCTYPE html><html><body>{_body(random)}</body></html>"
    return text.encode(random.choice(("utf-8", "utf-8", "utf-16", "cp1252")), "replace")


_ENTITIES = """<!DOCTYPE x [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">
<!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;"><!ENTITY e SYSTEM "file:///etc/passwd"><!ENTITY f "&f;">]>"""


def _fb2(random: Random) -> bytes:
    inner = random.choice(
        (
            lambda: _nested(random, "<section>", "</section>", "<p>a</p>"),
            lambda: _repeat(
                random, "<section><title><p>a</p></title><p>b</p></section>"
            ),
            lambda: "<section>" + _repeat(random, "<p>a</p>") + "</section>",
            lambda: (
                "<section>"
                + _repeat(random, "<poem><stanza><v>a</v></stanza></poem>")
                + "</section>"
            ),
            lambda: "<section><p>&d;&e;&f;</p></section>",
            lambda: "<section>" + _body(random) + "</section>",
            lambda: (
                "<section><p>"
                + _repeat(random, '<a l:href="#n" type="note">1</a>')
                + "</p></section>"
            ),
        )
    )()
    head = _ENTITIES if random.random() < 0.3 else ""
    notes = (
        '<body name="notes">'
        + _repeat(random, '<section id="n"><p><a l:href="#n">x</a></p></section>')[
            :90_000
        ]
    )
    text = f"""<?xml version="1.0"?>{head}<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0"
xmlns:l="http://www.w3.org/1999/xlink"><description><title-info><book-title>a</book-title></title-info></description>
<body>{inner}</body>{notes}</body></FictionBook>"""
    data = text.encode("utf-8", "replace")
    return _zipped({"a.fb2": data}) if random.random() < 0.3 else data


def _epub(random: Random) -> bytes:
    files: dict[str, bytes | str] = {
        f"{n}.xhtml": page(_body(random)) for n in range(random.choice((1, 1, 2, 5)))
    }
    if random.random() < 0.2:
        files["0.xhtml"] = page(
            "<p>a</p>" * random.choice((100_000, 1_000_000, 4_000_000))
        )
    names = list(files)
    repeats = random.choice((1, 1, 1, 50, 5_000, 20_000))
    manifest = [_item(f"i{n}", name) for n, name in enumerate(names)]
    manifest += [_item(f"x{n}", "0.xhtml") for n in range(repeats)]
    # Pages outside the reading order, and a chain of replacements
    if random.random() < 0.3:
        files |= {f"u{n}.xhtml": page("<p>a</p>" * 60_000) for n in range(9)}
        manifest += [_item(f"u{n}", f"u{n}.xhtml") for n in range(20)]
        names += [f"{n}.x" for n in range(2_000)]
        manifest += [
            f'<item id="i{n}" href="{n}.x" media-type="x/x" fallback="i{n + 1}"/>'
            for n in range(len(names))
        ]
    spine = _spine(random, len(names), repeats)
    contents = _navigation(random)
    files["toc.ncx"] = (
        f'<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap>{contents}</navMap></ncx>'
    )
    head = _ENTITIES if random.random() < 0.2 else ""
    title = "&d;&f;" if head else _title(random)
    files["content.opf"] = (
        f"{head}"
        '<package xmlns="http://www.idpf.org/2007/opf" version="2.0" unique-identifier="i">\n'
        '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">'
        f"<dc:title>{title}</dc:title></metadata>\n"
        f"<manifest>{''.join(manifest)}"
        '<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/></manifest>\n'
        f'<spine toc="ncx">{spine}</spine></package>'
    )
    files["META-INF/container.xml"] = _CONTAINER
    return _zipped({"mimetype": "application/epub+zip", **files})


_CONTAINER = """<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0">
<rootfiles>
<rootfile full-path="content.opf" media-type="application/oebps-package+xml"/></rootfiles>
</container>"""


def _item(identifier: str, path: str) -> str:
    """A page in the manifest of an EPUB."""
    return f'<item id="{identifier}" href="{path}" media-type="application/xhtml+xml"/>'


def _spine(random: Random, pages: int, repeats: int) -> str:
    """The reading order: each page, then `repeats` more of one or of many."""
    each = "".join(f'<itemref idref="i{n}"/>' for n in range(pages))
    repeated = random.choice(('<itemref idref="i0"/>', '<itemref idref="x1"/>', ""))
    if random.random() < 0.5:
        return each + repeated * repeats
    return each + "".join(f'<itemref idref="x{n}"/>' for n in range(repeats))


def _navigation(random: Random) -> str:
    deep = _nested(
        random,
        '<navPoint><navLabel><text>a</text></navLabel><content src="0.xhtml"/>',
        "</navPoint>",
        "",
        20_000,
    )
    long = _repeat(
        random,
        '<navPoint><navLabel><text>a</text></navLabel><content src="0.xhtml#q"/></navPoint>',
    )
    return random.choice(("", deep, long))


def _title(random: Random) -> str:
    return (
        _text(random, 3).replace("\x00", "").replace("&amp;", "a").replace("\ufffe", "")
    )


_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def _docx(random: Random) -> bytes:
    paragraph = "<w:p><w:r><w:t>a</w:t></w:r></w:p>"
    number = random.choice(_NUMBERS)
    body = random.choice(
        (
            lambda: paragraph * random.choice((100_000, 1_000_000)),
            lambda: _nested(
                random,
                "<w:tbl><w:tr><w:tc>",
                "</w:tc></w:tr></w:tbl>",
                paragraph,
                50_000,
            ),
            lambda: (
                "<w:tbl>"
                + f"<w:tr><w:tc>{paragraph}</w:tc></w:tr>" * _many(random, 100_000)
                + "</w:tbl>"
            ),
            lambda: _nested(
                random,
                "<w:sdt><w:sdtContent>",
                "</w:sdtContent></w:sdt>",
                paragraph,
                50_000,
            ),
            lambda: (
                f'<w:p><w:pPr><w:numPr><w:ilvl w:val="{number}"/><w:numId '
                f'w:val="{number}"/></w:numPr></w:pPr>'
                "<w:r><w:t>a</w:t></w:r></w:p>" * min(_many(random), 50_000)
            ),
            lambda: (
                "<w:p>"
                + "<w:r><w:footnoteReference w:id='1'/></w:r>"
                * min(_many(random), 50_000)
                + "</w:p>"
            ),
            lambda: (
                f'<w:p><w:pPr><w:pStyle w:val="s{number}"/></w:pPr><w:r><w:t>a</w:t></w:r></w:p>'
                * 1_000
            ),
            lambda: "<w:p><w:r><w:t>&d;&f;</w:t></w:r></w:p>",
        )
    )()
    count = random.choice((500, 500, 20_000))
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="s{n}"><w:name w:val="heading {n}"/>'
        f'<w:basedOn w:val="s{(n + 1) % count}"/></w:style>'
        for n in range(count)
    )
    note = (
        '<w:footnote w:id="1"><w:p><w:r><w:t>n</w:t><w:footnoteReference '
        'w:id="1"/></w:r></w:p></w:footnote>'
    )
    head = _ENTITIES if "&d;" in body else ""

    def part(root: str, inner: str) -> str:
        return (
            f'{head}<w:{root} xmlns:w="{_WORD}" xmlns:r="{_OFFICE}">{inner}</w:{root}>'
        )

    relation = f'<Relationship Id="r{{}}" Type="{_OFFICE}/{{}}" Target="{{}}"/>'
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    inner_relations = relation.format(1, "styles", "styles.xml") + relation.format(
        2, "footnotes", "footnotes.xml"
    )
    return _zipped(
        {
            "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Override PartName="/word/document.xml" '
            'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{package}">'
            f"{relation.format(0, 'officeDocument', 'word/document.xml')}</Relationships>",
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{package}">'
            f"{inner_relations}</Relationships>",
            "word/document.xml": part("document", f"<w:body>{body}</w:body>"),
            "word/styles.xml": part("styles", styles),
            "word/footnotes.xml": part("footnotes", note),
        }
    )


def _pdf(random: Random) -> bytes:
    """Objects by number; PDFium finds them without a table of references."""
    number = random.choice(("1000000000", "-1", "99999999999999999999", "3"))
    kids = random.choice(
        (
            lambda: "3 0 R " * min(_many(random), 100_000),
            lambda: "2 0 R",
            lambda: "3 0 R 2 0 R 3 0 R",
            lambda: "9 0 R",
        )
    )()
    text = random.choice(
        (
            lambda: "(a) Tj 1 0 0 1 0 -1 cm " * min(_many(random, 100_000), 40_000),
            lambda: "q " * min(_many(random), 100_000) + "(a) Tj",
            lambda: "/X Do " * min(_many(random), 50_000),
            lambda: f"{number} {number} Td (a) Tj {number} 0 0 {number} 1 1 Tm (b) Tj",
            lambda: "[" + "(a) -1000 " * min(_many(random), 80_000) + "] TJ",
        )
    )()
    stream = zlib.compress(f"BT /F 12 Tf 50 700 Td {text} ET".encode())
    outline = "/Outlines 6 0 R" if random.random() < 0.5 else ""
    objects = {
        1: f"<</Type/Catalog/Pages 2 0 R{outline}>>".encode(),
        2: f"<</Type/Pages/Count {number}/Kids[{kids}]>>".encode(),
        3: b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R"
        b"/Resources<</Font<</F 5 0 R>>/XObject<</X 7 0 R>>>>>>",
        4: b"<</Length %d/Filter/FlateDecode>>stream\n" % len(stream)
        + stream
        + b"\nendstream",
        5: b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
        6: b"<</First 8 0 R/Last 8 0 R/Count 1>>",
        7: b"<</Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X 7 0 "
        b"R>>>>/Length 5>>stream\n"
        b"/X Do\nendstream",
        8: b"<</Title(a)/Parent 6 0 R/Next 8 0 R/First 8 0 R/Dest[3 0 R/Fit]>>",
    }
    body = b"".join(
        b"%d 0 obj\n%s\nendobj\n" % (at, inner) for at, inner in objects.items()
    )
    return b"%PDF-1.7\n" + body + b"trailer<</Root 1 0 R>>\n%%EOF"


def _zipped(files: dict[str, bytes | str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in files.items():
            archive.writestr(
                name, data.encode("utf-8", "replace") if isinstance(data, str) else data
            )
    return made.getvalue()


_TRAPS: dict[str, Callable[[Random], bytes]] = {
    "txt": _txt,
    "md": _markdown,
    "html": _html,
    "fb2": _fb2,
    "epub": _epub,
    "docx": _docx,
    "pdf": _pdf,
}
