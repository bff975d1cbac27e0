"""The names of formats."""

from enum import StrEnum

from gistread.plugins import EXPORTERS, plugins_of


class ExportFormat(StrEnum):
    """A format by its name on the command line."""

    MARKDOWN = "md"
    JSON = "json"
    TEXT = "txt"
    OBSIDIAN = "obsidian"  # A note with front matter, to which later exports append
    ANKI = "anki"
    READWISE = "readwise"
    ANNOTATIONS = "annotations"  # W3C Web Annotations
    BIBTEX = "bibtex"
    CSL = "csl"  # JSON of the Citation Style Language

    @property
    def suffix(self) -> str:
        suffixes = {
            "obsidian": ".md",
            "anki": ".tsv",
            "readwise": ".csv",
            "annotations": ".jsonld",
            "bibtex": ".bib",
            "csl": ".csl.json",
        }
        return suffixes.get(self, f".{self}")


class FormatNames(tuple[str, ...]):
    """The names of gistread's own formats. `in` also accepts those of other packages.

    They are looked up only for a name that is not gistread's own, since that takes long.

    >>> "md" in FormatNames(ExportFormat)
    True
    """

    __slots__ = ()

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in plugins_of(EXPORTERS)
