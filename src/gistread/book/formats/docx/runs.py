"""Turns the runs of a Word paragraph into inline XHTML, as if all changes were accepted."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from lxml import etree

from gistread.book.formats.docx.package import Relation
from gistread.book.formats.docx.styles import RunFormat, Styles, attribute, child, run_format_of
from gistread.book.formats.elements.equations import add_accent, bracket, subscript, superscript
from gistread.book.formats.elements.list_markers import format_number
from gistread.book.formats.elements.markup import append_text, local_name
from gistread.book.formats.elements.semantics import EPUB_TYPE
from gistread.book.normalise import count_words

_DELETED = frozenset(("del", "movefrom", "deltext", "delinstrtext"))
_IGNORED = frozenset(("ppr", "rpr", "commentrangestart", "commentrangeend", "bookmarkend", "prooferr"))
_LINK_FIELD = re.compile(r'\s*HYPERLINK\s+(?:(?:\\[a-z]\s+)*"([^"]*)"|(?=\\l))', re.IGNORECASE)
_LINK_PLACE = re.compile(r'\\l\s+"?([^"\s]+)"?', re.IGNORECASE)
_REFERENCE_FIELD = re.compile(r"\s*(?:REF|PAGEREF|NOTEREF)\s+(\S+)", re.IGNORECASE)
_CONTENTS_FIELD = re.compile(r"\s*TOC\b")
# Characters of symbol fonts that have a Unicode equivalent.
_SYMBOLS = {"f0b7": "•", "f0a7": "▪", "f0fc": "✓", "f0e0": "→", "f0df": "←", "f0b0": "°", "f0b4": "×", "f02d": "−"}
_TAGS = {"b": "strong", "i": "em", "u": "u", "strike": "s", "code": "code", "superscript": "sup", "subscript": "sub"}
_LETTER = re.compile(r"[^\W\d_]")
_EAST_ASIAN = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


@dataclass(frozen=True, slots=True)
class NoteReference:
    kind: str
    number: str
    label: str  # The number or sign in the text


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
    references: list[NoteReference] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)  # Notes so far, by kind
    characters: dict[str, int] = field(default_factory=dict)
    sample: list[str] = field(default_factory=list)
    places: list[str] = field(default_factory=list)  # Bookmarks before the next paragraph
    changes: int = 0
    comments: int = 0
    hidden: int = 0  # Words formatted as hidden
    fields: list[_Field] = field(default_factory=list)

    @property
    def is_in_contents(self) -> bool:
        """Whether inside the result of a table-of-contents field."""
        return any(each.has_result and _CONTENTS_FIELD.match(each.instruction) for each in self.fields)


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
            self._place(place)
        self.state.places.clear()
        self._elements(element)
        for each in self.state.fields:  # In a damaged file, an unfinished field code ends with its paragraph
            each.has_result = True

    def _elements(self, element: etree._Element) -> None:
        for inner in element:
            self._element(inner)

    def _element(self, element: etree._Element) -> None:
        name = local_name(element)
        handler = _HANDLERS.get(name)
        if handler is not None:
            handler(self, element)
        elif name in _DELETED:
            self.state.changes += 1
        elif name in ("omath", "omathpara"):
            self._text(equation_text(element), {})
        elif name not in _IGNORED:
            self._elements(element)

    def _inserted(self, element: etree._Element) -> None:
        self.state.changes += 1
        self._elements(element)

    def _bookmark(self, element: etree._Element) -> None:
        name = attribute(element, "name")
        if name and name != "_GoBack":
            self._place(name)

    def _place(self, name: str) -> None:
        etree.SubElement(self.target, "span", id=name)
        self._leaf = None

    def _hyperlink(self, element: etree._Element) -> None:
        relation = self.state.relations.get(attribute(element, "id") or "")
        anchor = attribute(element, "anchor")
        self._inside(element, (relation.target if relation else "") + (f"#{anchor}" if anchor else ""))

    def _inside(self, element: etree._Element, href: str) -> None:
        outer = self._begin_link(href) if href else None
        self._elements(element)
        if outer is not None:
            self.target, self._leaf = outer, None

    def _begin_link(self, href: str) -> etree._Element:
        """Write into a new link from here on. Returns the element around it."""
        outer = self.target
        self.target, self._leaf = etree.SubElement(outer, "a", href=href), None
        return outer

    def _alternatives(self, element: etree._Element) -> None:
        first = next((inner for inner in element if local_name(inner) in ("choice", "fallback")), None)
        if first is not None:
            self._elements(first)

    def _run(self, element: etree._Element) -> None:
        properties = child(element, "rpr")
        style = attribute(child(properties, "rstyle")) or ""
        look = {**self.state.styles.looks.get(style, {}), **run_format_of(properties)}
        if look.get("vanish"):
            self.state.hidden += sum(count_words(each.text or "") for each in element if local_name(each) == "t")
            return
        for inner in element:
            self._run_part(inner, local_name(inner), look)

    def _run_part(self, element: etree._Element, name: str, look: RunFormat) -> None:
        state = self.state
        if name == "fldchar":
            self._field(attribute(element, "fldchartype") or "")
        elif name == "instrtext":
            if state.fields and not state.fields[-1].has_result:
                state.fields[-1].instruction += element.text or ""
        elif any(not each.has_result for each in state.fields):
            return
        elif name == "t":
            # A repaired file may have elements inside.
            self._text("".join(map(str, element.itertext())) if len(element) else element.text or "", look)
        elif name in ("tab", "ptab"):
            self._text("\t", look)
        elif name in ("br", "cr"):
            if attribute(element, "type") not in ("page", "column"):
                etree.SubElement(self.target, "br")
                self._leaf = None
        elif name == "nobreakhyphen":
            self._text("\u2011", look)
        elif name == "sym":
            self._text(_symbol(attribute(element, "char") or ""), look)
        elif name in ("footnotereference", "endnotereference"):
            self._reference(element, name.removesuffix("reference"))
        elif name == "commentreference":
            state.comments += 1
        elif name == "ruby":
            self._ruby(element)
        elif name in _DELETED:
            state.changes += 1
        elif name not in _IGNORED:
            self._element(element)

    def _field(self, kind: str) -> None:
        fields = self.state.fields
        if kind == "begin":
            fields.append(_Field())
        elif kind == "separate" and fields:
            fields[-1].has_result = True
            href = _href(fields[-1].instruction)
            if href and all(each.has_result for each in fields):
                fields[-1].around = (self, self._begin_link(href))
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
            self.state.references.append(NoteReference(kind, number, text.strip()))
            return
        position = str(look.get("position", ""))
        key = [("span", {"class": "small-caps"})] if look.get("smallcaps") else []
        if language := self._language(text, look):
            key.append(("span", {"lang": language}))
        key += [(tag, {}) for name, tag in _TAGS.items() if look.get(name) or name == position]
        if self._leaf is None or key != self._leaf_key:
            self._leaf, self._leaf_key = self.target, key
            for tag, attributes in key:
                self._leaf = etree.SubElement(self._leaf, tag, attributes)
        append_text(self._leaf, text)

    def _language(self, text: str, look: RunFormat) -> str:
        letters = len(_LETTER.findall(text))
        if not letters:
            return ""
        script = "bidi" if look.get("rtl") else "eastAsia" if _EAST_ASIAN.search(text) else "val"
        language = str(look.get(f"lang {script}", "")) or (self.state.styles.language if script == "val" else "")
        if language.lower().startswith(("x-", "und", "zxx")):
            return ""
        self.state.characters[language] = self.state.characters.get(language, 0) + letters
        if len(self.state.sample) < 200:
            self.state.sample.append(text[:200])
        return language

    def _reference(self, element: etree._Element, kind: str) -> None:
        number = attribute(element, "id") or ""
        link = etree.SubElement(self.target, "a", {"href": f"#{kind} {number}", EPUB_TYPE: "noteref"})
        self._leaf = None
        if (attribute(element, "custommarkfollows") or "0").lower() in ("1", "true", "on"):
            self._custom_reference = (link, kind, number)
            return
        count = self.state.counts[kind] = self.state.counts.get(kind, 0) + 1
        label = format_number(count, "i" if kind == "endnote" else "1")
        link.text = label
        self.state.references.append(NoteReference(kind, number, label))

    def _ruby(self, element: etree._Element) -> None:
        ruby = etree.SubElement(self.target, "ruby")
        for name, tag in (("rubybase", "rb"), ("rt", "rt")):
            part = etree.SubElement(ruby, tag)
            found = child(element, name)
            part.text = "".join(e.text or "" for e in found.iter() if local_name(e) == "t") if found is not None else ""
        self._leaf = None

    def _picture(self, element: etree._Element) -> None:
        words = next(
            filter(None, (attribute(e, key) for e in _drawn(element, "docpr") for key in ("descr", "title"))), ""
        )
        words = words or next(filter(None, (attribute(e, "alt") for e in _drawn(element, "shape"))), "")
        inside = list(_drawn(element, "blip", "imagedata", "rect", "txbxcontent", "textpath"))
        if words and not inside:  # A diagram, drawn in other files
            etree.SubElement(self.target, "img", {"src": "", "alt": words})
            self._leaf = None
        for inner in inside:
            name = local_name(inner)
            if name == "txbxcontent":
                self.boxes.append(inner)
            elif name == "textpath":
                self._text(attribute(inner, "string") or "", {})
            elif name == "rect":
                if (attribute(inner, "hr") or "").lower() in ("t", "true", "1"):
                    self.boxes.append(etree.Element("hr"))
            else:
                self._image(inner, words)

    def _image(self, element: etree._Element, words: str) -> None:
        numbers = (attribute(element, key) for key in ("embed", "link", "id"))
        relation = next((self.state.relations[n] for n in numbers if n and n in self.state.relations), None)
        if relation is None:
            return
        image = etree.SubElement(self.target, "img")
        image.set("src", relation.target)
        if words := words or attribute(element, "title") or "":
            image.set("alt", words)
        self._leaf = None


def _drawn(element: etree._Element, *names: str) -> Iterator[etree._Element]:
    """Descendants of a drawing by name, in order, without those inside text boxes."""
    for inner in element:
        name = local_name(inner)
        if name in names:
            yield inner
        if name != "txbxcontent":
            yield from _drawn(inner, *names)


def _href(instruction: str) -> str:
    match = _LINK_FIELD.match(instruction)
    if match:
        place = _LINK_PLACE.search(instruction)
        return (match[1] or "") + (f"#{place[1]}" if place else "")
    match = _REFERENCE_FIELD.match(instruction)
    return f"#{match[1]}" if match and "\\h" in instruction else ""


def _symbol(code: str) -> str:
    known = _SYMBOLS.get(code.lower())
    if known:
        return known
    try:
        char = chr(int(code, 16))
    except (ValueError, OverflowError):
        return ""
    return "" if "\ue000" <= char <= "\uf8ff" else char


_HANDLERS: dict[str, Callable[[RunWriter, etree._Element], None]] = {
    "r": RunWriter._run,
    "ins": RunWriter._inserted,
    "moveto": RunWriter._inserted,
    "hyperlink": RunWriter._hyperlink,
    "fldsimple": lambda writer, element: writer._inside(element, _href(attribute(element, "instr") or "")),
    "bookmarkstart": RunWriter._bookmark,
    "alternatecontent": RunWriter._alternatives,
    "drawing": RunWriter._picture,
    "pict": RunWriter._picture,
    "object": RunWriter._picture,
}


_DEEPEST = 40


def equation_text(element: etree._Element, depth: int = 0) -> str:
    name = local_name(element)
    if depth > _DEEPEST:
        return "".join(map(str, element.itertext()))

    def part(*path: str) -> str:
        found = child(element, *path)
        return equation_text(found, depth + 1) if found is not None else ""

    if name == "t":
        return element.text or ""
    if name == "f":
        if attribute(child(element, "fpr", "type")) == "noBar":
            return f"{part('num')} choose {part('den')}"
        return f"{bracket(part('num'))}/{bracket(part('den'))}"
    if name in ("ssup", "ssub", "ssubsup"):
        below = subscript(part("sub")) if "sub" in name else ""
        above = superscript(part("sup")) if "sup" in name else ""
        return part("e") + below + above
    if name == "rad":
        return f"{superscript(part('deg')).lstrip('^')}√{bracket(part('e'))}"
    if name in ("m", "eqarr", "mr"):
        rows = (equation_text(e, depth + 1) for e in element if local_name(e) in ("mr", "e"))
        return (" " if name == "mr" else "; ").join(rows)
    if name in ("acc", "bar", "groupchr"):
        sign = attribute(child(element, f"{name}pr", "chr")) or {"acc": "\u0302", "bar": "‾"}.get(name, "⏟")
        under = attribute(child(element, f"{name}pr", "pos")) == "bot"
        return add_accent(part("e"), "_" if under and name == "bar" else sign, under=under) or part("e")
    if name in ("limlow", "limupp"):
        return part("e") + (subscript if name == "limlow" else superscript)(part("lim"))
    if name == "nary":
        sign = attribute(child(element, "narypr", "chr")) or "∫"
        return f"{sign}{subscript(part('sub'))}{superscript(part('sup'))} {part('e')}"
    if name == "d":
        opening, closing = (attribute(child(element, "dpr", f"{end}chr")) for end in ("beg", "end"))
        inside = ", ".join(equation_text(e, depth + 1) for e in element if local_name(e) == "e")
        return f"{'(' if opening is None else opening}{inside}{')' if closing is None else closing}"
    return "".join(equation_text(inner, depth + 1) for inner in element if not local_name(inner).endswith("pr"))
