"""Reads the metadata of an EPUB's package: title, authors, language, identifiers, cover."""

import re

from lxml import etree

from gistread.book.formats.elements.markup import elements_named, first_named, plain_text
from gistread.book.normalise import language_tag

_UUID = re.compile(r"(?:urn:)?(?:uuid:)?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})", re.IGNORECASE)
_ISBN = re.compile(r"(?:urn:)?(?:isbn(?:-1[03])?)?[: ]*([0-9][0-9 -]{8,16}[0-9xX])", re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{1,20}")


def _metadata(root: etree._Element, name: str) -> list[etree._Element]:
    metadata = first_named(root, "metadata")
    return (
        [element for element in elements_named(metadata, name) if plain_text(element)] if metadata is not None else []
    )


def _refined(root: etree._Element, name: str) -> dict[str, str]:
    """Values of `<meta refines="#id" property="name">` by id."""
    return {
        meta.get("refines", "").removeprefix("#"): plain_text(meta)
        for meta in _metadata(root, "meta")
        if meta.get("property") == name
    }


def title_of(root: etree._Element) -> str:
    """The main title, or the first."""
    titles = _metadata(root, "title")
    types = _refined(root, "title-type")
    main = [title for title in titles if types.get(title.get("id", "")) == "main"]
    return plain_text((main or titles)[0]) if titles else ""


def authors_of(root: etree._Element) -> tuple[str, ...]:
    """Creators with the role of author, in order; all creators if there are none."""
    roles = _refined(root, "role")
    creators = _metadata(root, "creator")

    def role(creator: etree._Element) -> str:
        own = [value for key, value in creator.attrib.items() if str(key).rpartition("}")[2] == "role"]
        return roles.get(creator.get("id", ""), str(own[0]) if own else "")

    authors = [creator for creator in creators if role(creator) in ("", "aut")]
    return tuple(dict.fromkeys(plain_text(creator) for creator in authors or creators))


def language_of(root: etree._Element) -> str:
    """The first valid language, in BCP 47."""
    return next(filter(None, (language_tag(plain_text(element)) for element in _metadata(root, "language"))), "")


def identifiers_of(root: etree._Element) -> tuple[str, ...]:
    """Such as `isbn:9780140439182`, `urn:uuid:...` or a URL; the package's unique identifier first."""
    own = root.get("unique-identifier", "")
    kinds = _refined(root, "identifier-type")
    elements = sorted(_metadata(root, "identifier"), key=lambda element: element.get("id", "") != own)
    return tuple(dict.fromkeys(_identifier(element, kinds.get(element.get("id", ""), "")) for element in elements))


def _identifier(element: etree._Element, kind: str) -> str:
    text = plain_text(element)
    uuid = _UUID.fullmatch(text)
    if uuid:
        return f"urn:uuid:{uuid[1].lower()}"
    isbn = _ISBN.fullmatch(text)
    if isbn:
        number = re.sub("[ -]", "", isbn[1]).upper()
        if _is_isbn(number):
            return f"isbn:{number}"
    schemes = [str(value) for name, value in element.attrib.items() if str(name).rpartition("}")[2] == "scheme"]
    scheme = next(iter(schemes), "") or kind
    if ":" in text or not _SCHEME.fullmatch(scheme):
        return text
    return f"{scheme.lower()}:{text}"


def _is_isbn(number: str) -> bool:
    """Whether the check digit is right."""
    if len(number) == 13 and number.isdigit():
        return sum(int(digit) * (3 if at % 2 else 1) for at, digit in enumerate(number)) % 10 == 0
    if len(number) == 10 and number[:9].isdigit():
        digits = [*map(int, number[:9]), 10 if number[9] == "X" else int(number[9])]
        return sum(digit * (10 - at) for at, digit in enumerate(digits)) % 11 == 0
    return False


def cover_id(root: etree._Element) -> str:
    """Manifest id of an EPUB 2 cover: `<meta name="cover" content="id"/>`."""
    metas = (meta for meta in elements_named(root, "meta") if meta.get("name", "").lower() == "cover")
    return next((meta.get("content", "") for meta in metas), "")
