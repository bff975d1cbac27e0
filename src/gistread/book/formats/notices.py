"""Notices of what a file holds and its book does not."""

from collections.abc import Iterator, Mapping


def left_out_notices(counts: Mapping[str, int]) -> Iterator[str]:
    """A sentence for each thing left out, by its name, such as "hidden word(s)"."""
    for name, count in counts.items():
        if count:
            ending, verb = ("", "was") if count == 1 else ("s", "were")
            yield f"{count:,} {name.replace('(s)', ending)} {verb} left out."
