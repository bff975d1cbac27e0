"""The number typed before a command: `12j`, `40%`, `3]`. Pure."""

_MOST_DIGITS = 7


class Count:
    """Digits as they are typed. The command that comes next takes them; one that has no use for them drops them."""

    def __init__(self) -> None:
        self.typed = ""
        self._due = False
        """A key that is no digit has followed: whatever does not take the number now has no use for it."""

    def add(self, character: str | None) -> bool:
        """A key was pressed. Whether it belongs to the number; a number does not begin with 0."""
        if self._due:
            self.drop()
        if character is not None and character.isascii() and character.isdigit() and (self.typed or character != "0"):
            self.typed = (self.typed + character)[:_MOST_DIGITS]
            return True
        self._due = bool(self.typed)
        return False

    def take(self) -> int | None:
        """The number, which is used up by it; None where none was typed."""
        number = int(self.typed) if self.typed else None
        self.drop()
        return number

    def drop(self) -> None:
        self.typed, self._due = "", False

    @property
    def pending(self) -> str:
        """What is to be shown: the digits that wait for a command."""
        return "" if self._due else self.typed
