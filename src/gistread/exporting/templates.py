"""Documents by the user's own templates, in the language of Jinja.

https://jinja.palletsprojects.com/en/stable/templates/. A template sees its fields and nothing else.
"""

import shlex
import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from gistread.errors import UsageError
from gistread.exporting.documents import as_json
from gistread.exporting.markdown import markdown_block
from gistread.exporting.model import Export, OtherFormat

_MOST_BYTES = 1_000_000
_FILE_NAME = "<template>"  # Jinja's, in a traceback
# What a template may do wrong, beside what Jinja calls an error
_FAULTS = (
    TypeError,
    ValueError,
    ArithmeticError,
    LookupError,
    AttributeError,
    RecursionError,
)
EXPORT_FIELDS = frozenset(
    ("version", "book", "marks", "questions", "gists", "gists_ahead")
)


class _Missing(StrictUndefined):
    """Names the field that a template uses and that does not exist."""

    @property
    def _undefined_message(self) -> str:
        return f"there is no field {self._undefined_name!r}"


class Template:
    """A template that renders fields, or names its fault in one line.

    >>> Template("{{ book.title }}", "title.txt").render({"book": {"title": "Emma"}})
    'Emma'
    """

    def __init__(self, text: str, name: str) -> None:
        """`name`: used in messages. Raises UsageError."""
        self.name = name
        environment = ImmutableSandboxedEnvironment(
            undefined=_Missing,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            finalize=_or_nothing,
        )
        environment.filters["markdown"] = markdown_block
        try:
            variables = meta.find_undeclared_variables(environment.parse(text))
            self.names = frozenset(variables)  # Of the fields that it uses
            self._template = environment.from_string(text)
        except TemplateSyntaxError as error:
            raise self._fault(error.message or "", error.lineno) from error
        except TemplateError as error:  # An unknown filter
            raise self._fault(error.message or "", None) from error

    def check(self, fields: Iterable[str]) -> None:
        """Raises UsageError if the template uses a field that is not among these."""
        unknown = sorted(self.names.difference(fields))
        if unknown:
            raise self._fault(f"there is no field {unknown[0]!r}", None, fields)

    def render(self, fields: Mapping[str, Any]) -> str:
        """The template with these fields filled in. Raises UsageError."""
        self.check(fields)
        try:
            return self._template.render(fields)
        except (TemplateError, *_FAULTS) as error:
            raise self._fault(str(error), _line_of(error)) from error

    def _fault(
        self, reason: str, line: int | None, fields: Iterable[str] = ()
    ) -> UsageError:
        """The error for a template that is wrong in this line; the hint names the fields."""
        place = self.name
        if line:
            place += f", line {line}"
        hint = ""
        if fields:
            hint = f"The fields are {', '.join(sorted(fields))}."
        reason = " ".join(reason.split()).removesuffix(".")
        return UsageError(f"{place}: {reason}.", hint)


def _or_nothing(value: object) -> object:
    """What a template writes for a value: nothing for None."""
    if value is None:
        return ""
    return value


def _line_of(error: Exception) -> int | None:
    """The line of the template that failed, innermost of a loop or macro; None if none did."""
    line = None
    for frame in traceback.extract_tb(error.__traceback__):
        if frame.filename == _FILE_NAME:
            line = frame.lineno
    return line


def read_template(path: Path) -> Template:
    """Raises UsageError for a file that cannot be read or is no template."""
    try:
        data = path.read_bytes()[:_MOST_BYTES]
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror or error}."
        raise UsageError(message) from error
    return Template(data.decode("utf-8-sig", "replace"), path.name)


def export_fields(export: Export) -> dict[str, Any]:
    """The fields of the JSON, and for each mark its print page, CFI and the command to open it."""
    fields = as_json(export)
    book = export.book
    name = shlex.quote(export.command_name or book.title)
    for mark, mark_fields in zip(export.marks, fields["marks"], strict=True):
        mark_fields["print_page"] = None if mark.lost else book.page_at(mark.start)
        mark_fields["cfi"] = export.cfis.get(mark.id, "")
        mark_fields["open"] = f"gistread open {name} --at @{mark.start}"
    return fields


def template_format(path: Path) -> OtherFormat:
    """Exports by the template in a file. Raises UsageError."""
    template = read_template(path)
    template.check(EXPORT_FIELDS)

    def render(export: Export) -> str:
        return template.render(export_fields(export))

    uses_marks = "marks" in template.names
    return OtherFormat(template.name, _suffix_of(path), render, wants_cfis=uses_marks)


def _suffix_of(template: Path) -> str:
    """The suffix of the documents: `.md` for `obsidian.md.j2` and for `obsidian.md`."""
    name = template.name.removesuffix(".j2").removesuffix(".jinja")
    return Path(name).suffix or ".txt"
