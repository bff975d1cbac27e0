"""The command `gistread`."""


def main() -> int:
    return 0
