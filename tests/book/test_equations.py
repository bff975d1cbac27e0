"""MathML in one line."""

import pytest
from lxml import etree

from gistread.book.formats.elements.equations import equation_text

_SQUARE = "<msup><mi>x</mi><mn>2</mn></msup>"
_ROWS = "".join(
    f"<mtr><mtd><mn>{a}</mn></mtd><mtd><mn>{b}</mn></mtd></mtr>"
    for a, b in ((1, 2), (3, 4))
)
_TEX = '<annotation encoding="application/x-tex">x^2</annotation>'


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        (
            f"<semantics><mrow>{_SQUARE}<mo>=</mo><mfrac><mn>1</mn><mn>2</mn></mfrac></mrow>{_TEX}</semantics>",
            "x² = 1/2",
        ),
        (
            "<mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mi>c</mi></mfrac>",
            "(a + b)/c",
        ),
        (
            "<msqrt><mn>2</mn></msqrt><mo>+</mo><mroot><mi>x</mi><mn>3</mn></mroot>",
            "√2 + ³√x",
        ),
        (f"<mo>(</mo><mtable>{_ROWS}</mtable><mo>)</mo>", "(1 2; 3 4)"),
        (
            "<mi>sin</mi><mo>\u2061</mo><mi>x</mi><mo>−</mo><mn>2</mn><mo>\u2062</mo><mi>y</mi>",
            "sin x − 2y",
        ),
        ("<mi>e</mi><mo>=</mo><mo>−</mo><mn>1</mn>", "e = −1"),
        (
            "<mlongdiv><mn>3</mn><mn>435.3</mn><mn>1306</mn><msgroup><mn>12</mn><msline/>"
            "<mn>10</mn></msgroup></mlongdiv>",
            "3; 435.3; 1306; 12; 10",
        ),
        (
            "<mstack><mn>424</mn><msrow><mo>+</mo><mn>33</mn></msrow></mstack>",
            "424; +33",
        ),
        (
            "<munderover><mo>∑</mo><mrow><mi>k</mi><mo>=</mo><mn>0</mn></mrow><mi>n</mi></munderover>",
            "∑_(k = 0)ⁿ",
        ),
        (
            "<mover><mi>x</mi><mo>¯</mo></mover><msub><mi>a</mi><mn>12</mn></msub>",
            "x̄a₁₂",
        ),
        (
            "<mover><mi>x</mi><mo>\u0302</mo></mover><munder><mi>y</mi><mo>_</mo></munder>",
            "x̂y̲",
        ),
        (
            "<mover><mover><mrow><mi>a</mi><mi>b</mi></mrow><mo>⏞</mo></mover><mi>n</mi></mover>",
            "ab⏞ⁿ",
        ),
        (
            "<msup><mrow><mo>(</mo><mi>a</mi><mo>,</mo><mi>b</mi><mo>)</mo></mrow><mi>t</mi></msup>",
            "(a, b)^t",
        ),
        (
            "<mi>y</mi><mtext>if</mtext><mi>z</mi><mphantom><mn>9</mn></mphantom>",
            "y if z",
        ),
        ("<mfenced open='['><mi>a</mi><mi>b</mi></mfenced>", "[a, b)"),
        (f"<semantics><mrow/>{_TEX}</semantics>", "x^2"),
        ("<mrow>" * 200 + "<mi>x</mi>" + "</mrow>" * 200, "x"),
        ("", "a square"),
    ],
)
def test_an_equation_reads_from_left_to_right(markup: str, text: str) -> None:
    namespace = "http://www.w3.org/1998/Math/MathML"
    assert (
        equation_text(
            etree.fromstring(
                f'<math xmlns="{namespace}" alttext="a square">{markup}</math>'
            )
        )
        == text
    )
