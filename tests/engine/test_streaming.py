"""Token pieces become text: whole characters, no reasoning, nothing after a stop string."""

from hypothesis import given
from hypothesis import strategies as st

from gistread.engine.llama.worker.requests import TextStream


def fed(pieces: list[bytes], *stop: str) -> tuple[str, TextStream]:
    stream = TextStream(stop)
    shown = "".join(map(stream.feed, pieces)) + stream.finish()
    assert shown == stream.text
    return shown, stream


@given(st.text().filter(lambda text: "think>" not in text), st.integers(1, 5))
def test_text_does_not_depend_on_how_bytes_are_split(text: str, size: int) -> None:
    data = text.encode()
    assert fed([data[i : i + size] for i in range(0, len(data), size)])[0] == text


def test_a_character_is_shown_when_it_is_whole() -> None:
    stream = TextStream()
    assert stream.feed("é".encode()[:1]) == ""
    assert stream.feed("é".encode()[1:]) == "é"


def test_nothing_is_shown_past_a_stop_string_even_when_it_comes_in_pieces() -> None:
    shown, stream = fed([b"One.\n", b"\n", b"Two."], "\n\n")
    assert shown == "One."
    assert stream.stopped
