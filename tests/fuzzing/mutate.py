"""Breaks bytes of a file, or of a member of an archive, which is then packed again."""

import io
import re
import warnings
import zipfile
from random import Random

_TOKEN = re.compile(rb"<[^<>]{0,200}>|&[^;\s]{0,20};|/[A-Za-z]+|\d+|\w+")
_LARGEST_BYTES = 1_000_000
_NASTY = (
    b"\0",
    b"\xff\xfe",
    b"\x1b[2J",
    "\u202e".encode(),
    b"-1",
    b"0",
    b"99999999999999999999",
    b"1e308",
    b"<",
    b">",
    b"&",
    b"&nbsp;",
    b"&#0;",
    b"&#xFFFFFF;",
    b"<![CDATA[",
    b"]]>",
    b"<!--",
    b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]>',
    b"\n",
    b"\r",
    b"\t",
    b" ",
    b"'\"",
    b"../../../etc/passwd",
    b"file:///etc/passwd",
    b"#",
    b"```",
    b"[[[[",
    b"((((",
    b"<p>",
    b"</p>",
    b"<table><tr><td>",
    b"stream",
    b"endobj",
    b"obj",
    b"<<",
    b">>",
    b"\xed\xa0\x80",
    "\u00ad\u200b\u2028".encode(),
    "e\u0301\u0323".encode(),
)


def mutated(data: bytes, random: Random, others: list[bytes]) -> bytes:
    """A file made of `data`, broken somewhere.

    `others` are files of the same format, to take pieces from.
    """
    if data[:2] == b"PK" and random.random() < 0.75:
        return _member_mutated(data, random)
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        data = _break_bytes(data, random, others)[:_LARGEST_BYTES]
    return data


def _member_mutated(data: bytes, random: Random) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    texts = [content for _, content in members]
    index = random.randrange(len(members))
    name, content = members[index]
    what = random.random()
    if what < 0.05:
        del members[index]
    elif what < 0.1:
        members[index] = (
            random.choice(("../x", "/abs", "a\\b", name.upper(), "x" * 500, "é\u202e")),
            content,
        )
    elif what < 0.13:
        members.append((name, content))
    else:
        for _ in range(random.choice((1, 1, 2, 4))):
            content = _break_bytes(content, random, texts)[:_LARGEST_BYTES]
        members[index] = (name, content)
    packed = io.BytesIO()
    with (
        warnings.catch_warnings(),
        zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        warnings.simplefilter("ignore")  # two members of one name: just what is wanted
        for name, content in members:
            archive.writestr(zipfile.ZipInfo(name), content)
    return packed.getvalue()


def _break_bytes(data: bytes, random: Random, others: list[bytes]) -> bytes:
    if not data:
        return random.choice(_NASTY)
    at = random.randrange(len(data))
    until = min(len(data), at + random.choice((1, 2, 4, 16, 100, 1000)))
    match random.randrange(11):
        case 0:
            return (
                data[:at]
                + bytes([data[at] ^ (1 << random.randrange(8))])
                + data[at + 1 :]
            )
        case 1:
            return data[:at] + random.randbytes(until - at) + data[until:]
        case 2:
            return data[:at] + data[until:]
        case 3:
            return data[:at]
        case 4:
            return data[:at] + random.choice(_NASTY) + data[at:]
        case 5:
            return (
                data[:at]
                + data[at:until] * random.choice((2, 3, 30, 300))
                + data[until:]
            )
        case 6:
            other = random.choice(others)
            start = random.randrange(len(other)) if other else 0
            return (
                data[:at]
                + other[start : start + random.choice((10, 100, 2000))]
                + data[at:]
            )
        case 7 | 8 | 9:
            return _token(data, at, random)
        case _:
            return (
                data[:at]
                + random.choice(_NASTY) * random.choice((5, 50, 2000))
                + data[at:]
            )


def _token(data: bytes, at: int, random: Random) -> bytes:
    """A tag, a name or a number gone, doubled, or put in the place of another."""
    here = _TOKEN.search(data, at) or _TOKEN.search(data)
    there = _TOKEN.search(data, random.randrange(len(data)))
    if here is None or there is None:
        return data[::-1]
    put = random.choice(
        (
            b"",
            here[0][:500] * 2,
            there[0],
            random.choice(_NASTY),
            here[0][:500] * random.choice((10, 1000)),
        )
    )
    return data[: here.start()] + put + data[here.end() :]
