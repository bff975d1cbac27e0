"""Groups the forms of one name: "Mr. Darcy" and "Mr Darcy", "Dr. Ames" and "Doctor Ames"."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from heapq import merge

from gistread.people.contexts import MentionContext
from gistread.people.kinds import Kind, count_of, kind_of
from gistread.people.mentions import (
    PARTICLES,
    Form,
    first_names,
    plain,
    titles,
    word_set,
    word_tables,
)

_BETWEEN_NAMES = PARTICLES | {"of"}
_SAINTS = frozenset({"st", "saint"})
_LEAST_PRONOUNS = 4
# If "he" has this share of the pronouns after a name, it is a man's; likewise with "she".
_SURE = 0.65
# Ranks of men; nobody has two of them.
RANKS = frozenset(
    "capt col maj gen lieut sergt corporal admiral judge bishop archdeacon dean canon archbishop "
    "inspector sheriff mayor constable".split()
)


@dataclass(frozen=True, slots=True)
class NameParts:
    """A name in parts."""

    titles: tuple[str, ...]  # Abbreviated: "dr"
    words: tuple[str, ...]  # Those of the name itself, without particles


def parse_name(text: str) -> NameParts:
    """Take a name apart.

    >>> parse_name("Doctor John Graham Bretton")
    NameParts(titles=('dr',), words=('john', 'graham', 'bretton'))
    """
    written = text.split()
    abbreviated = word_tables()["abbreviated"]
    named = [abbreviated.get(word, word) for word in map(plain, written)]
    start = 0  # Of the name itself
    while start < len(named) - 1 and _is_title(named[start], named[start + 1]):
        start += 1
    end = len(named)
    if end > start + 1 and named[-1] in word_set("following", "titles"):
        end -= 1
    words: list[str] = []
    for word, as_written in zip(named[start:end], written[start:end], strict=True):
        is_particle = word in _BETWEEN_NAMES and as_written.islower()
        if is_particle:
            continue
        if words and words[-1] in _SAINTS:
            words[-1] = f"st {word}"
        else:
            words.append(word)
    titles_around = (*named[:start], *named[end:])
    own_words = words or [named[-1]]  # A name of particles alone keeps its last one.
    return NameParts(titles_around, tuple(own_words))


def _is_title(word: str, following: str) -> bool:
    """Whether it is the title of the following name: neither "King of …" nor "St. Paul"."""
    return word in titles() and word not in _SAINTS and following != "of"


class Group:
    """Forms of one name; once joined, of one person."""

    def __init__(self, title_kind: str, words: tuple[str, ...]) -> None:
        self.title_kind = title_kind  # man, wife, woman, anyone; "" without a title
        self.words = words  # Words of the name without titles and particles
        self.titles: set[str] = set()
        self.forms: list[Form] = []
        self.contexts: Counter[int] = Counter()

    def add(self, forms: Iterable[Form], titles: Iterable[str]) -> None:
        for form in forms:
            self.forms.append(form)
            self.contexts.update(form.contexts)
        self.titles.update(titles)

    def absorb(self, other: "Group") -> None:
        """Join the names of another group, which are the same person's."""
        self.add(other.forms, other.titles)
        self.title_kind = self.title_kind or other.title_kind

    @property
    def count(self) -> int:
        return self.contexts.total()

    @property
    def precedes_first_names(self) -> bool:
        """Whether its title is also used with first names, as in "Prince Andrew"."""
        return bool(self.titles & word_set("first", "names"))

    @property
    def is_wife(self) -> bool:
        """Whether its title is a wife's, such as "Mrs."."""
        return self.title_kind == "wife"

    @property
    def is_full(self) -> bool:
        """Whether it has more than one name: "George Emerson"."""
        return len(self.words) > 1

    @property
    def is_word(self) -> bool:
        """Whether the book also has the name's last word in lower case."""
        return any(form.is_word for form in self.forms)

    def starts(self) -> list[int]:
        """Offsets of all mentions, ascending."""
        return list(merge(*(form.starts for form in self.forms)))

    def kind(self, families: Collection[str]) -> Kind:
        """`families`: the book's family names."""
        # "Lord Street" is not a lord.
        if self.title_kind and self.words[-1] not in word_set("places", "streets"):
            return Kind.PERSON
        return kind_of(
            self.words, self.contexts, is_word=self.is_word, families=families
        )

    @property
    def sex(self) -> str:
        """man or woman, by the title, the first name or the pronouns; "" if unknown."""
        if self.title_kind in ("wife", "woman"):
            return "woman"
        if self.title_kind == "man" or self.titles & RANKS:
            return "man"
        # In "Dr. James" it is the family name.
        if self.is_full or not self.title_kind:
            by_name = first_names().get(self.words[0])
            if by_name:
                return by_name
        return self.sex_by_pronouns()

    def sex_by_pronouns(self) -> str:
        """man or woman; "" if unknown."""
        he = count_of(self.contexts, MentionContext.HE)
        she = count_of(self.contexts, MentionContext.SHE)
        pronouns = he + she
        if pronouns < _LEAST_PRONOUNS:
            return ""
        if he >= _SURE * pronouns:
            return "man"
        if she >= _SURE * pronouns:
            return "woman"
        return ""

    def may_match(self, other: "Group") -> bool:
        """Whether both may be of one sex."""
        return not self.sex or not other.sex or self.sex == other.sex


def group_forms(forms: Iterable[Form]) -> list[Group]:
    """Group forms with the same words and the same kind of title."""
    groups: dict[tuple[str, tuple[str, ...]], Group] = {}
    for form in forms:
        name = parse_name(form.text)
        # "Uncle" is not the name of one person, but "the Uncle" may be.
        if name.words[0] in titles() and not _has_article(form):
            continue
        title = name.titles[-1] if name.titles else ""
        kind = titles().get(title, "")
        title_key = kind
        if kind == "anyone":
            # "Dr. John Ames" is grouped with "John Ames", but "Dr. Ames" not with "Ames".
            title_key = "" if len(name.words) > 1 else title
        group = groups.setdefault((title_key, name.words), Group(kind, name.words))
        group.title_kind = group.title_kind or kind
        group.add([form], name.titles)
    return list(groups.values())


def _has_article(form: Form) -> bool:
    return any(context & MentionContext.ARTICLE for context in form.contexts)
