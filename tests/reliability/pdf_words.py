"""Words of PDFs compared with their sources: the sample story, typeset in many ways by TeX and Groff."""

import difflib
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from gistread.book import open_book
from gistread.sample import story_path
from tests.book.data import all_pdfs

WORD = re.compile(r"\w+")
LIGATURES = (
    "The first officer filed five flawless final affidavits; the efficient staff offered fluffy waffles, a baffling"
    " shelf of flint and the official flag of the fleet. Different difficulties, sufficient traffic and refined"
    " scientific significance flew before the fire: an afflicted chief, off duty, finds coffee, gifts and flowers."
)
_PREAMBLES = {
    "Computer Modern": ("", ""),
    "Times": ("\\usepackage{mathptmx}", ""),
    "Palatino, A5, running heads": ("\\usepackage{mathpazo}\\pagestyle{headings}", "11pt,a5paper"),
    "T1 without outlines (bitmaps)": ("\\usepackage[T1]{fontenc}", ""),
    "two columns": ("\\usepackage{mathptmx}", "twocolumn"),
    "three columns": ("\\usepackage{multicol}\\usepackage[margin=15mm]{geometry}", ""),
    "line numbers": ("\\usepackage{lineno}\\linenumbers", ""),
    "line numbers, two columns": ("\\usepackage[switch]{lineno}\\linenumbers", "twocolumn"),
    "several widths of one font": ("\\usepackage{mathptmx}\\usepackage{graphicx}", ""),
}


def story() -> list[str]:
    """Paragraphs in ASCII."""
    text = story_path().read_text(encoding="utf-8").translate(str.maketrans("‘’“”—–", "''\"\"--"))
    plain = (" ".join(part.split()) for part in text.encode("ascii", "ignore").decode().split("\n\n"))
    return [LIGATURES, *(part for part in plain if len(part) > 200)]


def rows(folder: Path) -> Iterator[tuple[str, ...]]:
    """For each PDF: name, words, recall, order, words that its source lacks; in per cent."""
    paragraphs = story()
    for name, path in _typeset(paragraphs, folder):
        mine, source = _words(open_book(path).text), _words(" ".join(paragraphs))
        matched = difflib.SequenceMatcher(None, source, mine, autojunk=False).get_matching_blocks()
        order = sum(block.size for block in matched) / len(source)
        yield _row(name, source, mine, f"{order:.2%}")
    for path in all_pdfs() if shutil.which("pdftotext") else ():
        text = _run("pdftotext", str(path), "-", folder=folder).decode().replace("-\n", "")
        yield _row(f"{path.stem}, against pdftotext", _words(text), _words(open_book(path).text), "")


def _row(name: str, source: list[str], mine: list[str], order: str) -> tuple[str, ...]:
    missing, extra = Counter(source) - Counter(mine), Counter(mine) - Counter(source)
    recall = 1 - missing.total() / len(source)
    return name, f"{len(source):,}", f"{recall:.2%}", order, " ".join(sorted(extra)[:6]) or "none"


def _words(text: str) -> list[str]:
    """Words without their hyphens, which the end of a line may have removed."""
    return WORD.findall(re.sub(r"(?<=\w)-(?=\w)", "", text.casefold()))


def _typeset(paragraphs: list[str], folder: Path) -> Iterator[tuple[str, Path]]:
    if shutil.which("pdflatex"):
        for number, (name, (preamble, options)) in enumerate(_PREAMBLES.items()):
            body = [_tex(part) for part in paragraphs]
            if "widths" in name:
                widths = ("1", "0.8", "1.25")
                body = [
                    f"\\noindent\\scalebox{{{width}}}[1]{{\\parbox{{{0.95 / float(width)}\\textwidth}}{{{part}}}}}"
                    for part, width in zip(body, widths * len(body), strict=False)
                ]
            if "three" in name:
                body = ["\\begin{multicols}{3}", *body, "\\end{multicols}"]
            source = folder / f"{number}.tex"
            source.write_text(
                f"\\documentclass[{options}]{{article}}{preamble}\\begin{{document}}\n"
                + "\n\n".join(body)
                + "\n\\end{document}\n"
            )
            for _ in range(2):  # The second run knows where the lines are
                _run("pdflatex", "-interaction=batchmode", source.name, folder=folder)
            if (made := source.with_suffix(".pdf")).exists():
                yield f"LaTeX, {name}", made
    if shutil.which("groff"):
        source = folder / "story.ms"
        source.write_text(".LP\n" + "\n.PP\n".join(part.replace("'", "\\(cq") for part in paragraphs) + "\n")
        (folder / "groff.pdf").write_bytes(_run("groff", "-ms", "-Tpdf", source.name, folder=folder))
        yield "Groff", folder / "groff.pdf"
        if shutil.which("ps2pdf"):
            (folder / "groff.ps").write_bytes(_run("groff", "-ms", "-Tps", source.name, folder=folder))
            _run("ps2pdf", "groff.ps", "groff_ps.pdf", folder=folder)
            yield "Groff through PostScript", folder / "groff_ps.pdf"


def _tex(text: str) -> str:
    text = re.sub(r"([#$%&_{}])", r"\\\1", text)
    return re.sub(r'"(?=\w)', "``", text).replace('"', "''")


def _run(*command: str, folder: Path) -> bytes:
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).stdout
