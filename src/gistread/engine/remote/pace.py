"""How fast a server answers, by its replies: it decides how much text a question shows it."""

from dataclasses import dataclass

from gistread.engine.protocol import Rates

# A shorter prompt says more about the network than about the model
_LEAST_PROMPT_TOKENS = 40
_LEAST_SECONDS = 0.02
_LATEST_WEIGHT = 0.5  # Of the latest reply
# Prompt tokens evaluated in the time of one decoded token, until an answer has been timed
_DECODED_SLOWER = 10


@dataclass(slots=True)
class ServerPace:
    """Tokens a second, learned from one reply after another."""

    prefill: float = 0.0  # 0: not known yet
    decode: float = 0.0

    @property
    def rates(self) -> Rates | None:
        """None before a reply has been timed."""
        if not self.prefill:
            return None
        return Rates(self.prefill, self.decode or self.prefill / _DECODED_SLOWER)

    def add_prompt(self, tokens: int, seconds: float) -> None:
        """Count a prompt, and the time until its first reply."""
        if tokens >= _LEAST_PROMPT_TOKENS:
            self.prefill = _mixed(self.prefill, tokens / max(seconds, _LEAST_SECONDS))

    def add_answer(self, pieces: int, seconds: float) -> None:
        """Count the pieces of an answer after the first, and their time."""
        if pieces > 0 and seconds > _LEAST_SECONDS:
            self.decode = _mixed(self.decode, pieces / seconds)


def _mixed(known: float, latest: float) -> float:
    """A moving average of rates."""
    if not known:
        return latest
    return (1 - _LATEST_WEIGHT) * known + _LATEST_WEIGHT * latest
