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
    """A gist that is to be checked, and what it may contain."""

    text: str
    page: str
    prompt_words: str = ""  # The prompt without the page
    # Whether it stops in mid-sentence, and is too short without that sentence
    cut_off: bool = False
    # Text before the page that the model saw too; names in it are allowed
    before: str = ""
    # All text before the page, if names in it are allowed; see `told_before`
    told_before: str = ""


def told_before(text: str, start: int, wording: str) -> str:
    """The book's text before a page: a gist may name a person who is only "he" or "I" on the page.

    Empty for the starter, which makes up the names of people who are not on the page. The `wording`
    of its prompts shows that it is the starter.
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
# Tokens of chat templates; those that end a turn end the gist
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
# Names in other inflections must share so many letters: three are shared by chance in a whole book.
_WHOLE_NAME = 5
# The share of distinct words falls about as the square root of the length. In prose it is not below
# both of these.
_LEAST_DISTINCT = 0.45
_LEAST_DISTINCT_IN_ROOT = 3.2  # Times the square root
_MOST_AGAIN = 0.2  # Largest share of repeated runs of four words
# Least share of the page's letters in the main script of the gist
_LEAST_OF_SCRIPT = 0.1
_MOST_FOREIGN = 0.1  # Largest share of foreign names
_MOST_FOREIGN_NAMES = 3  # More can no longer be a tenth of the names in a finished gist
_MOST_COPIED = 0.5  # Largest share of copied words
_MOST_COPIED_SO_FAR = 0.8  # The same in an unfinished gist
_COPIED_RUN = 8  # Words in a row that count as copied
_COPIED_CHARACTERS = 16  # The same in a script without spaces
_PROMPT_RUN = 6  # Words in a row that are from the prompt
_LOOP_RUN = 4  # Words in a row that are counted to find a loop
_LONGER_WORD = 5  # Letters
_FEWEST_LONGER_WORDS = 5
_LEAST_RELATED = 0.4  # Least share of the longer words that are on the page
# Least words of a sentence that may not be repeated ("He ran away." may)
_FEWEST_REPEATED = 4
# A sentence is repeated if an earlier one has this share of its words
_MOST_REPEATED = 0.8
_MOST_CAPITALISED = 0.16  # If more words are capitalised, capitals do not mark names
# A word of three letters or more that follows another one, and so begins no sentence
_AFTER_WORD = re.compile(r"(?<=[^\W\d_] )[^\W\d_]{3,}")
_SHORTEST_STEM = 3
_LEAST_NUMBER = 3  # Paraphrases count in smaller numbers ("the two of them")
# A gist has at least a twentieth of its page's words, between 4 and 30: a quarter of the length
# asked for.
_LEAST_OF_PAGE = 20
_FEWEST_WORDS = 4
_MOST_LEAST_WORDS = 30
_MOST_OF_PAGE = 0.5  # And at most half of them
_QUOTATION_MARKS = ('""', "“”", "«»", "„“", "''")
_BEFORE_WORDS = "\"'“”‘’«»„( "  # Characters between a word and the one before it
_BEFORE_SENTENCES = ".!?:;…—\n*"  # Characters after which a capital means nothing
_SENTENCE_ENDS = re.compile(r"[.!?…。！？।][\"'”’»)\]」』]*(?=\s|$|[^\x00-\x7f])")
_LABEL = re.compile(r"(?<!\S)<\d{1,4}>(?!\S)")  # A pause label of a prompt
_REFUSAL = re.compile(_PHRASES["refusal"], re.IGNORECASE | re.VERBOSE)


def clean(written: str, page: str = "", *, cut_off: bool = False) -> tuple[str, bool]:
    """The cleaned gist, a line for each paragraph, and whether it still is cut in mid-sentence.

    `page`: the text that it tells, which may have a "Summary:" of its own.
    """
    text = _LABEL.sub("", without_control_tokens(written))
    for _ in range(3):  # "Sure! Here is the passage: Summary: …"
        text = _OPENING.sub("", text, count=1)
    text = text.strip()
    first_gist = _first_gist(text, page)
    # If a second gist follows, only that one is cut.
    is_cut = cut_off and first_gist == text
    text = first_gist.strip("*_#`").strip()
    if len(text) > 1 and text[0] + text[-1] in _QUOTATION_MARKS:
        text = text[1:-1].strip()
    if is_cut:
        ends = [match.end() for match in _SENTENCE_ENDS.finditer(text)]
        whole_sentences = text[: max(ends, default=0)]
        if count_words(whole_sentences) >= count_words(text) / 2:
            text = whole_sentences
            is_cut = False
    return _without_repetition(text), is_cut


def _first_gist(text: str, page: str) -> str:
    """The text up to the heading of a second gist ("Summary:"), except headings of the page."""
    # A heading follows a line break. The first line of the page may be one, that of a gist not.
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
    """The share of the words that are in long runs of the page; 0.0 for a short gist."""
    words = folded_words(draft.text)
    if len(words) < _FEW:
        return 0.0
    length = _COPIED_RUN
    if UNSPACED_CHARACTER.search(draft.text):
        length = _COPIED_CHARACTERS
    on_page = _runs(draft.page, length)
    copied = [False] * len(words)
    for index, run in enumerate(runs_of(words, length)):
        if run in on_page:
            copied[index : index + length] = [True] * length
    return sum(copied) / len(words)


def _says(phrases: re.Pattern[str], draft: Draft) -> bool:
    """Whether the gist has one of these phrases that its page lacks."""
    match = phrases.search(draft.text)
    if match is None:
        return False
    phrase = match[0].casefold().strip()
    return phrase not in draft.page.casefold()


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
    least_by_length = _LEAST_DISTINCT_IN_ROOT / math.sqrt(len(words))
    if distinct < min(_LEAST_DISTINCT, least_by_length):
        return True
    runs = Counter(runs_of(words, _LOOP_RUN))
    repeated = sum(count - 1 for count in runs.values())
    return repeated > _MOST_AGAIN * len(words)


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
    """The names of a draft that neither its page nor the text before has, and all of its names.

    Accents do not count.
    """
    names = _names(draft.text) if capitals_mark_names(draft.page) else set()
    names |= set(_KATAKANA.findall(draft.text))
    seen = _fold(f"{draft.before}\n{draft.page}")
    # With a space before each, so that a stem is found only where a word begins
    words_seen = " ".join(["", *ALPHABETIC.findall(seen)])
    foreign: set[str] = set()
    for name in names:
        folded_name = _fold(name)
        is_seen = f" {_stem(folded_name)}" in words_seen or folded_name in seen
        # A long name that was told before may have another ending: "Наташу" for "Наташа".
        beginning = name[: max(_WHOLE_NAME, len(name) - 2)]
        is_known = is_seen or beginning in draft.told_before
        if not is_known and not _NATIONAL.fullmatch(name):
            foreign.add(name)
    return foreign, names


def _fold(text: str) -> str:
    """The text in lower case without accents."""
    return folded(text.casefold())


def foreign_numbers(draft: Draft) -> set[int]:
    """The numbers of a draft, in digits or words, that its page lacks."""
    known = {part for _, parts in numbers_in(draft.page) for part in parts}
    foreign: set[int] = set()
    for value, parts in numbers_in(draft.text):
        # "A hundred and twenty" is known if the page has a hundred and twenty apart.
        others = parts - {value}
        is_composed = bool(others) and others <= known
        if value >= _LEAST_NUMBER and value not in known and not is_composed:
            foreign.add(value)
    return foreign


def _is_unrelated(draft: Draft) -> bool:
    """Whether fewer than four in ten of the longer words occur on the page in some form.

    A draft whose names are all of the page may have other words.
    """
    if UNSPACED_CHARACTER.search(draft.text):
        in_draft = set(UNSPACED_CHARACTER.findall(draft.text))
        on_page = set(draft.page)
    else:
        words = ALPHABETIC.findall(draft.text)
        longer = [word for word in words if len(word) >= _LONGER_WORD]
        in_draft = {_stem(word.casefold()) for word in longer}
        on_page = {_stem(word.casefold()) for word in ALPHABETIC.findall(draft.page)}
    shared = in_draft & on_page
    is_related = len(shared) >= _LEAST_RELATED * len(in_draft)
    if is_related or len(in_draft) < _FEWEST_LONGER_WORDS:
        return False
    foreign, names = foreign_names(draft)
    return not names or bool(foreign)


def _is_empty(draft: Draft) -> bool:
    share_of_page = count_words(draft.page) // _LEAST_OF_PAGE
    least_words = max(_FEWEST_WORDS, min(_MOST_LEAST_WORDS, share_of_page))
    return count_words(draft.text) < least_words


def _repeats_prompt(draft: Draft) -> bool:
    """Whether six consecutive words are from the prompt and not from the page."""
    own_runs = _runs(draft.text, _PROMPT_RUN) - _runs(draft.page, _PROMPT_RUN)
    return not own_runs.isdisjoint(_runs(draft.prompt_words, _PROMPT_RUN))


def _is_too_long(draft: Draft) -> bool:
    return count_words(draft.text) > _MOST_OF_PAGE * count_words(draft.page)


def _is_copied(draft: Draft) -> bool:
    """Whether most words are copied: weak models copy the start of a page."""
    return _copied_share(draft) > _MOST_COPIED


# The check for each fault, in order. What the page says too is no fault.
_RULES: dict[Fault, Callable[[Draft], bool]] = {
    Fault.EMPTY: _is_empty,
    Fault.CUT_OFF: lambda draft: draft.cut_off,
    Fault.REFUSAL: partial(_says, _REFUSAL),
    Fault.PROMPT: _repeats_prompt,
    Fault.ABOUT_ITSELF: partial(_says, _ABOUT_ITSELF),
    Fault.LOOP: _is_loop,
    Fault.TOO_LONG: _is_too_long,
    Fault.COPIED: _is_copied,
    Fault.OTHER_SCRIPT: _is_other_script,
    Fault.FOREIGN_NAMES: _has_foreign_names,
    Fault.UNRELATED: _is_unrelated,
}


def find_fault(draft: Draft, faults: Iterable[Fault] = _RULES) -> Fault | None:
    """The first of these faults that a draft has; None without one."""
    for fault in faults:
        if _RULES[fault](draft):
            return fault
    return None


_FINAL_FAULTS = (Fault.REFUSAL, Fault.PROMPT, Fault.ABOUT_ITSELF, Fault.OTHER_SCRIPT)


def find_final_fault(draft: Draft) -> Fault | None:
    """A fault of an unfinished draft that further words cannot correct; None without one."""
    fault = find_fault(draft, _FINAL_FAULTS)
    if fault:
        return fault
    foreign, _ = foreign_names(draft)
    if len(foreign) > _MOST_FOREIGN_NAMES:
        return Fault.FOREIGN_NAMES
    # The last word may be an unfinished number.
    whole_words, _, _ = draft.text.rpartition(" ")
    if foreign_numbers(replace(draft, text=whole_words)):
        return Fault.FOREIGN_NAMES
    if _copied_share(draft) > _MOST_COPIED_SO_FAR:
        return Fault.COPIED
    # A few repeated words may still be lost among those to come.
    if count_words(draft.text) >= 2 * _FEW:
        return find_fault(draft, (Fault.LOOP,))
    return None


def _without_repetition(text: str) -> str:
    """The text without sentences that repeat an earlier one."""
    earlier: list[set[str]] = []  # The words of each sentence
    paragraphs: list[str] = []
    for paragraph in text.split("\n"):
        cleaned = ""
        for start, end in sentence_spans(paragraph):
            sentence = " ".join(paragraph[start:end].split())
            words = set(folded_words(sentence))
            if not words or _is_repeated(words, earlier):
                continue
            earlier.append(words)
            cleaned += f" {sentence}" if _needs_space(cleaned) else sentence
        if cleaned:
            paragraphs.append(cleaned)
    return "\n".join(paragraphs)


def _is_repeated(words: set[str], earlier: Iterable[set[str]]) -> bool:
    """Whether an earlier sentence has most words of this one."""
    if len(words) < _FEWEST_REPEATED:
        return False
    most_shared = max((len(words & others) for others in earlier), default=0)
    return most_shared >= _MOST_REPEATED * len(words)


def _needs_space(text: str) -> bool:
    """Whether a space separates a text from the next sentence."""
    last = text[-1:]
    if not last or UNSPACED_CHARACTER.match(last):
        return False
    return last not in "。！？」』"


def _runs(text: str, length: int) -> set[tuple[str, ...]]:
    """All runs of so many consecutive words."""
    return set(runs_of(folded_words(text), length))


def _names(text: str) -> set[str]:
    """The capitalised words that do not begin a sentence."""
    names: set[str] = set()
    for match in ALPHABETIC.finditer(text):
        word = match[0]
        if len(word) <= 2 or not word[0].isupper():
            continue
        before = text[: match.start()].rstrip(_BEFORE_WORDS)
        if before and before[-1] not in _BEFORE_SENTENCES:
            names.add(re.sub(r"['’]s$", "", word))
    return names


def capitals_mark_names(page: str) -> bool:
    """Whether capitals mark names in the language of a page; in German they mark every noun."""
    words = len(ALPHABETIC.findall(page))
    inside_sentences = _AFTER_WORD.finditer(page)
    capitalised = sum(word[0][0].isupper() for word in inside_sentences)
    return capitalised < _MOST_CAPITALISED * words


def _stem(word: str) -> str:
    """A word without its last two letters, which may be an ending."""
    word = re.sub(r"['’]s$", "", word)
    return word[: max(_SHORTEST_STEM, len(word) - 2)]


def _scripts(text: str) -> Counter[str]:
    """How many letters of each script a text has: LATIN, CYRILLIC …"""
    counts: Counter[str] = Counter()
    for character, count in Counter(text).items():
        if character.isalpha():
            script, *_ = unicodedata.name(character, "?").split()
            if script in ("CJK", "HIRAGANA", "KATAKANA"):
                script = "HAN"
            counts[script] += count
    return counts
