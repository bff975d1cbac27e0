"""Turns the runs of a Word paragraph into inline XHTML, as if all changes were accepted."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lxml import etree

from gistread.book.formats.docx.styles import RunFormat, Styles, run_format_of, value
from gistread.book.formats.elements.markup import append_text
from gistread.book.formats.elements.semantics import EPUB_TYPE, format_number
from gistread.words import count_words

_DELETED = frozenset(("del", "movefrom", "deltext", "delinstrtext"))
_IGNORED = frozenset(
    ("ppr", "rpr", "commentrangestart", "commentrangeend", "bookmarkend", "prooferr")
)
_LINK_FIELD = re.compile(r'\s*HYPERLINK\s+(?:(?:\\[a-z]\s+)*"([^"]*)"|(?=\\l))', re.IGNORECASE)
_LINK_PLACE = re.compile(r'\\l\s+"?([^"\s]+)"?', re.IGNORECASE)
_REFERENCE_FIELD = re.compile(r"\s*(?:REF|PAGEREF|NOTEREF)\s+(\S+)", re.IGNORECASE)
_CONTENTS_FIELD = re.compile(r"\s*TOC\b")
# Characters of symbol fonts that have a Unicode equivalent.
_SYMBOLS = {
    "f0b7": "•",
    "f0a7": "▪",
    "f0fc": "✓",
    "f0e0": "→",
    "f0df": "←",
    "f0b0": "°",
    "f0b4": "×",
    "f02d": "−",
}
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
_LETTER = re.compile(r"[^\W\d_]")
_EAST_ASIAN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_ON = ("1", "true", "on", "t")


@dataclass(frozen=True, slots=True)
class Relation:
    kind: str  # Last segment of its type URL: "styles", "hyperlink", "image"
    target: str  # Path in the archive, or a URL
    external: bool


@dataclass(slots=True)
class _Field:
    instruction: str = ""
    has_result: bool = False
    # For a link: the writer of its paragraph, and the element around the link.
    around: "tuple[RunWriter, etree._Element] | None" = None


@dataclass(slots=True)
class RunState:
    styles: Styles
    relations: Mapping[str, Relation]
    # Of notes: kind, id, and the number or sign in the text.
    references: list[tuple[str, str, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)  # Notes so far, by kind
    characters: Counter[str] = field(default_factory=Counter)  # By language
    places: list[str] = field(default_factory=list)  # Bookmarks before the next paragraph
    changes: int = 0
    comments: int = 0
    hidden: int = 0  # Words formatted as hidden
    fields: list[_Field] = field(default_factory=list)

    @property
    def is_in_contents(self) -> bool:
        """Whether inside the result of a table-of-contents field."""
        return any(
            each.has_result and _CONTENTS_FIELD.match(each.instruction) for each in self.fields
        )


@dataclass(slots=True)
class RunWriter:
    target: etree._Element
    state: RunState
    boxes: list[etree._Element] = field(default_factory=list)
    _leaf: etree._Element | None = None  # The innermost element of the last run
    # Tags and attributes of that element and those around it.
    _leaf_key: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    _custom_reference: tuple[etree._Element, str, str] | None = None

    def write(self, element: etree._Element) -> None:
        for place in self.state.places:
            self._add("span", id=place)
        self.state.places.clear()
        self._elements(element)
        for each in (
            self.state.fields
        ):  # In a damaged file, an unfinished field code ends with its paragraph
            each.has_result = True

    def _elements(self, element: etree._Element) -> None:
        for inner in element:
            self._element(inner)

    def _element(self, element: etree._Element) -> None:
        name = element.tag
        if name == "r":
            self._run(element)
        elif name in ("drawing", "pict", "object"):
            self._picture(element)
        elif name in _DELETED:
            self.state.changes += 1
        elif name in ("omath", "omathpara"):
            self.target.append(_equation(element, "math"))
            self._leaf = None
        elif name == "bookmarkstart":
            if (place := element.get("name")) != "_GoBack":
                self._add("span", id=place or "")
        elif name == "hyperlink":
            relation, anchor = (
                self.state.relations.get(element.get("id", "")),
                element.get("anchor"),
            )
            self._inside(
                element, (relation.target if relation else "") + (f"#{anchor}" if anchor else "")
            )
        elif name == "fldsimple":
            self._inside(element, _href(element.get("instr", "")))
        elif name == "alternatecontent":
            for first in [inner for inner in element if inner.tag in ("choice", "fallback")][:1]:
                self._elements(first)
        elif name not in _IGNORED:
            self.state.changes += name in ("ins", "moveto")
            self._elements(element)

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
            self.state.hidden += sum(count_words(each.text or "") for each in element.iterfind("t"))
            return
        for inner in element:
            self._run_part(inner, look)

    def _run_part(self, element: etree._Element, look: RunFormat) -> None:
        state, name = self.state, element.tag
        if name == "fldchar":
            self._field(element.get("fldchartype", ""))
        elif name == "instrtext":
            if state.fields and not state.fields[-1].has_result:
                state.fields[-1].instruction += element.text or ""
        elif any(not each.has_result for each in state.fields):
            return
        elif name == "t":
            # A repaired file may have elements inside.
            self._text("".join(map(str, element.itertext())), look)
        elif name in ("tab", "ptab"):
            self._text("\t", look)
        elif name in ("br", "cr"):
            if element.get("type") not in ("page", "column"):
                self._add("br")
        elif name == "nobreakhyphen":
            self._text("\u2011", look)
        elif name == "sym":
            code = element.get("char", "").lower()
            char = chr(int(code, 16)) if _SYMBOL_CODE.fullmatch(code) else ""
            self._text(_SYMBOLS.get(code, "" if "\ue000" <= char <= "\uf8ff" else char), look)
        elif name in ("footnotereference", "endnotereference"):
            self._reference(element, name.removesuffix("reference"))
        elif name == "commentreference":
            state.comments += 1
        elif name == "ruby":
            ruby = self._add("ruby")
            for part, tag in (("rubybase", "rb"), ("rt", "rt")):
                etree.SubElement(ruby, tag).text = "".join(
                    each.text or "" for each in element.iterfind(f"{part}//t")
                )
        else:
            self._element(element)

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
        if not text:
            return
        if self._custom_reference is not None:
            link, kind, number = self._custom_reference
            self._custom_reference = None
            link.text = text
            self.state.references.append((kind, number, text.strip()))
            return
        key = [("span", {"class": "small-caps"})] if look.get("smallcaps") else []
        if language := self._language(text, look):
            key.append(("span", {"lang": language}))
        key += [
            (tag, {})
            for name, tag in _TAGS.items()
            if look.get(name) or name == look.get("position")
        ]
        if self._leaf is None or key != self._leaf_key:
            self._leaf, self._leaf_key = self.target, key
            for tag, attributes in key:
                self._leaf = etree.SubElement(self._leaf, tag, attributes)
        append_text(self._leaf, text)

    def _language(self, text: str, look: RunFormat) -> str:
        letters = len(_LETTER.findall(text))
        if not letters:
            return ""
        script = "bidi" if look.get("rtl") else "eastasia" if _EAST_ASIAN.search(text) else "val"
        language = str(look.get(f"lang {script}", "")) or (
            self.state.styles.language if script == "val" else ""
        )
        if language.lower().startswith(("x-", "und", "zxx")):
            return ""
        self.state.characters[language] += letters
        return language

    def _reference(self, element: etree._Element, kind: str) -> None:
        number = element.get("id", "")
        link = self._add("a", href=f"#{kind} {number}")
        link.set(EPUB_TYPE, "noteref")
        if element.get("custommarkfollows", "").lower() in _ON:
            self._custom_reference = (link, kind, number)
            return
        self.state.counts[kind] += 1
        link.text = format_number(self.state.counts[kind], "i" if kind == "endnote" else "1")
        self.state.references.append((kind, number, link.text))

    def _picture(self, element: etree._Element) -> None:
        named = (each.get(key) for each in _drawn(element, "docpr") for key in ("descr", "title"))
        words = next(
            filter(None, (*named, *(each.get("alt") for each in _drawn(element, "shape")))), ""
        )
        inside = list(_drawn(element, "blip", "imagedata", "rect", "txbxcontent", "textpath"))
        if words and not inside:  # A diagram, drawn in other files
            self._add("img", src="", alt=words)
        for inner in inside:
            if inner.tag == "txbxcontent":
                self.boxes.append(inner)
            elif inner.tag == "textpath":
                self._text(inner.get("string", ""), {})
            elif inner.tag == "rect":
                if inner.get("hr", "").lower() in _ON:
                    self.boxes.append(etree.Element("hr"))
            else:
                relations = (
                    self.state.relations.get(inner.get(key, "")) for key in ("embed", "link", "id")
                )
                for relation in [*filter(None, relations)][:1]:
                    image = self._add("img", src=relation.target)
                    if described := words or inner.get("title"):
                        image.set("alt", described)


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
        place = _LINK_PLACE.search(instruction)
        return (match[1] or "") + (f"#{place[1]}" if place else "")
    match = _REFERENCE_FIELD.match(instruction)
    return f"#{match[1]}" if match and "\\h" in instruction else ""


# Elements of MathML for those of Word's equations.
_MATH = {
    **{
        "t": "mi",
        "f": "mfrac",
        "ssup": "msup",
        "ssub": "msub",
        "ssubsup": "msubsup",
        "nary": "msubsup",
    },
    **{
        "rad": "mroot",
        "limlow": "munder",
        "limupp": "mover",
        "acc": "mover",
        "bar": "mover",
        "groupchr": "mover",
    },
    **{"m": "mtable", "eqarr": "mtable", "mr": "mtr", "d": "mfenced"},
}
_SIGNS = {"acc": "\u0302", "bar": "‾", "groupchr": "⏟", "nary": "∫"}


def _equation(element: etree._Element, tag: str = "mrow") -> etree._Element:
    """An equation, or a part of one, as MathML."""
    name = str(element.tag)
    made = etree.Element(_MATH.get(name, tag))
    made.text = element.text if name == "t" else None
    made.extend(_equation(inner) for inner in element if not inner.tag.endswith("pr"))
    sign = etree.Element("mo")
    sign.text = value(element, f"{name}pr/chr") or _SIGNS.get(name, "")
    if name == "rad":
        made[:] = reversed(made)  # Word puts the degree first
    elif name == "f" and value(element, "fpr/type") == "noBar":
        made.set("linethickness", "0")
    elif name == "d":
        for end, key in (("beg", "open"), ("end", "close")):
            if (own := element.find(f"dpr/{end}chr")) is not None:
                made.set(key, own.get("val", ""))
    elif name in ("acc", "bar", "groupchr"):
        made.append(sign)
        if name != "acc" and value(element, f"{name}pr/pos") == "bot":
            made.tag = "munder"
    elif name == "nary" and len(made):
        inside = made[-1]
        inside.tag = "mtext"  # Spaces around it
        made.insert(0, sign)
        together = etree.Element("mrow")
        together.extend((made, inside))
        return together
    return made
