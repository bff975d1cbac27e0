"""PDFs of texts whose words are known, made by TeX, Groff, browsers' print and LibreOffice."""

import html
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from pathlib import Path

from gistread.sample import story_path

LIGATURES = (
    "The first officer filed five flawless final affidavits; the efficient staff offered fluffy "
    "waffles, a baffling"
    " shelf of flint and the official flag of the fleet. Different difficulties, sufficient "
    "traffic and refined"
    " scientific significance flew before the fire: an afflicted chief, off duty, finds coffee, "
    "gifts and flowers."
)
HEBREW = (
    "בראשית ברא אלהים את השמים ואת הארץ (1). והארץ היתה תהו ובהו וחשך על פני תהום, ויאמר אלהים "
    "יהי אור."
)
ARABIC = (
    "كان يا ما كان في قديم الزمان ملك له ثلاثة أولاد. وفي سنة 1947 جاء رجل من London إلى المدينة "
    "والأرض كلها له."
)
JAPANESE = (
    "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"
    "何でも薄暗いじめじめした所で泣いていた。"
)
CHINESE = (
    "话说天下大势，分久必合，合久必分。周末七国分争，并入于秦。"
    "及秦灭之后，楚、汉分争，又并入于汉。"
)
_HEAD = '<!doctype html><meta charset="utf-8"><style>body{font:11pt serif}'
_PREAMBLES = {
    "Computer Modern": ("", ""),
    "Times": ("\\usepackage{mathptmx}", ""),
    "Palatino, A5, running heads": (
        "\\usepackage{mathpazo}\\pagestyle{headings}",
        "11pt,a5paper",
    ),
    "T1 without outlines (bitmaps)": ("\\usepackage[T1]{fontenc}", ""),
    "two columns": ("\\usepackage{mathptmx}", "twocolumn"),
    "three columns": ("\\usepackage{multicol}\\usepackage[margin=15mm]{geometry}", ""),
    "line numbers": ("\\usepackage{lineno}\\linenumbers", ""),
    "line numbers, two columns": (
        "\\usepackage[switch]{lineno}\\linenumbers",
        "twocolumn",
    ),
    "several widths of one font": ("\\usepackage{mathptmx}\\usepackage{graphicx}", ""),
    "cursive": ("\\usepackage{chancery}", ""),
    "small capitals, letterspaced": (
        "\\usepackage[T1]{fontenc}\\usepackage{lmodern}\\usepackage{microtype}\\AtBeginDocument{\\scshape\\lsstyle}",
        "",
    ),
}


@dataclass(frozen=True)
class Typeset:
    """A PDF to make in a folder.

    Without `words` it cannot be read, and has to be refused or come with a notice.
    """

    name: str
    programs: str  # Separated by spaces
    make: Callable[[Path], Path]
    words: str = ""
    notes: str = ""  # Words that may stand elsewhere

    @property
    def missing(self) -> list[str]:
        return [
            program for program in self.programs.split() if not shutil.which(program)
        ]


def story() -> list[str]:
    """Paragraphs in ASCII."""
    text = (
        story_path()
        .read_text(encoding="utf-8")
        .translate(str.maketrans("‘’“”—–", "''\"\"--"))
    )
    plain = (
        " ".join(part.split())
        for part in text.encode("ascii", "ignore").decode().split("\n\n")
    )
    return [LIGATURES, *(part for part in plain if len(part) > 200)]


def all_kinds() -> Iterator[Typeset]:
    parts = story()
    for name, (preamble, options) in _PREAMBLES.items():
        body = [_tex(part) for part in parts]
        if "widths" in name:
            widths = ("1", "0.8", "1.25")
            body = [
                f"\\noindent\\scalebox{{{width}}}[1]"
                f"{{\\parbox{{{0.95 / float(width)}\\textwidth}}{{{part}}}}}"
                for part, width in zip(body, widths * len(body), strict=False)
            ]
        if "three" in name:
            body = ["\\begin{multicols}{3}", *body, "\\end{multicols}"]
        yield Typeset(
            f"LaTeX, {name}",
            "pdflatex",
            _latex(body, preamble, options),
            " ".join(parts),
        )
    yield from _structured(parts[:30])
    yield from _tabular(" ".join(parts[:20]).split())
    yield Typeset("Groff", "groff", partial(_groff, parts), " ".join(parts))
    yield Typeset(
        "Groff through PostScript",
        "groff ps2pdf",
        partial(_groff_postscript, parts),
        " ".join(parts),
    )
    yield from _printed(parts[:30])
    yield from _unreadable(parts[:30])


def _structured(parts: list[str]) -> Iterator[Typeset]:
    """Notes, rotated pages, tables and fields, and pages on pages, by LaTeX."""
    noted = []
    words = []
    notes = []
    for number, part in enumerate(parts):
        first, _, rest = part.partition(" ")
        if number % 4 == 0:
            note = f"Note {number}. {parts[number - 1].split(',')[0]}."
        else:
            note = ""
        heading = f"\\chapter{{Part {number} of it}}\n" if number % 10 == 0 else ""
        text = _tex(part)
        if note:
            text = f"{first}\\footnote{{{_tex(note)}}} {_tex(rest)}"
        noted.append(heading + text)
        # Counted anew in each chapter
        label = "abcdefgh"[number % 10 // 4] if note else ""
        opening = f"Chapter {number // 10 + 1} Part {number} of it" if heading else ""
        words += [opening, first, label, rest]
        notes += [label, note]
    letters = "\\renewcommand\\thefootnote{\\alph{footnote}}\\pagestyle{headings}"
    book = _latex(
        noted,
        f"\\usepackage[a5paper]{{geometry}}{letters}",
        "11pt,twoside",
        kind="book",
    )
    yield Typeset(
        "LaTeX, a book with notes, heads left and right",
        "pdflatex",
        book,
        " ".join(words),
        " ".join(notes),
    )
    body = [
        *map(_tex, parts[:10]),
        "\\begin{landscape}",
        *map(_tex, parts[10:20]),
        "\\end{landscape}",
    ]
    yield Typeset(
        "LaTeX, rotated pages",
        "pdflatex",
        _latex(body, "\\usepackage{pdflscape}"),
        " ".join(parts[:20]),
    )
    cells = [" ".join(part.split()[:4]) for part in parts]
    rows = "\\\\ ".join(
        f"{number} & {_tex(cell)} & {number * number / 8}"
        for number, cell in enumerate(cells)
    )
    table = f"\\begin{{longtable}}{{lll}}{rows}\\end{{longtable}}"
    shown = " ".join(
        f"{number} {cell} {number * number / 8}" for number, cell in enumerate(cells)
    )
    yield Typeset(
        "LaTeX, a table", "pdflatex", _latex([table], "\\usepackage{longtable}"), shown
    )
    fields = "".join(
        f"\n\n\\TextField[width=9cm,value={{The value {n} of it}}]{{Field {n}:}}"
        for n in range(9)
    )
    form = _latex(
        [_tex(parts[0]), f"\\begin{{Form}}{fields}\\end{{Form}}"],
        "\\usepackage{hyperref}",
    )
    values = " ".join(f"Field {n}: The value {n} of it" for n in range(9))
    yield Typeset(
        "LaTeX, a form that no viewer has filled",
        "pdflatex",
        form,
        f"{parts[0]} {values}",
    )
    sheet = ["\\noindent\\includegraphics[width=.48\\textwidth]{page.pdf}" * 2]
    once = " ".join(parts[:5])
    yield Typeset(
        "Chromium's pages, two on a sheet by LaTeX",
        "chromium pdflatex",
        lambda folder: _latex(sheet, "\\usepackage{graphicx}")(
            _chromium(_page(parts[:5]), folder, "page").parent
        ),
        f"{once} {once}",
    )


def _tabular(words: list[str]) -> Iterator[Typeset]:
    """Tables whose cells have several lines."""
    rows: list[list[str]] = []
    while len(words) > 60:
        sizes = (
            1 + 7 * len(rows) % 9,
            1 + (7 * len(rows) + 5) % 18,
            1 + (7 * len(rows) + 10) % 27,
        )
        cuts = [0, sizes[0], sizes[0] + sizes[1], sum(sizes)]
        rows.append([" ".join(words[start:end]) for start, end in pairwise(cuts)])
        words = words[cuts[-1] :]
    known = " ".join(chain.from_iterable(rows))
    lines = "\\\\ \\hline ".join(" & ".join(map(_tex, row)) for row in rows)
    for column, name in {"p": "top", "m": "middle", "b": "bottom"}.items():
        spec = f"{column}{{2cm}}{column}{{4cm}}{column}{{4cm}}"
        table = _latex(
            [f"\\begin{{longtable}}{{{spec}}}{lines}\\end{{longtable}}"],
            "\\usepackage{longtable,array}",
        )
        yield Typeset(
            f"LaTeX, a table with cells of several lines, {name}",
            "pdflatex",
            table,
            known,
        )
    cells = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows)
    table_of = f"<table><tr>{'<tr>'.join(cells)}</table>"
    style = "tr{break-inside:avoid}td{width:33%;text-align:justify;hyphens:auto}"
    page = f"{_HEAD}{style}</style>{table_of}"
    for program, print_ in {"Chromium": _chromium, "WeasyPrint": _weasyprint}.items():
        name = f"{program}, a table with cells of several lines"
        yield Typeset(name, program.lower(), partial(print_, page), known)
    yield Typeset(
        "LibreOffice, a table", "soffice pandoc", partial(_libreoffice, page), known
    )


def _printed(parts: list[str]) -> Iterator[Typeset]:
    """Pages of HTML by browsers, and of DOCX by LibreOffice."""
    columns = (
        "body{columns:2;text-align:justify;hyphens:auto}"
        "p:first-of-type::first-letter{font-size:3em;float:left}"
    )
    styles = {
        "": "",
        ", two columns, a drop capital": columns,
        ", small capitals, letterspaced": "p{font-variant:small-caps;letter-spacing:.1em}",
        ", several scales": (
            "p:nth-child(3n){transform:scale(.8,1);transform-origin:0 0}p:nth-child(3n+1){zoom:1.3}"
        ),
    }
    for name, style in styles.items():
        yield Typeset(
            f"Chromium{name}",
            "chromium",
            partial(_chromium, _page(parts, style)),
            " ".join(parts),
        )
        yield Typeset(
            f"WeasyPrint{name}",
            "weasyprint",
            partial(_weasyprint, _page(parts, style)),
            " ".join(parts),
        )
    fonts = 'body{font:12pt "DejaVu Sans","Noto Sans CJK JP","Droid Sans Fallback",sans-serif}'
    vertical = f"{fonts}body{{writing-mode:vertical-rl}}"
    for name, text, style in (
        ("Hebrew", HEBREW, f"{fonts}body{{direction:rtl}}"),
        ("Arabic", ARABIC, f"{fonts}body{{direction:rtl}}"),
        ("Chinese", CHINESE * 3, fonts),
        ("Japanese", JAPANESE * 3, fonts),
        ("Japanese, vertical", JAPANESE * 3, vertical),
    ):
        make = partial(_chromium, _page([text] * 6, style))
        yield Typeset(f"Chromium, {name}", "chromium", make, " ".join([text] * 6))
    ruby = (
        "<ruby>吾輩<rt>わがはい</rt></ruby>は<ruby>猫<rt>ねこ</rt></ruby>である。" * 40
    )
    with_readings = re.sub("<rt>(.*?)</rt>", "（\\1）", ruby)
    for program, print_ in {"Chromium": _chromium, "LibreOffice": _libreoffice}.items():
        name, programs = (
            f"{program}, readings (ruby)",
            {"LibreOffice": "soffice pandoc"}.get(program, "chromium"),
        )
        page = f"{_HEAD}{fonts}</style><p>{ruby}</p>"
        yield Typeset(
            name, programs, partial(print_, page), re.sub("<.*?>", "", with_readings)
        )
    yield Typeset(
        "LibreOffice",
        "soffice pandoc",
        partial(_libreoffice, _page(parts)),
        " ".join(parts),
    )


def _unreadable(parts: list[str]) -> Iterator[Typeset]:
    page = _page(parts)

    def with_option(*options: str, folder: Path) -> Path:
        source = _weasyprint(page, folder)
        _run("qpdf", *options, str(source), "made.pdf", folder=folder)
        return folder / "made.pdf"

    def changed(
        name: bytes, other: bytes | Callable[[re.Match[bytes]], bytes], folder: Path
    ) -> Path:
        source = with_option("--qdf", "--object-streams=disable", folder=folder)
        (folder / "broken.pdf").write_bytes(re.sub(name, other, source.read_bytes()))
        return folder / "broken.pdf"

    def scanned(folder: Path) -> Path:
        _run(
            "pdftoppm",
            "-r",
            "50",
            "-png",
            str(_weasyprint(page, folder)),
            "scan",
            folder=folder,
        )
        images = "".join(
            f'<img src="{each.name}">' for each in sorted(folder.glob("scan*.png"))
        )
        return _weasyprint(
            f"<style>img{{width:100%}}</style>{images}", folder, "scanned"
        )

    lock = ("--encrypt", "secret", "owner", "256", "--")
    unlocked = ("--encrypt", "", "owner", "256", "--extract=n", "--")
    needs = "weasyprint qpdf"
    yield Typeset(
        "encrypted, no password needed",
        needs,
        lambda f: with_option(*unlocked, folder=f),
        " ".join(parts),
    )
    yield Typeset(
        "encrypted, with a password", needs, lambda f: with_option(*lock, folder=f)
    )
    yield Typeset(
        "without Unicode tables", needs, partial(changed, b"/ToUnicode", b"/ToNowhere")
    )
    yield Typeset(
        "with wrong Unicode tables",
        needs,
        partial(changed, rb"(?<=> <00)(\w\w)(?=>)", _three_further),
    )
    yield Typeset("scanned", "weasyprint pdftoppm", scanned)


def _three_further(code: re.Match[bytes]) -> bytes:
    return b"%02X" % (int(code[1], 16) + 3)


def _tex(text: str) -> str:
    text = re.sub(r"([#$%&_{}])", r"\\\1", text)
    return re.sub(r'"(?=\w)', "``", text).replace('"', "''")


def _latex(
    body: Sequence[str], preamble: str, options: str = "", *, kind: str = "article"
) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        source = folder / "made.tex"
        text = "\n\n".join(body)
        source.write_text(
            f"\\documentclass[{options}]{{{kind}}}{preamble}\\begin{{document}}\n{text}\n\\end{{document}}\n"
        )
        for _ in range(2):  # The second run knows where the lines are
            _run("pdflatex", "-interaction=batchmode", source.name, folder=folder)
        return source.with_suffix(".pdf")

    return make


def _groff(parts: Sequence[str], folder: Path, device: str = "pdf") -> Path:
    (folder / "story.ms").write_text(
        ".LP\n" + "\n.PP\n".join(part.replace("'", "\\(cq") for part in parts) + "\n"
    )
    made = folder / f"groff.{device}"
    made.write_bytes(_run("groff", "-ms", f"-T{device}", "story.ms", folder=folder))
    return made


def _groff_postscript(parts: Sequence[str], folder: Path) -> Path:
    _run("ps2pdf", _groff(parts, folder, "ps").name, "made.pdf", folder=folder)
    return folder / "made.pdf"


def _page(parts: Sequence[str], style: str = "") -> str:
    return f"{_HEAD}{style}</style>" + "".join(
        f"<p>{html.escape(part)}</p>" for part in parts
    )


def _chromium(page: str, folder: Path, name: str = "made") -> Path:
    (folder / "page.html").write_text(page)
    made = folder / f"{name}.pdf"
    # --no-sandbox: it prints a file of ours, and refuses to start as root otherwise.
    options = (
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-pdf-header-footer",
        f"--user-data-dir={folder}/own",
    )
    _run("chromium", *options, f"--print-to-pdf={made}", "page.html", folder=folder)
    return made


def _weasyprint(page: str, folder: Path, name: str = "printed") -> Path:
    (folder / "page.html").write_text(page)
    _run("weasyprint", "page.html", f"{name}.pdf", folder=folder)
    return folder / f"{name}.pdf"


def _libreoffice(page: str, folder: Path) -> Path:
    (folder / "page.html").write_text(page)
    _run("pandoc", "page.html", "-o", "made.docx", folder=folder)
    own = f"-env:UserInstallation=file://{folder}/own"
    _run(
        "soffice", own, "--headless", "--convert-to", "pdf", "made.docx", folder=folder
    )
    return folder / "made.pdf"


def _run(*command: str, folder: Path) -> bytes:
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout
