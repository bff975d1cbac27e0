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
_SYMBOL_FONT = "font"
"""The key of a run's look that names a symbol font."""
_LINK_FIELD = re.compile(r'\s*HYPERLINK\s+(?:(?:\\[a-z]\s+)*"([^"]*)"|(?=\\l))', re.IGNORECASE)
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
        elif name in ("drawing", "pict", "object"):
            self._picture(element)
        elif name in _DELETED:
            self.state.delete(element)
        elif name == "t":
            self._run_part(element, {})
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
            self._elements(shown_form(element))
        else:
            self.state.changes += name in ("ins", "moveto")
            if name in _INNER_BLOCKS and (len(self.target) or self.target.text):
                self._add("br")
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
            self.state.hidden += words_of_runs(element)
            return
        if (font := symbol_font(properties)) is not None:
            look = {**look, _SYMBOL_FONT: font}
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
            state.field_words += words_of_runs(element)
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
            self._symbol(element, look)
        elif name in ("footnotereference", "endnotereference"):
            self._reference(element, name.removesuffix("reference"))
        elif name == "commentreference":
            state.comments += 1
        elif name == "ruby":
            self._ruby(element)
        else:
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
            etree.SubElement(ruby, tag).text = "".join(text.text or "" for text in texts)

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
                relations = (
                    self.state.relations.get(inner.get(key, "")) for key in ("embed", "link", "id")
                )
                for relation in [*filter(None, relations)][:1]:
                    image = self._add("img", src=relation.target)
                    if described := words or inner.get("title"):
                        image.set("alt", described)


def symbol_font(properties: etree._Element | None) -> str | None:
    """The symbol font of a run; None if it has none."""
    fonts = properties.find("rfonts") if properties is not None else None
    named = (str(value) for value in fonts.attrib.values()) if fonts is not None else ()
    return next((font for font in named if font.lower() in ("symbol", "wingdings")), None)


def words_of_runs(element: etree._Element) -> int:
    """Words in the texts of an element, deleted ones included."""
    texts = ("".join(map(str, each.itertext())) for each in element.iter("t", "deltext"))
    return sum(map(count_words, texts))


def shown_form(element: etree._Element) -> etree._Element:
    """The form of alternate content that is read: the first one with words or a picture."""
    forms = [inner for inner in element if inner.tag in ("choice", "fallback")]
    for form in forms:
        has_picture = next(form.iter("blip", "imagedata"), None) is not None
        if has_picture or words_of_runs(form):
            return form
    return forms[0] if forms else element


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
