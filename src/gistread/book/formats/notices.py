"""Notices of content that was left out of a book."""

from collections.abc import Iterator, Mapping


def left_out_notices(counts: Mapping[str, int]) -> Iterator[str]:
    """A sentence for each kind of omitted content, such as "hidden word(s)", and its count."""
    for name, count in counts.items():
        if count:
            ending, verb = ("", "was") if count == 1 else ("s", "were")
            yield f"{count:,} {name.replace('(s)', ending)} {verb} left out."
