"""KOReader's positions: the same element and character as its engine means."""

import io

import pytest

from gistread.book.formats.archive import Archive
from gistread.book.formats.xpointers import SpineText, read_spine_text
from tests.book.make_epub import epub, page

_PAGE = """<h1>The   Lamp</h1>
<p>one  two
three\tfour</p>
<p>Hello <em>dear</em> world <b>so <em>it</em> ends</b> tail</p>
<p>a<br/>b<img src="x.svg" alt=""/>c</p>
<div>
<span>x</span> y<span>z</span></div>
<span>
<span>x</span> y<span>z</span></span>
<ul>
  begin
  <li>item <em>one</em></li>
  <li>item two
    <ul>
      <li>inner</li>
    </ul>
  </li>
  end
</ul>
<table>
  <tr><td>cell <em>one</em> last</td></tr>
</table>
<pre>
first
  second</pre>
<p>Last</p>"""

# As crengine, KOReader's engine, writes them for pages of this form
_POINTERS = {
    "/h1/text().4": "Lamp",
    "/p[1]/text().4": "two",
    "/p[1]/text().8": "three",
    "/p[1]/text().14": "four",
    "/p[2]/text()[1].0": "Hello",
    "/p[2]/text()[2].1": "world",
    "/p[2]/b/em/text().0": "it",
    "/p[2]/text()[3].1": "tail",
    "/p[3]/text()[3].0": "c",
    "/div/text().1": "y",
    "/span/text()[2].1": "y",
    "/ul/text()[1].1": "begin",
    "/ul/li[1]/em/text().0": "one",
    "/ul/li[2]/text().0": "item",
    "/ul/li[2]/ul/li/text().0": "inner",
    "/ul/text()[2].1": "end",
    "/table/tr/td/text()[2].1": "last",
    "/pre/text().8": "second",
    "/p[4]/text().0": "Last",
}


def _spine(*bodies: str) -> SpineText:
    files = {f"c{number}.xhtml": page(body) for number, body in enumerate(bodies)}
    return read_spine_text(Archive(io.BytesIO(epub(files))))


@pytest.fixture(scope="module")
def spine() -> SpineText:
    return _spine("<div><img src='cover.jpg'/></div>", _PAGE)


@pytest.mark.parametrize("path", _POINTERS)
def test_a_pointer_is_read_and_written(spine: SpineText, path: str) -> None:
    pointer, words = f"/body/DocFragment[2]/body{path}", _POINTERS[path]
    at = spine.offset_of(pointer)
    assert at is not None
    assert spine.text[at : at + len(words)] == words
    assert spine.pointer_at(at) == pointer


def test_other_forms_of_a_pointer_mean_the_same(spine: SpineText) -> None:
    at = spine.offset_of("/body/DocFragment[2]/body/p[2]/b/em/text().0")
    for form in (
        "/body[1]/DocFragment[2]/body[1]/p[2]/b[1]/em[1]/text()[1].0",
        "/body/DocFragment[2]/body/autoBoxing[3]/p[2]/b/em.0",
    ):
        assert spine.offset_of(form) == at
    second = spine.offset_of("/body/DocFragment[2]/body/ul/li[1]/em.0")
    assert spine.offset_of("/body/DocFragment[2]/body/ul/li[1].1") == second
    assert spine.offset_of("/body/DocFragment[2]/body/p[3]/br.0") == spine.offset_of(
        "/body/DocFragment[2]/body/p[3]/text()[2].0"
    )
    paragraph = spine.offset_of("/body/DocFragment[2]/body/p[1]/text().0")
    assert spine.offset_of("/body/DocFragment[2]/body/p[1]/text()[3].9") == paragraph
    start = spine.offset_of("/body/DocFragment[2]/body/h1.0")
    assert spine.offset_of("/body/DocFragment[2].0") == start
    assert spine.offset_of("/body/DocFragment[1]/body/div/img.0") == start


@pytest.mark.parametrize(
    "pointer",
    ["", "42", "/body/DocFragment[2]/body/p[9]/text().0", "/body/x", "#id", "/" * 999],
)
def test_what_points_nowhere_is_none(spine: SpineText, pointer: str) -> None:
    assert spine.offset_of(pointer) is None


def test_an_item_that_cannot_be_read_counts_too() -> None:
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf"><manifest>'
        '<item id="a" href="missing.xhtml" media-type="application/xhtml+xml"/>'
        '<item id="b" href="picture.svg" media-type="image/svg+xml"/>'
        '<item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="a"/><itemref idref="b"/><itemref idref="c"/></spine></package>'
    )
    files = {"c.xhtml": page("<p>Here</p>"), "picture.svg": "<svg/>"}
    spine = read_spine_text(Archive(io.BytesIO(epub(files, opf))))
    assert spine.pointer_at(0) == "/body/DocFragment[3]/body/p/text().0"


def test_a_long_text_is_several_nodes() -> None:
    words = " ".join(f"word{number}" for number in range(3_000))
    spine = _spine(f"<p>{words}</p>")
    for offset in (words.index("word900"), words.index("word2999")):
        pointer = spine.pointer_at(offset)
        assert spine.offset_of(pointer) == offset
    assert pointer.startswith("/body/DocFragment[1]/body/p/text()[4].")
