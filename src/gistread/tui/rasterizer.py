"""A process that draws an SVG on standard input as PNG: a drawing may take for ever, or all memory.

Argument: the width in pixels.
"""

import sys

import resvg_py

from gistread.system import limit_memory

_MEMORY_BYTES = 1 << 31


def main() -> None:
    limit_memory(_MEMORY_BYTES)
    svg = sys.stdin.buffer.read().decode()
    sys.stdout.buffer.write(resvg_py.svg_to_bytes(svg_string=svg, width=int(sys.argv[1])))


if __name__ == "__main__":
    main()
