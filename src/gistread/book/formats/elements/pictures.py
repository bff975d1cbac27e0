"""Reads the source and description of pictures in XHTML: <img>, <image>, <object>, <svg>."""

import re
from dataclasses import dataclass
from itertools import islice

from lxml import etree

from gistread.book.formats.elements.markup import local_name, plain_text
from gistread.book.normalise import join_title

_XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
# Bounds the search for words beside a picture.
_NEAR_ELEMENTS = 40
_FILE_NAME = re.compile(r"\S+\.(?:png|jpe?g|gif|svg|webp|bmp|tiff?)", re.IGNORECASE)
_DRAWN_TEXT = ("text", "foreignobject")
_DESCRIPTIONS = ("alt", "aria-label", "title")


@dataclass(frozen=True, slots=True)
class Picture:
    source: str
    words: str  # The author's description; empty for decoration


def picture_of(element: etree._Element) -> Picture:
    """An <img>, an SVG <image>, or an <object> that shows one."""
    keys = ("src", "data", _XLINK_HREF, "xlink:href", "href")
    source = next(filter(None, map(element.get, keys)), "")
    return Picture("" if source.lstrip()[:5].lower() == "data:" else source.strip(), _description(element))


def is_decoration(element: etree._Element) -> bool:
    """Whether a picture is decorative: an empty description, and words beside it or a decorative role."""
    parent = element.getparent()
    if element.get("alt") != "" or parent is None:
        return False
    if element.get("role") in ("presentation", "none"):
        return True
    near = islice(parent.iterdescendants(), _NEAR_ELEMENTS)
    return any(
        (text or "").strip() for text in (parent.text, *(part for each in near for part in (each.text, each.tail)))
    )


def is_picture_object(element: etree._Element) -> bool:
    """Whether an <object> shows a picture and has no fallback text."""
    return element.get("type", "").startswith("image/") and not plain_text(element)


def svg_pictures(element: etree._Element) -> list[Picture]:
    """The images in an <svg>, or the drawing itself. The first image gets the description."""
    titles = (plain_text(each) for each in element.iter() if local_name(each) in ("title", "desc"))
    words = _description(element) or join_title([*dict.fromkeys(filter(None, titles))] or [""])
    images = [picture_of(each) for each in element.iter() if local_name(each) == "image"]
    if not images:
        return [Picture("", words)] if words else []
    if not images[0].words:
        images[0] = Picture(images[0].source, words)
    return images


def drawn_text(element: etree._Element) -> str:
    return " ".join(filter(None, (plain_text(each) for each in element.iter() if local_name(each) in _DRAWN_TEXT)))


def _description(element: etree._Element) -> str:
    """The author's description; a file name inserted by a tool is none."""
    words = next((" ".join(words.split()) for name in _DESCRIPTIONS if (words := element.get(name))), "")
    return "" if _FILE_NAME.fullmatch(words) else words
