"""What the starter is trained on. No torch here: it takes a second to import."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Example:
    """One prompt of the program (the user's message), and what the model should write."""

    prompt: str
    reply: str
