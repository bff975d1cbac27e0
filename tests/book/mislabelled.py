"""Files that nest and mislabel: random elements, names, classes, types and roles around words.

The same number makes the same file. Every word is its own, such as `w17q`.
"""

import random
from collections.abc import Callable, Sequence

from tests.book.make_docx import docx
from tests.book.make_epub import epub, page

_BLOCKS = """address article aside blockquote body center dd details dialog dir div dl dt fieldset
figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup html legend li main menu nav ol p pre
section summary table ul caption tr td th tbody thead tfoot colgroup col head title level1 linegroup
line""".split()
_PHRASES = """a abbr b bdi bdo big br button canvas case cite code data datalist default del dfn em
embed font hr i iframe img input ins kbd label link map mark math meta meter noscript
object option output param picture progress q rb rp rt rtc ruby s samp script select slot small
source span strike strong style sub summary sup svg switch template text textarea time track tspan
tt u var video audio wbr x-card unknown""".split()
_ATTRIBUTES = [
    *(f'class="{name}"' for name in """pagenum page-number pageno lnum linenum pg-boilerplate
    katex-html footnote footnotes noteref backlink verse poem stanza figure caption dropcap drop
    noprint breadcrumb navbox sharedaddy footnote-back mw-editsection fnref""".split()),
    *(f'role="{name}"' for name in """doc-pagebreak doc-backlink doc-footnote doc-noteref navigation
    search dialog menu toolbar presentation note""".split()),
    *(f'epub:type="{name}"' for name in """pagebreak backlink footnote endnotes noteref toc poem
    z3998:verse""".split()),
    'hidden="hidden"',
    'style="display: none"',
    'style="float: left"',
    'style="white-space: pre-wrap"',
    'aria-hidden="true"',
    'href="#x"',
    'href="http://example.org/"',
    'id="x"',
    'id="cookie-bar"',
    'shadowrootmode="open"',
    'type="image/png"',
    'alt="rain"',
]  # fmt: skip
_FB2 = """a annotation body cite code date description emphasis empty-line epigraph image p poem
section stanza strikethrough strong style stylesheet sub subtitle sup table td text-author th title
tr v binary history unknown""".split()
_WORD = """p r t tbl tr tc sdt sdtContent ins moveTo smartTag hyperlink customXml fldSimple pPr
tcPr trPr sdtPr drawing pict txbxContent ruby rubyBase rt bdo dir unknown proofErr""".split()
_HOSTS = {"t": "t", "delText": "delText"}


class _Words:
    """Words that no other place of the file has."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    def next(self) -> str:
        self.count += 1
        return f"w{self.count}q"

    def some(self) -> str:
        return " ".join(
            self.next() for _ in range(self.random.choice((1, 1, 2, 5, 12)))
        )


def _tree(
    words: _Words, names: Sequence[str], depth: int, attributes: Sequence[str] = ()
) -> str:
    choose = words.random
    if depth == 0 or choose.random() < 0.15:
        return f"{words.some()} "
    parts = []
    for _ in range(choose.choice((1, 1, 2, 3))):
        name = choose.choice(names)
        has_attributes = attributes and choose.random() < 0.4
        marks = (
            {choose.choice(attributes) for _ in range(2)} if has_attributes else set()
        )
        unique = {mark.partition("=")[0]: mark for mark in sorted(marks)}
        inside = _tree(words, names, depth - 1, attributes)
        before, after = (
            words.some() if choose.random() < 0.3 else "" for _ in range(2)
        )
        opening = " ".join((name, *unique.values()))
        parts.append(f"<{opening}>{before} {inside}</{name}> {after}")
    return "".join(parts)


def _body(seed: int, without: Sequence[str] = ()) -> str:
    words = _Words(seed)
    names = [name for name in _BLOCKS + _PHRASES if name not in without]
    parts = (_tree(words, names, 5, _ATTRIBUTES) for _ in range(6))
    return "".join(f"<p>{words.some()}</p>{part}" for part in parts)


def xhtml_epub(seed: int) -> bytes:
    head, tail = _body(2 * seed), _body(2 * seed + 1).replace("w", "v")
    return epub({"a.xhtml": page(head), "b.xhtml": page(tail)})


def html_page(seed: int) -> bytes:
    # Browsers drop the first three inside a page, and take tags inside the others for text.
    body = _body(seed, without=("html", "head", "body", "title", "textarea"))
    return f"<html><head><title>T</title></head><body>{body}</body></html>".encode()


def fiction_book(seed: int) -> bytes:
    words = _Words(seed)
    parts = "".join(
        f"<section><p>{words.some()}</p>{_tree(words, _FB2, 5)}</section>"
        for _ in range(6)
    )
    notes = (
        f'<body name="notes"><section id="n">{_tree(words, _FB2, 3)}</section></body>'
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?><FictionBook><description><title-info/>'
        f"</description><body>{parts}</body>{notes}</FictionBook>"
    ).encode()


def _word_tree(words: _Words, depth: int, *, in_run: bool = False) -> str:
    choose = words.random
    if depth == 0 or in_run:
        kind = choose.choice(("t", "t", "t", "delText"))
        text = f'<w:{kind} xml:space="preserve"> {words.some()} </w:{kind}>'
        return text if in_run else f"<w:p><w:r>{text}</w:r></w:p>"
    parts = []
    for _ in range(choose.choice((1, 2, 3))):
        name = choose.choice(_WORD)
        if name in _HOSTS:
            parts.append(f"<w:t>{words.some()} </w:t>")
            continue
        if name == "r" and choose.random() < 0.2:
            vanish = "<w:rPr><w:vanish/></w:rPr>"
        else:
            vanish = ""
        inside = _word_tree(words, depth - 1, in_run=name == "r")
        parts.append(f"<w:{name}>{vanish}{inside}</w:{name}>")
    return "".join(parts)


def word_document(seed: int) -> bytes:
    words = _Words(seed)
    body = "".join(
        f"<w:p><w:r><w:t>{words.some()}</w:t></w:r></w:p>{_word_tree(words, 5)}"
        for _ in range(6)
    )
    return docx(body)


def markdown(seed: int) -> bytes:
    words = _Words(seed)
    parts = [words.random.choice(_MARKDOWN)(words) for _ in range(20)]
    return "\n".join(parts).encode()


def plain_text(seed: int) -> bytes:
    words = _Words(seed)
    parts = [words.random.choice(_TEXT)(words) for _ in range(30)]
    return "\n".join(parts).encode()


def _lines(*patterns: str) -> list[Callable[[_Words], str]]:
    """Makers of lines in which each `W` is some words."""

    def maker(pattern: str) -> Callable[[_Words], str]:
        def make(words: _Words) -> str:
            first, *others = pattern.split("W")
            return first + "".join(f"{words.some()}{other}" for other in others)

        return make

    return [maker(pattern) for pattern in patterns]


_MARKDOWN = _lines(
    "---\nW: W\n---\n",
    "---\n\nW: W\n\n---\n",
    "---\ntitle: W\nW\n",
    "+++\nW\n+++\n",
    "% W\n% W\n",
    "# W\n",
    "W\n===\n",
    "> W\n> > W\n",
    "- W\n  - W\n\n    W\n",
    "1. W\n2. W\n",
    "| W | W |\n|---|---|\n| W | W |\n",
    "```W\nW\n```\n",
    "    W\n",
    "W[^a]\n\n[^a]: W\n",
    "[^b]: W\n    W\n",
    "[W](http://example.org)\n",
    "![W](a.png)\n",
    "<div class='pagenum'>W</div>\n",
    "<nav>W</nav>\n",
    "<template>W</template>\n",
    "W\n: W\n",
    "*W* **W** ~~W~~ `W`\n",
    "W<br>W<br><br>W\n",
    "<script>W</script>\n",
    "\\# W\n",
    "W  \nW\n",
    "***\n",
    "[W]: W\n",
)
_TEXT = _lines(
    "W\n",
    "   W\n   W\n   W\n",
    "CHAPTER I\n\nW\n",
    "* * *\n",
    "_W_ W\n",
    "# W\n",
    "[1] W\n",
    "12\n",
    "W | W\nW | W\n",
    "- W\n- W\n",
    "\tW\tW\n",
    "*** START OF THE PROJECT GUTENBERG EBOOK W ***\n",
    "*** END OF THE PROJECT GUTENBERG EBOOK W ***\n",
    "Produced by W\nW\n",
    "Title: W\n",
    "-----\nW\n-----\n",
    "W-\nW\n",
    "［＃W］\n",
)
FORMATS: dict[str, Callable[[int], bytes]] = {
    ".epub": xhtml_epub,
    ".html": html_page,
    ".fb2": fiction_book,
    ".docx": word_document,
    ".md": markdown,
    ".txt": plain_text,
}
