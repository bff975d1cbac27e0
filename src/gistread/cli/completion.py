"""`gistread completion SHELL`: a script for the person's shell, made from the parser.

After `gistread` come commands and files; then options, their choices, and files where a book, a model or another path
is meant.
"""

import argparse
import re
from collections.abc import Iterator, Sequence

from gistread.cli.output import write
from gistread.cli.parser import parsers
from gistread.cli.parser_introspection import Shape, Typed, shape
from gistread.errors import ExitStatus


def run(arguments: argparse.Namespace) -> ExitStatus:
    write(script(arguments.shell))
    return ExitStatus.DONE


def script(shell: str) -> str:
    """The completion script of `bash`, `zsh` or `fish`."""
    every = parsers()
    shapes = {name: shape(parser) for name, parser in every.items()}
    summaries = {name: parser.description or "" for name, parser in every.items()}
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](shapes, summaries)


# bash


def _bash(shapes: dict[str, Shape], summaries: dict[str, str]) -> str:
    names = " ".join(filter(None, shapes))
    cases = "\n".join(_bash_case(name, one) for name, one in shapes.items() if name)
    main = shapes[""]
    return f"""# Completion of gistread for bash.
_gistread_words() {{ COMPREPLY=($(compgen -W "$1" -- "$cur")); }}
_gistread_files() {{
    local IFS=$'\\n'
    compopt -o filenames 2>/dev/null
    COMPREPLY+=($(compgen -f -- "$cur"))
}}
_gistread() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD - 1]}}
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        if [[ $cur == -* ]]; then
            _gistread_words {_quoted(_flags(main))}
        else
            _gistread_words {_quoted(names)}
            _gistread_files
        fi
        return
    fi
    case ${{COMP_WORDS[1]}} in
{cases}
        *)
            case $prev in
{_bash_values(main, 16)}
            esac
            [[ $cur == -* ]] && _gistread_words {_quoted(_flags(main))} || _gistread_files
            ;;
    esac
}}
complete -F _gistread gistread"""


def _bash_case(name: str, one: Shape) -> str:
    lines = [f"        {name})"]
    if one.actions:
        actions = " ".join(action for action, _, _ in one.actions)
        lines.append(f"            ((COMP_CWORD == 2)) && {{ _gistread_words {_quoted(actions)}; return; }}")
    options = [*one.options, *(option for _, _, sub in one.actions for option in sub.options)]
    values = _bash_values(Shape(tuple(options), (), ()), 16)
    if values:
        lines += ["            case $prev in", values, "            esac"]
    lines.append(f"            [[ $cur == -* ]] && {{ _gistread_words {_quoted(_flags_of(options))}; return; }}")
    choices = " ".join(choice for word in one.words for choice in word.choices)
    if choices:
        lines.append(f"            _gistread_words {_quoted(choices)}")
    if one.takes_paths:
        lines.append("            _gistread_files")
    return "\n".join([*lines, "            ;;"])


def _bash_values(one: Shape, indent: int) -> str:
    lines = {}
    for option in one.options:
        if option.value:
            what = f"_gistread_words {_quoted(' '.join(option.choices))}" if option.choices else ""
            what = what or ("_gistread_files" if option.is_path else ":")
            lines["|".join(option.flags)] = what
    return "\n".join(f"{'':{indent}}{flags}) {what}; return ;;" for flags, what in lines.items())


# zsh


def _zsh(shapes: dict[str, Shape], summaries: dict[str, str]) -> str:
    commands = "\n".join(f"        {_quoted(f'{name}:{_first_sentence(summaries[name])}')}" for name in shapes if name)
    cases = "\n".join(
        f"        {name})\n{_zsh_arguments(one, 12)}\n            ;;" for name, one in shapes.items() if name
    )
    return f"""#compdef gistread
# Completion of gistread for zsh.
_gistread() {{
    local -a commands=(
{commands}
    )
    if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then
        _alternative 'commands:command:{{_describe command commands}}' 'files:book:_files'
        return
    fi
    local command=$words[2]
    # What follows a command is completed as if the command were the program.
    local -a names=(${{commands%%:*}})
    if (( ${{names[(Ie)$command]}} )); then
        shift words
        (( CURRENT-- ))
    fi
    case $command in
{cases}
        *)
{_zsh_arguments(shapes[""], 12)}
            ;;
    esac
}}
if [[ $funcstack[1] == _gistread ]]; then
    _gistread "$@"
else
    compdef _gistread gistread
fi"""


def _zsh_arguments(one: Shape, indent: int) -> str:
    specs = [spec for option in one.options for spec in _zsh_option(option)]
    specs += [spec for _, _, sub in one.actions for option in sub.options for spec in _zsh_option(option)]
    if one.actions:
        specs.append(f"1:action:({' '.join(name for name, _, _ in one.actions)})")
    for number, word in enumerate(one.words, 1):
        place = "*" if word.repeated else str(number)
        specs.append(f"{place}:{word.value.lower()}:{_zsh_value(word)}")
    quoted = " \\\n".join(f"{'':{indent + 4}}{_quoted(spec)}" for spec in dict.fromkeys(specs))
    return f"{'':{indent}}_arguments \\\n{quoted}"


def _zsh_option(option: Typed) -> Iterator[str]:
    about = re.sub(r"([\[\]:\\])", r"\\\1", option.help)
    for flag in option.flags:
        others = f"({' '.join(option.flags)})" if not option.repeated else "*"
        value = f":{option.value.lower()}:{_zsh_value(option)}" if option.value else ""
        yield f"{others}{flag}[{about}]{value}"


def _zsh_value(one: Typed) -> str:
    return f"({' '.join(one.choices)})" if one.choices else "_files" if one.is_path else " "


# fish


def _fish(shapes: dict[str, Shape], summaries: dict[str, str]) -> str:
    names = " ".join(filter(None, shapes))
    lines = [
        "# Completion of gistread for fish.",
        "complete -c gistread -e",
        "function __gistread_no_command",
        f"    not __fish_seen_subcommand_from {names}",
        "end",
    ]
    for name, one in shapes.items():
        condition = f"__fish_seen_subcommand_from {name}" if name else "__gistread_no_command"
        if name:
            about = _quoted(_first_sentence(summaries[name]))
            lines.append(f"complete -c gistread -n __fish_use_subcommand -a {name} -d {about}")
            if not one.takes_paths:
                lines.append(f"complete -c gistread -n {_quoted(condition)} -f")
        for action, about, sub in one.actions:
            within = f"{condition}; and not __fish_seen_subcommand_from {' '.join(a for a, _, _ in one.actions)}"
            lines.append(f"complete -c gistread -n {_quoted(within)} -a {action} -d {_quoted(about)}")
            lines += [_fish_option(f"{condition}; and __fish_seen_subcommand_from {action}", o) for o in sub.options]
        lines += [_fish_option(condition, option) for option in one.options]
        choices = " ".join(choice for word in one.words for choice in word.choices)
        if choices:
            lines.append(f"complete -c gistread -n {_quoted(condition)} -a {_quoted(choices)}")
    return "\n".join(lines)


def _fish_option(condition: str, option: Typed) -> str:
    flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
    value = ""
    if option.choices:
        value = f" -x -a {_quoted(' '.join(option.choices))}"
    elif option.value:
        value = " -r -F" if option.is_path else " -x"
    return f"complete -c gistread -n {_quoted(condition)} {flags}{value} -d {_quoted(option.help)}"


# All of them


def _flags(one: Shape) -> str:
    return _flags_of(one.options)


def _flags_of(options: Sequence[Typed]) -> str:
    return " ".join(dict.fromkeys(flag for option in options for flag in option.flags))


def _first_sentence(text: str) -> str:
    return text.partition("\n")[0].split(". ")[0].rstrip(".")


def _quoted(text: str) -> str:
    """In single quotes, as each of these shells reads them."""
    return "'" + text.replace("'", "'\\''") + "'"
