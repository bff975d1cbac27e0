"""`python3 -m tests.benchmarks [screen] [reading]`: the figures of the README, measured on this machine."""

import sys

from tests.benchmarks import reading, screen
from tests.benchmarks.figures import Figures

PARTS = {"screen": screen.measure, "reading": reading.measure}


def main() -> int:
    wanted = sys.argv[1:] or list(PARTS)
    if unknown := [name for name in wanted if name not in PARTS]:
        print(f"{unknown[0]} is not one of: {', '.join(PARTS)}", file=sys.stderr)
        return 2
    figures = Figures()
    for name in wanted:
        PARTS[name](figures)
    print(figures.json())
    return 0


if __name__ == "__main__":
    sys.exit(main())
