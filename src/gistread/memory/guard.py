"""The guard: cleans a gist and checks its form and words against the page."""

import math
import re
import tomllib
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from pathlib import Path

from gistread.book.numbers import numbers_in
from gistread.book.sentences import sentence_spans
from gistread.prompts import TRAINED
from gistread.search.tokens import folded
from gistread.word_patterns import ALPHABETIC, UNSPACED_CHARACTER, folded_words, runs_of
from gistread.words import count_words


class Fault(StrEnum):
    EMPTY = "empty"
    REFUSAL = "a refusal"
    TOO_LONG = "hardly shorter than the page"
    COPIED = "copied, not shortened"
    LOOP = "a loop"
    ABOUT_ITSELF = "about itself"
    FOREIGN_NAMES = "names or numbers that the page lacks"
    UNRELATED = "not about the page"
    OTHER_SCRIPT = "another script"
    PROMPT = "words of the prompt"
    CUT_OFF = "cut off"


@dataclass(frozen=True, slots=True)
class Draft:
    text: str
    page: str
    prompt_words: str = ""  # The prompt without the page
    # Stopped in mid-sentence, and too short without that sentence
    cut_off: bool = False
    # Text before the page that the model saw too; names in it are allowed
    before: str = ""
    # All text before the page, if names in it are allowed; see `told_before`
    told_before: str = ""


def told_before(text: str, start: int, wording: str) -> str:
    """The book's text before a page: a gist may name a person who is only "he" or "I" on the page.

    Empty for the starter, by the wording of its prompts: its names of people who are not on the
    page are made up.
    """
    return "" if wording == TRAINED else text[:start]


_PHRASES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_FEW = 24  # Fewer words are not checked for loops and copies
_ABOUT_ITSELF = re.compile(
    _PHRASES["about_itself"], re.IGNORECASE | re.VERBOSE | re.MULTILINE
)
_KATAKANA = re.compile("[\u30a1-\u30fa\u30fc]{3,}")

_OPENING = re.compile(_PHRASES["opening"], re.IGNORECASE | re.VERBOSE)
_SECOND_GIST = re.compile(_PHRASES["second_gist"], re.IGNORECASE | re.VERBOSE)
# A chat template's tokens. Those that end a turn end the gist.
_TURN_ENDS = re.compile(
    r"(?<=.)(?:<\|(?:im_end|eot_id|end|endoftext|end_of_text|return)\|>|</s>|<end_of_turn>).*",
    re.DOTALL,
)
_CONTROL = re.compile(
    r"<\|im_start\|>(?:\s*(?:assistant|user|system)\b)?|<[|｜][^|｜<>\n]{1,40}[|｜]>|</?s>|"
    r"<(?:start|end)_of_turn>(?:model\b)?|"
    r"\[/?INST\]|<think>.*?</think>|</?think>",
    re.DOTALL,
)
# "Scottish", "Englishman": forms of a country's name.
_NATIONAL = re.compile(r"\w+(?:ish|ese|i?ans?|m[ae]n|wom[ae]n)")
# Letters of a name that always count: in a whole book, some name has the first three.
_WHOLE_NAME = 5
# Distinct words fall about as the square root of the length. In prose they are not below this.
_LEAST_DISTINCT = 0.45
_LEAST_DISTINCT_IN_ROOT = 3.2
_MOST_AGAIN = 0.2  # Of runs of four words
_LEAST_OF_SCRIPT = 0.1  # Of the page's letters
_MOST_FOREIGN = 0.1  # Of the names
_MOST_FOREIGN_NAMES = 3  # More can no longer be a tenth of those in a finished gist
_MOST_COPIED_SO_FAR = 0.8
_LONGER_WORD = 5  # Letters
_FEWEST_LONGER_WORDS = 5
_LEAST_RELATED = 0.4  # Of the longer words
# Words of a sentence that may not be repeated ("He ran away." may)
_FEWEST_REPEATED = 4
_MOST_REPEATED = 0.8  # Of a sentence's words
_MOST_CAPITALISED = 0.16  # Of the words, where capitals mark names
_SHORTEST_STEM = 3
_LEAST_NUMBER = 3  # Smaller numbers are counted by paraphrases ("the two of them")
_LABEL = re.compile(r"(?<!\S)<\d{1,4}>(?!\S)")  # A pause label of a prompt
_REFUSAL = re.compile(_PHRASES["refusal"], re.IGNORECASE | re.VERBOSE)


def clean(written: str, page: str = "", *, cut_off: bool = False) -> tuple[str, bool]:
    """The cleaned gist, one line a paragraph, and whether it is still cut off in mid-sentence.

    `page`: the text that it tells, which may have a "Summary:" of its own.
    """
    text = _LABEL.sub("", without_control_tokens(written))
    for _ in range(3):  # "Sure! Here is the passage: Summary: …"
        text = _OPENING.sub("", text, count=1)
    first_gist = _first_gist(text.strip(), page)
    cut_off = cut_off and first_gist == text.strip()
    text = first_gist.strip("*_#`").strip()
    if len(text) > 1 and text[0] + text[-1] in ('""', "“”", "«»", "„“", "''"):
        text = text[1:-1].strip()
    if cut_off:
        ends = re.finditer(r"[.!?…。！？।][\"'”’»)\]」』]*(?=\s|$|[^\x00-\x7f])", text)
        whole = text[: max((match.end() for match in ends), default=0)]
        if count_words(whole) >= count_words(text) / 2:
            text, cut_off = whole, False
    return _without_repetition(text), cut_off


def _first_gist(text: str, page: str) -> str:
    """The text up to the name of a second gist; names that the page has are its own."""
    names_of_page = {
        match["name"].casefold() for match in _SECOND_GIST.finditer(f"\n{page}")
    }
    for match in _SECOND_GIST.finditer(text):
        if match["name"].casefold() not in names_of_page:
            return text[: match.start()]
    return text


def without_control_tokens(written: str) -> str:
    """The text without control characters and without tokens of chat templates."""
    text = "".join(char for char in written if char in "\n\t" or not _is_control(char))
    return _CONTROL.sub("", _TURN_ENDS.sub("", text))


def _is_control(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cs", "Co", "Cn")


def _copied_share(draft: Draft) -> float:
    words = folded_words(draft.text)
    if len(words) < _FEW:
        return 0.0
    length = 16 if UNSPACED_CHARACTER.search(draft.text) else 8
    on_page = _runs(draft.page, length)
    copied = [False] * len(words)
    for at, run in enumerate(runs_of(words, length)):
        if run in on_page:
            copied[at : at + length] = [True] * length
    return sum(copied) / len(words)


def _says(phrases: re.Pattern[str], draft: Draft) -> bool:
    """Whether the gist has one of these phrases that its page lacks."""
    match = phrases.search(draft.text)
    return (
        match is not None and match[0].casefold().strip() not in draft.page.casefold()
    )


def is_meta(sentence: str) -> bool:
    """Whether a sentence is about the model or its task.

    Check first that the page has no such sentence.
    """
    return bool(_REFUSAL.search(sentence) or _ABOUT_ITSELF.search(sentence))


def _is_loop(draft: Draft) -> bool:
    """Whether the gist has few distinct words for its length, or many repeated runs of four."""
    words = folded_words(draft.text)
    if len(words) < _FEW:
        return False
    distinct = len(set(words)) / len(words)
    least_distinct = min(
        _LEAST_DISTINCT, _LEAST_DISTINCT_IN_ROOT / math.sqrt(len(words))
    )
    fours = Counter(zip(words, words[1:], words[2:], words[3:], strict=False))
    again = sum(count - 1 for count in fours.values())
    return distinct < least_distinct or again > _MOST_AGAIN * len(words)


def _is_other_script(draft: Draft) -> bool:
    """Whether the main script of the gist makes up less than a tenth of the page's letters."""
    page = _scripts(draft.page)
    main = _scripts(draft.text).most_common(1)
    return any(page[script] < _LEAST_OF_SCRIPT * page.total() for script, _ in main)


def _has_foreign_names(draft: Draft) -> bool:
    """Whether more than one in ten names, or a number, occurs neither on the page nor before it."""
    foreign, names = foreign_names(draft)
    return len(foreign) > _MOST_FOREIGN * len(names) or bool(foreign_numbers(draft))


def foreign_names(draft: Draft) -> tuple[set[str], set[str]]:
    """The names of a draft that neither its page nor the text before has, accents aside.

    And all of its names.
    """
    names = _names(draft.text) if capitals_mark_names(draft.page) else set()
    names |= set(_KATAKANA.findall(draft.text))
    seen = _fold(f"{draft.before}\n{draft.page}")
    words = " ".join(["", *ALPHABETIC.findall(seen)])
    foreign = {
        name
        for name in names
        if f" {_stem(_fold(name))}" not in words and _fold(name) not in seen
    }
    # A long name that was told before may have another end: "Наташу" of "Наташа".
    known_before = {
        name
        for name in foreign
        if name[: max(_WHOLE_NAME, len(name) - 2)] in draft.told_before
    }
    return {
        name for name in foreign - known_before if not _NATIONAL.fullmatch(name)
    }, names


def _fold(text: str) -> str:
    return folded(text.casefold())


def foreign_numbers(draft: Draft) -> set[int]:
    """The numbers of a draft, in digits or words, that its page lacks."""
    known = {part for _, parts in numbers_in(draft.page) for part in parts}
    return {
        value
        for value, parts in numbers_in(draft.text)
        if value >= _LEAST_NUMBER
        and value not in known
        and not known >= (parts - {value} or {value})
    }


def _is_unrelated(draft: Draft) -> bool:
    """Whether fewer than four in ten of the longer words occur on the page in some form.

    A draft with names of the page alone may have words of its own.
    """
    if UNSPACED_CHARACTER.search(draft.text):
        written = set(UNSPACED_CHARACTER.findall(draft.text))
        shared = written & set(draft.page)
    else:
        longer = (
            word for word in ALPHABETIC.findall(draft.text) if len(word) >= _LONGER_WORD
        )
        written = {_stem(word.casefold()) for word in longer}
        shared = written & {
            _stem(word.casefold()) for word in ALPHABETIC.findall(draft.page)
        }
    if len(written) < _FEWEST_LONGER_WORDS or len(shared) >= _LEAST_RELATED * len(
        written
    ):
        return False
    foreign, names = foreign_names(draft)
    return not names or bool(foreign)


# The check for each fault, in order. What the page says too is no fault.
_RULES: dict[Fault, Callable[[Draft], object]] = {
    # A gist has at least a twentieth of its page's words, between 4 and 30: a quarter of the length
    # asked for.
    Fault.EMPTY: lambda draft: (
        count_words(draft.text) < max(4, min(30, count_words(draft.page) // 20))
    ),
    Fault.CUT_OFF: lambda draft: draft.cut_off,
    Fault.REFUSAL: partial(_says, _REFUSAL),
    # Six consecutive words of the prompt
    Fault.PROMPT: lambda draft: (
        _runs(draft.prompt_words, 6) & _runs(draft.text, 6) - _runs(draft.page, 6)
    ),
    Fault.ABOUT_ITSELF: partial(_says, _ABOUT_ITSELF),
    Fault.LOOP: _is_loop,
    Fault.TOO_LONG: lambda draft: (
        count_words(draft.text) > 0.5 * count_words(draft.page)
    ),
    # In runs of eight words (sixteen characters): weak models copy the start of a page.
    Fault.COPIED: lambda draft: _copied_share(draft) > 0.5,
    Fault.OTHER_SCRIPT: _is_other_script,
    Fault.FOREIGN_NAMES: _has_foreign_names,
    Fault.UNRELATED: _is_unrelated,
}


def find_fault(draft: Draft, faults: Iterable[Fault] = _RULES) -> Fault | None:
    """The first of these faults that a draft has."""
    return next((fault for fault in faults if _RULES[fault](draft)), None)


def find_final_fault(draft: Draft) -> Fault | None:
    """A fault of an unfinished draft that further words cannot mend, or None."""
    if fault := find_fault(
        draft, (Fault.REFUSAL, Fault.PROMPT, Fault.ABOUT_ITSELF, Fault.OTHER_SCRIPT)
    ):
        return fault
    # The last word may be unfinished
    begun = replace(draft, text=draft.text.rpartition(" ")[0])
    foreign, _ = foreign_names(draft)
    if len(foreign) > _MOST_FOREIGN_NAMES or foreign_numbers(begun):
        return Fault.FOREIGN_NAMES
    if _copied_share(draft) > _MOST_COPIED_SO_FAR:
        return Fault.COPIED
    if count_words(draft.text) >= 2 * _FEW:
        return find_fault(draft, (Fault.LOOP,))
    return None


def _without_repetition(text: str) -> str:
    sentences: list[set[str]] = []  # The words of each
    paragraphs: list[str] = []
    for paragraph in text.split("\n"):
        kept = ""
        for start, end in sentence_spans(paragraph):
            sentence = " ".join(paragraph[start:end].split())
            words = set(folded_words(sentence))
            if not words or _is_repeated(words, sentences):
                continue
            sentences.append(words)
            kept += f" {sentence}" if _needs_space(kept) else sentence
        if kept:
            paragraphs.append(kept)
    return "\n".join(paragraphs)


def _is_repeated(words: set[str], earlier: Iterable[set[str]]) -> bool:
    again = max((len(words & each) for each in earlier), default=0)
    return len(words) >= _FEWEST_REPEATED and again >= _MOST_REPEATED * len(words)


def _needs_space(text: str) -> bool:
    """Whether a space separates a text from the next sentence."""
    last = text[-1:]
    return (
        bool(last) and not UNSPACED_CHARACTER.match(last) and last not in "。！？」』"
    )


def _runs(text: str, length: int) -> set[tuple[str, ...]]:
    return set(runs_of(folded_words(text), length))


def _names(text: str) -> set[str]:
    names: set[str] = set()
    for match in ALPHABETIC.finditer(text):
        word = match[0]
        before = text[: match.start()].rstrip("\"'“”‘’«»„( ")
        if (
            len(word) > 2
            and word[0].isupper()
            and before
            and before[-1] not in ".!?:;…—\n*"
        ):
            names.add(re.sub(r"['’]s$", "", word))
    return names


def capitals_mark_names(page: str) -> bool:
    """Whether capitals mark names in this language; in German they mark every noun."""
    words = len(ALPHABETIC.findall(page))
    inside_sentences = re.finditer(r"(?<=[^\W\d_] )[^\W\d_]{3,}", page)
    capitalised = sum(match[0][0].isupper() for match in inside_sentences)
    return capitalised < _MOST_CAPITALISED * words


def _stem(word: str) -> str:
    word = re.sub(r"['’]s$", "", word)
    return word[: max(_SHORTEST_STEM, len(word) - 2)]


def _scripts(text: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    for character, number in Counter(text).items():
        if character.isalpha():
            script = unicodedata.name(character, "?").split()[0]
            counts["HAN" if script in ("CJK", "HIRAGANA", "KATAKANA") else script] += (
                number
            )
    return counts
