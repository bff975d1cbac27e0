"""Turns the runs of a Word paragraph into inline XHTML, as if all changes were accepted."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lxml import etree

from gistread.book.formats.docx.styles import RunFormat, Styles, run_format_of, value
from gistread.book.formats.docx.symbols import in_unicode, symbol
from gistread.book.formats.elements.markup import append_text
from gistread.book.formats.elements.semantics import EPUB_TYPE, format_number
from gistread.words import count_words

_DELETED = frozenset(("del", "movefrom", "deltext", "delinstrtext"))
_DRAWN = ("blip", "imagedata", "rect", "txbxcontent", "textpath", "t")
_INNER_BLOCKS = frozenset(("p", "tbl", "tr", "tc"))
_SYMBOL_FONT = "font"  # The key of a run's look that names a symbol font
_LAST_PLACE = "_GoBack"  # Word's bookmark of the last edit
_LINK_FIELD = re.compile(
    r'\s*HYPERLINK\s+(?:(?:\\[a-z]\s+)*"([^"]*)"|(?=\\l))', re.IGNORECASE
)
_LINK_PLACE = re.compile(r'\\l\s+"?([^"\s]+)"?', re.IGNORECASE)
_REFERENCE_FIELD = re.compile(r"\s*(?:REF|PAGEREF|NOTEREF)\s+(\S+)", re.IGNORECASE)
_CONTENTS_FIELD = re.compile(r"\s*TOC\b")
_SYMBOL_CODE = re.compile("[0-9a-f]{1,4}")
_TAGS = {
    "b": "strong",
    "i": "em",
    "u": "u",
    "strike": "s",
    "code": "code",
    "superscript": "sup",
    "subscript": "sub",
}
_TEXT_OF = {"tab": "\t", "ptab": "\t", "nobreakhyphen": "\u2011"}
_LETTER = re.compile(r"[^\W\d_]")
_EAST_ASIAN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ON = ("1", "true", "on", "t")


@dataclass(frozen=True, slots=True)
class Relation:
    kind: str  # Last segment of its type URL: "styles", "hyperlink", "image"
    target: str  # Path in the archive, or a URL
    external: bool


@dataclass(frozen=True, slots=True)
class NoteReference:
    kind: str  # "footnote", "endnote"
    id: str
    label: str  # The number or sign in the text


@dataclass(slots=True)
class _Field:
    instruction: str = ""
    has_result: bool = False
    # For a link: the writer of its paragraph, and the element around the link.
    around: "tuple[RunWriter, etree._Element] | None" = None


@dataclass(frozen=True, slots=True)
class _CustomReference:
    """A link to a note whose sign is the text after it."""

    link: etree._Element
    kind: str
    id: str


@dataclass(slots=True)
class RunState:
    styles: Styles
    relations: Mapping[str, Relation]
    references: list[NoteReference] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)  # Notes so far, by kind
    characters: Counter[str] = field(default_factory=Counter)  # By language
    # Bookmarks before the next paragraph
    places: list[str] = field(default_factory=list)
    changes: int = 0
    comments: int = 0
    hidden: int = 0  # Words formatted as hidden
    deleted: int = 0  # Words of tracked deletions
    field_words: int = 0  # Words of the codes of fields
    unknown_symbols: int = 0  # Characters of symbol fonts
    fields: list[_Field] = field(default_factory=list)

    def delete(self, element: etree._Element) -> None:
        """Count a tracked deletion."""
        self.changes += 1
        self.deleted += words_of_runs(element)

    @property
    def is_in_contents(self) -> bool:
        """Whether inside the result of a table-of-contents field."""
        return any(
            each.has_result and _CONTENTS_FIELD.match(each.instruction)
            for each in self.fields
        )


@dataclass(slots=True)
class RunWriter:
    target: etree._Element
    state: RunState
    boxes: list[etree._Element] = field(default_factory=list)
    _leaf: etree._Element | None = None  # The innermost element of the last run
    # Tags and attributes of that element and those around it.
    _leaf_key: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    _custom_reference: _CustomReference | None = None

    def write(self, element: etree._Element) -> None:
        for place in self.state.places:
            self._add("span", id=place)
        self.state.places.clear()
        self._elements(element)
        # In a damaged file, an unfinished field code ends with its paragraph.
        for each in self.state.fields:
            each.has_result = True

    def write_one(self, element: etree._Element) -> None:
        """Write a part of a run that stands outside any paragraph."""
        self._run_part(element, {})

    def _elements(self, element: etree._Element) -> None:
        for inner in element:
            self._element(inner)

    def _element(self, element: etree._Element) -> None:
        name = element.tag
        if name == "r":
            self._run(element)
        elif name == "t":
            self._run_part(element, {})
        elif name in ("drawing", "pict", "object"):
            self._picture(element)
        elif name in _DELETED:
            self.state.delete(element)
        elif name in ("omath", "omathpara"):
            self.target.append(_equation(element, "math"))
            self._leaf = None
        elif name == "bookmarkstart":
            self._bookmark(element.get("name"))
        elif name == "hyperlink":
            self._inside(element, self._address(element))
        elif name == "fldsimple":
            self._inside(element, _href(element.get("instr", "")))
        elif name == "alternatecontent":
            self._elements(shown_form(element))
        else:
            self._others(element)

    def _others(self, element: etree._Element) -> None:
        """Read what is inside an element that has no meaning here, such as an insertion."""
        name = element.tag
        self.state.changes += name in ("ins", "moveto")
        if name in _INNER_BLOCKS and (len(self.target) or self.target.text):
            self._add("br")
        self._elements(element)

    def _bookmark(self, place: str | None) -> None:
        if place != _LAST_PLACE:
            self._add("span", id=place or "")

    def _address(self, link: etree._Element) -> str:
        relation = self.state.relations.get(link.get("id", ""))
        anchor = link.get("anchor")
        address = relation.target if relation else ""
        if anchor:
            address += f"#{anchor}"
        return address

    def _add(self, tag: str, **attributes: str) -> etree._Element:
        """Add an element, which ends the run before it."""
        self._leaf = None
        return etree.SubElement(self.target, tag, attributes)

    def _inside(self, element: etree._Element, href: str) -> None:
        outer = self.target
        if href:
            self.target = self._add("a", href=href)
        self._elements(element)
        if href:
            self.target, self._leaf = outer, None

    def _run(self, element: etree._Element) -> None:
        properties = element.find("rpr")
        look = {
            **self.state.styles.looks.get(value(properties, "rstyle"), {}),
            **run_format_of(properties),
        }
        if look.get("vanish"):
            self.state.hidden += words_of_runs(element)
            return
        font = symbol_font(properties)
        if font is not None:
            look = {**look, _SYMBOL_FONT: font}
        for inner in element:
            self._run_part(inner, look)

    def _run_part(self, element: etree._Element, look: RunFormat) -> None:
        fields = self.state.fields
        if element.tag == "fldchar":
            self._field(element.get("fldchartype", ""))
        elif element.tag == "instrtext":
            if fields and not fields[-1].has_result:
                fields[-1].instruction += element.text or ""
        elif any(not field.has_result for field in fields):
            self.state.field_words += words_of_runs(element)
        else:
            self._visible_part(element, look)

    def _visible_part(self, element: etree._Element, look: RunFormat) -> None:
        match element.tag:
            case "t":
                # A repaired file may have elements inside.
                self._text("".join(map(str, element.itertext())), look)
            case str(name) if name in _TEXT_OF:
                self._text(_TEXT_OF[name], look)
            case "br" | "cr":
                if element.get("type") not in ("page", "column"):
                    self._add("br")
            case "sym":
                self._symbol(element, look)
            case "footnotereference":
                self._reference(element, "footnote")
            case "endnotereference":
                self._reference(element, "endnote")
            case "commentreference":
                self.state.comments += 1
            case "ruby":
                self._ruby(element)
            case _:
                self._element(element)

    def _symbol(self, element: etree._Element, look: RunFormat) -> None:
        code = element.get("char", "").lower()
        if not _SYMBOL_CODE.fullmatch(code):
            return
        character = symbol(int(code, 16), element.get("font", ""))
        self.state.unknown_symbols += not character
        self._text(character, look)

    def _ruby(self, element: etree._Element) -> None:
        parts = [list(element.iterfind(f"{part}//t")) for part in ("rubybase", "rt")]
        if sum(map(len, parts)) < sum(1 for _ in element.iter("t", "deltext")):
            self._elements(element)  # Words beside its two parts
            return
        ruby = self._add("ruby")
        for texts, tag in zip(parts, ("rb", "rt"), strict=True):
            etree.SubElement(ruby, tag).text = "".join(
                text.text or "" for text in texts
            )

    def _field(self, kind: str) -> None:
        fields = self.state.fields
        if kind == "begin":
            fields.append(_Field())
        elif kind == "separate" and fields:
            fields[-1].has_result = True
            href = _href(fields[-1].instruction)
            if href and all(each.has_result for each in fields):
                fields[-1].around = (self, self.target)
                self.target = self._add("a", href=href)
        elif kind == "end" and fields:
            around = fields.pop().around
            if around is not None and around[0] is self:
                # A field of an earlier paragraph has ended with it.
                self.target, self._leaf = around[1], None

    def _text(self, text: str, look: RunFormat) -> None:
        text = in_unicode(text, str(look.get(_SYMBOL_FONT, "")))
        if not text:
            return
        if self._custom_reference is not None:
            reference = self._custom_reference
            self._custom_reference = None
            reference.link.text = text
            self.state.references.append(
                NoteReference(reference.kind, reference.id, text.strip())
            )
            return
        key: list[tuple[str, dict[str, str]]] = []
        if look.get("smallcaps"):
            key.append(("span", {"class": "small-caps"}))
        if language := self._language(text, look):
            key.append(("span", {"lang": language}))
        for name, tag in _TAGS.items():
            if look.get(name) or name == look.get("position"):
                key.append((tag, {}))
        if self._leaf is None or key != self._leaf_key:
            self._leaf, self._leaf_key = self.target, key
            for tag, attributes in key:
                self._leaf = etree.SubElement(self._leaf, tag, attributes)
        append_text(self._leaf, text)

    def _language(self, text: str, look: RunFormat) -> str:
        letters = len(_LETTER.findall(text))
        if not letters:
            return ""
        language = str(look.get(f"lang {_script(text, look)}", ""))
        if not language and _script(text, look) == "val":
            language = self.state.styles.language
        if language.lower().startswith(("x-", "und", "zxx")):
            return ""
        self.state.characters[language] += letters
        return language

    def _reference(self, element: etree._Element, kind: str) -> None:
        note_id = element.get("id", "")
        link = self._add("a", href=f"#{kind} {note_id}")
        link.set(EPUB_TYPE, "noteref")
        if element.get("custommarkfollows", "").lower() in _ON:
            self._custom_reference = _CustomReference(link, kind, note_id)
            return
        self.state.counts[kind] += 1
        link.text = format_number(
            self.state.counts[kind], "i" if kind == "endnote" else "1"
        )
        self.state.references.append(NoteReference(kind, note_id, link.text))

    def _picture(self, element: etree._Element) -> None:
        words = _description(element)
        inside = list(_drawn(element, *_DRAWN))
        for deleted in _drawn(element, "deltext"):
            self.state.delete(deleted)
        if words and not inside:  # A diagram, drawn in other files
            self._add("img", src="", alt=words)
        for inner in inside:
            if inner.tag == "txbxcontent":
                self.boxes.append(inner)
            elif inner.tag == "t":
                self._text(f" {''.join(map(str, inner.itertext()))} ", {})
            elif inner.tag == "textpath":
                self._text(inner.get("string", ""), {})
            elif inner.tag == "rect":
                if inner.get("hr", "").lower() in _ON:
                    self.boxes.append(etree.Element("hr"))
            else:
                self._image(inner, words or inner.get("title", ""))

    def _image(self, element: etree._Element, words: str) -> None:
        ids = (element.get(key, "") for key in ("embed", "link", "id"))
        relation = next(filter(None, map(self.state.relations.get, ids)), None)
        if relation is not None:
            image = self._add("img", src=relation.target)
            if words:
                image.set("alt", words)


def _description(drawing: etree._Element) -> str:
    """The author's description of a picture; empty if there is none."""
    properties = (
        each.get(key) for each in _drawn(drawing, "docpr") for key in ("descr", "title")
    )
    shapes = (each.get("alt") for each in _drawn(drawing, "shape"))
    return next(filter(None, (*properties, *shapes)), "")


def _script(text: str, look: RunFormat) -> str:
    """The script by which Word names the language of a text."""
    if look.get("rtl"):
        return "bidi"
    if _EAST_ASIAN.search(text):
        return "eastasia"
    return "val"


def symbol_font(properties: etree._Element | None) -> str | None:
    """The symbol font of a run; None if it has none."""
    if properties is None:
        return None
    fonts = properties.find("rfonts")
    if fonts is None:
        return None
    named = map(str, fonts.attrib.values())
    return next(
        (font for font in named if font.lower() in ("symbol", "wingdings")), None
    )


def words_of_runs(element: etree._Element) -> int:
    """Words in the texts of an element, deleted ones included."""
    texts = (
        "".join(map(str, each.itertext())) for each in element.iter("t", "deltext")
    )
    return sum(map(count_words, texts))


def shown_form(element: etree._Element) -> etree._Element:
    """The form of alternate content that is read: the first one with words or a picture."""
    forms = [inner for inner in element if inner.tag in ("choice", "fallback")]
    for form in forms:
        has_picture = next(form.iter("blip", "imagedata"), None) is not None
        if has_picture or words_of_runs(form):
            return form
    if not forms:
        return element
    return forms[0]


def _drawn(element: etree._Element, *names: str) -> Iterator[etree._Element]:
    """Descendants of a drawing by name, in order, without those inside text boxes."""
    for inner in element:
        if inner.tag in names:
            yield inner
        if inner.tag != "txbxcontent":
            yield from _drawn(inner, *names)


def _href(instruction: str) -> str:
    match = _LINK_FIELD.match(instruction)
    if match:
        page = match[1] or ""
        place = _LINK_PLACE.search(instruction)
        if place is None:
            return page
        return f"{page}#{place[1]}"
    match = _REFERENCE_FIELD.match(instruction)
    if match is None or "\\h" not in instruction:
        return ""
    return f"#{match[1]}"


# Elements of MathML for those of Word's equations.
_MATH = {
    "t": "mi",
    "f": "mfrac",
    "ssup": "msup",
    "ssub": "msub",
    "ssubsup": "msubsup",
    "nary": "msubsup",
    "rad": "mroot",
    "limlow": "munder",
    "limupp": "mover",
    "acc": "mover",
    "bar": "mover",
    "groupchr": "mover",
    "m": "mtable",
    "eqarr": "mtable",
    "mr": "mtr",
    "d": "mfenced",
}
_SIGNS = {"acc": "\u0302", "bar": "‾", "groupchr": "⏟", "nary": "∫"}


def _equation(element: etree._Element, tag: str = "mrow") -> etree._Element:
    """An equation, or a part of one, as MathML."""
    name = str(element.tag)
    equation = etree.Element(_MATH.get(name, tag))
    equation.text = element.text if name == "t" else None
    equation.extend(
        _equation(inner) for inner in element if not inner.tag.endswith("pr")
    )
    if name == "rad":
        equation[:] = reversed(equation)  # Word puts the degree first
    elif name == "f" and value(element, "fpr/type") == "noBar":
        equation.set("linethickness", "0")
    elif name == "d":
        _set_brackets(equation, element)
    elif name in ("acc", "bar", "groupchr"):
        equation.append(_sign(element, name))
        if name != "acc" and value(element, f"{name}pr/pos") == "bot":
            equation.tag = "munder"
    elif name == "nary" and len(equation):
        return _with_operator(equation, _sign(element, name))
    return equation


def _sign(element: etree._Element, name: str) -> etree._Element:
    """The sign of an accent or of an operator such as a sum."""
    sign = etree.Element("mo")
    sign.text = value(element, f"{name}pr/chr") or _SIGNS.get(name, "")
    return sign


def _set_brackets(equation: etree._Element, element: etree._Element) -> None:
    for end, key in (("beg", "open"), ("end", "close")):
        bracket = element.find(f"dpr/{end}chr")
        if bracket is not None:
            equation.set(key, bracket.get("val", ""))


def _with_operator(limits: etree._Element, sign: etree._Element) -> etree._Element:
    """An operator with its limits, and the operand, which is their last element."""
    operand = limits[-1]
    operand.tag = "mtext"  # Spaces around it
    limits.insert(0, sign)
    row = etree.Element("mrow")
    row.extend((limits, operand))
    return row
