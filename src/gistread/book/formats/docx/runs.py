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
_SYMBOL_FONT = "font"  # The key of a run's format that names a symbol font
_LAST_EDIT = "_GoBack"  # Word's bookmark of the last edit
# Codes of fields: 'HYPERLINK "https://example.org" \l "bookmark"', 'REF bookmark \h', 'TOC \o'.
_LINK_FIELD = re.compile(
    r'\s*HYPERLINK\s+(?:(?:\\[a-z]\s+)*"([^"]*)"|(?=\\l))', re.IGNORECASE
)
_LINK_BOOKMARK = re.compile(r'\\l\s+"?([^"\s]+)"?', re.IGNORECASE)
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
    is_external: bool


@dataclass(frozen=True, slots=True)
class NoteReference:
    kind: str  # "footnote", "endnote"
    id: str
    label: str  # The number or sign in the text


@dataclass(slots=True)
class _Field:
    """A field that is being read: its code first, then its result, which is shown."""

    code: str = ""
    has_result: bool = False  # Whether the result has begun
    # For a link: the writer of its paragraph, and the element around the link.
    link_writer: "RunWriter | None" = None
    link_parent: etree._Element | None = None


@dataclass(frozen=True, slots=True)
class _CustomReference:
    """A link to a note whose sign is the text after it."""

    link: etree._Element
    kind: str
    id: str


@dataclass(slots=True)
class RunState:
    """What the writers of all paragraphs of a document share."""

    styles: Styles
    relations: Mapping[str, Relation]
    references: list[NoteReference] = field(default_factory=list)
    note_counts: Counter[str] = field(default_factory=Counter)  # So far, by kind
    letters: Counter[str] = field(default_factory=Counter)  # By language
    # Names of the bookmarks before the next paragraph
    bookmarks: list[str] = field(default_factory=list)
    changes: int = 0
    comments: int = 0
    hidden_words: int = 0
    deleted_words: int = 0
    field_words: int = 0  # In the codes of fields
    unknown_symbols: int = 0  # Characters of symbol fonts
    fields: list[_Field] = field(default_factory=list)  # Open ones, outermost first

    def delete(self, element: etree._Element) -> None:
        """Count a tracked deletion."""
        self.changes += 1
        self.deleted_words += words_of_runs(element)

    @property
    def is_in_contents(self) -> bool:
        """Whether inside the result of a table-of-contents field."""
        return any(
            open_field.has_result and _CONTENTS_FIELD.match(open_field.code)
            for open_field in self.fields
        )


_Format = list[tuple[str, dict[str, str]]]  # Tags and attributes, the outermost first


@dataclass(slots=True)
class RunWriter:
    """Writes the runs of a paragraph into `target`, a paragraph of XHTML."""

    target: etree._Element
    state: RunState
    boxes: list[etree._Element] = field(default_factory=list)  # Text boxes and rules
    # The innermost element of the last run, and the elements that its format calls for.
    _leaf: etree._Element | None = None
    _leaf_format: _Format = field(default_factory=list)
    _custom_reference: _CustomReference | None = None

    def write(self, element: etree._Element) -> None:
        """Write a paragraph, after the bookmarks that stand before it."""
        for bookmark in self.state.bookmarks:
            self._add("span", id=bookmark)
        self.state.bookmarks.clear()
        self._elements(element)
        # In a damaged file, an unfinished field code ends with its paragraph.
        for open_field in self.state.fields:
            open_field.has_result = True

    def write_one(self, element: etree._Element) -> None:
        """Write a part of a run that stands outside any paragraph."""
        self._run_part(element, {})

    def _elements(self, element: etree._Element) -> None:
        for inner in element:
            self._element(inner)

    def _element(self, element: etree._Element) -> None:
        """Write an element of a paragraph: a run, a link, an equation and so on."""
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
            self._content_of(element)

    def _content_of(self, element: etree._Element) -> None:
        """Write the content of an element without a meaning of its own, such as an insertion."""
        name = element.tag
        if name in ("ins", "moveto"):
            self.state.changes += 1
        # A paragraph inside this one begins on a line of its own.
        has_content = len(self.target) or self.target.text
        if name in _INNER_BLOCKS and has_content:
            self._add("br")
        self._elements(element)

    def _bookmark(self, name: str | None) -> None:
        if name != _LAST_EDIT:
            self._add("span", id=name or "")

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
        """Write the content of an element inside a link, if there is an address."""
        if not href:
            self._elements(element)
            return
        outer = self.target
        self.target = self._add("a", href=href)
        self._elements(element)
        self.target = outer
        self._leaf = None

    def _run(self, element: etree._Element) -> None:
        """Write a run in its format; a hidden one is only counted."""
        properties = element.find("rpr")
        style_id = value(properties, "rstyle")
        formatting = {
            **self.state.styles.run_formats.get(style_id, {}),
            **run_format_of(properties),
        }
        is_hidden = formatting.get("vanish")
        if is_hidden:
            self.state.hidden_words += words_of_runs(element)
            return
        font = symbol_font(properties)
        if font is not None:
            formatting[_SYMBOL_FONT] = font
        for inner in element:
            self._run_part(inner, formatting)

    def _run_part(self, element: etree._Element, formatting: RunFormat) -> None:
        """Write a part of a run, unless it belongs to the code of a field."""
        fields = self.state.fields
        if element.tag == "fldchar":
            self._field_character(element.get("fldchartype", ""))
        elif element.tag == "instrtext":
            if fields and not fields[-1].has_result:
                fields[-1].code += element.text or ""
        elif any(not open_field.has_result for open_field in fields):
            self.state.field_words += words_of_runs(element)
        else:
            self._visible_part(element, formatting)

    def _visible_part(self, element: etree._Element, formatting: RunFormat) -> None:
        """Write a part of a run: text, a line end, a symbol, a reference to a note."""
        match element.tag:
            case "t":
                # A repaired file may have elements inside.
                self._text("".join(map(str, element.itertext())), formatting)
            case str(name) if name in _TEXT_OF:
                self._text(_TEXT_OF[name], formatting)
            case "br" | "cr":
                if element.get("type") not in ("page", "column"):
                    self._add("br")
            case "sym":
                self._symbol(element, formatting)
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

    def _symbol(self, element: etree._Element, formatting: RunFormat) -> None:
        """Write a character of a symbol font; one without a counterpart is only counted."""
        code = element.get("char", "").lower()
        if not _SYMBOL_CODE.fullmatch(code):
            return
        character = symbol(int(code, 16), element.get("font", ""))
        if not character:
            self.state.unknown_symbols += 1
        self._text(character, formatting)

    def _ruby(self, element: etree._Element) -> None:
        """Write a base text with its reading above it."""
        base_texts = list(element.iterfind("rubybase//t"))
        reading_texts = list(element.iterfind("rt//t"))
        text_count = sum(1 for _ in element.iter("t", "deltext"))
        if len(base_texts) + len(reading_texts) < text_count:
            # There are words beside its two parts.
            self._elements(element)
            return
        ruby = self._add("ruby")
        for tag, texts in (("rb", base_texts), ("rt", reading_texts)):
            words = "".join(text.text or "" for text in texts)
            etree.SubElement(ruby, tag).text = words

    def _field_character(self, kind: str) -> None:
        """Begin a field, its result, or end it."""
        fields = self.state.fields
        if kind == "begin":
            fields.append(_Field())
        elif kind == "separate" and fields:
            current = fields[-1]
            current.has_result = True
            href = _href(current.code)
            # Inside the code of another field, nothing is shown.
            is_shown = all(open_field.has_result for open_field in fields)
            if href and is_shown:
                current.link_writer = self
                current.link_parent = self.target
                self.target = self._add("a", href=href)
        elif kind == "end" and fields:
            ended = fields.pop()
            # The link of a field from an earlier paragraph has ended with that.
            if ended.link_writer is self and ended.link_parent is not None:
                self.target = ended.link_parent
                self._leaf = None

    def _text(self, text: str, formatting: RunFormat) -> None:
        """Write text, into the elements of the text before it if both have the same format."""
        text = in_unicode(text, str(formatting.get(_SYMBOL_FONT, "")))
        if not text:
            return
        if self._custom_reference is not None:
            self._end_custom_reference(self._custom_reference, text)
            return
        elements = self._elements_for(text, formatting)
        if self._leaf is None or elements != self._leaf_format:
            self._leaf = self.target
            self._leaf_format = elements
            for tag, attributes in elements:
                self._leaf = etree.SubElement(self._leaf, tag, attributes)
        append_text(self._leaf, text)

    def _end_custom_reference(self, reference: _CustomReference, sign: str) -> None:
        self._custom_reference = None
        reference.link.text = sign
        self.state.references.append(
            NoteReference(reference.kind, reference.id, sign.strip())
        )

    def _elements_for(self, text: str, formatting: RunFormat) -> _Format:
        """The elements that the formatting and the language of a text call for."""
        elements: _Format = []
        if formatting.get("smallcaps"):
            elements.append(("span", {"class": "small-caps"}))
        language = self._language(text, formatting)
        if language:
            elements.append(("span", {"lang": language}))
        for name, tag in _TAGS.items():
            if formatting.get(name) or name == formatting.get("position"):
                elements.append((tag, {}))
        return elements

    def _language(self, text: str, formatting: RunFormat) -> str:
        """The language of a text, whose letters it counts; empty if it has no letters."""
        letters = len(_LETTER.findall(text))
        if not letters:
            return ""
        attribute = _language_attribute(text, formatting)
        language = str(formatting.get(f"lang {attribute}", ""))
        if not language and attribute == "val":
            # The default of the document is for western scripts.
            language = self.state.styles.language
        if language.lower().startswith(("x-", "und", "zxx")):
            return ""
        self.state.letters[language] += letters
        return language

    def _reference(self, element: etree._Element, kind: str) -> None:
        """Write a reference to a note: Arabic numbers for footnotes, Roman ones for endnotes."""
        note_id = element.get("id", "")
        link = self._add("a", href=f"#{kind} {note_id}")
        link.set(EPUB_TYPE, "noteref")
        has_own_sign = element.get("custommarkfollows", "").lower() in _ON
        if has_own_sign:
            # The text after the reference is its sign.
            self._custom_reference = _CustomReference(link, kind, note_id)
            return
        self.state.note_counts[kind] += 1
        style = "i" if kind == "endnote" else "1"
        label = format_number(self.state.note_counts[kind], style)
        link.text = label
        self.state.references.append(NoteReference(kind, note_id, label))

    def _picture(self, element: etree._Element) -> None:
        """Write the pictures and words of a drawing; text boxes are kept for later."""
        description = _description(element)
        parts = list(_drawn(element, *_DRAWN))
        for deleted in _drawn(element, "deltext"):
            self.state.delete(deleted)
        if description and not parts:  # A diagram, drawn in other files
            self._add("img", src="", alt=description)
        for part in parts:
            self._part_of_picture(part, description)

    def _part_of_picture(self, part: etree._Element, description: str) -> None:
        if part.tag == "txbxcontent":
            self.boxes.append(part)
        elif part.tag == "t":
            words = "".join(map(str, part.itertext()))
            self._text(f" {words} ", {})
        elif part.tag == "textpath":
            self._text(part.get("string", ""), {})
        elif part.tag == "rect":
            is_rule = part.get("hr", "").lower() in _ON
            if is_rule:
                self.boxes.append(etree.Element("hr"))
        else:
            self._image(part, description or part.get("title", ""))

    def _image(self, element: etree._Element, description: str) -> None:
        """Write a picture, if the file says where its bytes are."""
        for key in ("embed", "link", "id"):
            relation = self.state.relations.get(element.get(key, ""))
            if relation is not None:
                image = self._add("img", src=relation.target)
                if description:
                    image.set("alt", description)
                return


def _description(drawing: etree._Element) -> str:
    """The author's description of a picture; empty if there is none."""
    for properties in _drawn(drawing, "docpr"):
        description = properties.get("descr") or properties.get("title")
        if description:
            return description
    for shape in _drawn(drawing, "shape"):
        description = shape.get("alt")
        if description:
            return description
    return ""


def _language_attribute(text: str, formatting: RunFormat) -> str:
    """The attribute of `<w:lang>` that has the language of a text in this script."""
    if formatting.get("rtl"):
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
    for font in map(str, fonts.attrib.values()):
        if font.lower() in ("symbol", "wingdings"):
            return font
    return None


def words_of_runs(element: etree._Element) -> int:
    """Number of words in an element, deleted ones included."""
    words = 0
    for text in element.iter("t", "deltext"):
        words += count_words("".join(map(str, text.itertext())))
    return words


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


def _href(field_code: str) -> str:
    """The address of a field that is a link; empty for other fields."""
    link = _LINK_FIELD.match(field_code)
    if link:
        page = link[1] or ""
        bookmark = _LINK_BOOKMARK.search(field_code)
        return f"{page}#{bookmark[1]}" if bookmark else page
    reference = _REFERENCE_FIELD.match(field_code)
    # The switch "\h" makes a link of a reference.
    is_link = "\\h" in field_code
    if reference is None or not is_link:
        return ""
    return f"#{reference[1]}"


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
    """An equation, or a part of one, as MathML. `tag`: for a part that MathML has no name for."""
    name = str(element.tag)
    equation = etree.Element(_MATH.get(name, tag))
    equation.text = element.text if name == "t" else None
    equation.extend(map(_equation, _without_properties(element)))
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
    elif name == "nary" and len(equation):  # It has limits or an operand
        return _with_operator(equation, _sign(element, name))
    return equation


def _without_properties(element: etree._Element) -> list[etree._Element]:
    """The children of a part of an equation, without those that describe it (`fPr`)."""
    return [child for child in element if not child.tag.endswith("pr")]


def _sign(element: etree._Element, name: str) -> etree._Element:
    """The sign of an accent or of an operator such as a sum."""
    sign = etree.Element("mo")
    sign.text = value(element, f"{name}pr/chr") or _SIGNS.get(name, "")
    return sign


def _set_brackets(equation: etree._Element, element: etree._Element) -> None:
    """Give an <mfenced> the brackets of Word's delimiters."""
    for name, key in (("begchr", "open"), ("endchr", "close")):
        bracket = element.find(f"dpr/{name}")
        if bracket is not None:
            equation.set(key, bracket.get("val", ""))


def _with_operator(limits: etree._Element, sign: etree._Element) -> etree._Element:
    """A row of an operator with its limits and its operand, the last element of `limits`."""
    operand = limits[-1]
    operand.tag = "mtext"  # Spaces around it
    limits.insert(0, sign)
    row = etree.Element("mrow")
    row.extend((limits, operand))
    return row
