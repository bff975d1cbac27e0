"""A page that a browser saved as one file (MHTML): a letter with the page as its first part, and what it shows.

Only the page itself is read, as any page of HTML is. Fetches nothing.
"""

import email
import email.policy
from email.message import Message

from gistread.book.formats.declared import codec_of, decode_declared, encoding_notices
from gistread.book.formats.encoding import Decoded
from gistread.book.formats.html import DECLARATION, read_page
from gistread.book.model import Book
from gistread.errors import BookError

_MOST_PARTS = 10_000


def read_mhtml(data: bytes, name: str) -> Book:
    """The page in `data`. `name` is what messages call it. Raises BookError."""
    page = _page(email.message_from_bytes(data, policy=email.policy.compat32))
    decoded = _decoded(page) if page is not None else None
    if decoded is None:
        raise BookError(f"{name} is a saved page (MHTML) with no page of HTML in it.", "Save the page again, as HTML.")
    return read_page(decoded.text, name, notices=encoding_notices(decoded))


def _page(message: Message) -> Message | None:
    """The first part that is HTML: the page; those of its frames come after it."""
    for number, part in enumerate(message.walk()):
        if part.get_content_type() in ("text/html", "application/xhtml+xml"):
            return part
        if number > _MOST_PARTS:
            break
    return None


def _decoded(page: Message) -> Decoded | None:
    payload = page.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return None
    codec = codec_of(page.get_content_charset() or "")
    if codec:
        text = payload.decode(codec, errors="replace")
        return Decoded(text, codec, text.count("\ufffd"))
    return decode_declared(payload, DECLARATION)
