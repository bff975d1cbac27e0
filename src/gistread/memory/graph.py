"""The graph of key elements (GraphReader, section 3.2), normalised: an edge joins elements that one fact names."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Set
from dataclasses import dataclass
from difflib import SequenceMatcher

from gistread.memory.facts import Fact
from gistread.search.tokens import ARTICLES, Terms, folded

_SIMILAR = 0.88  # Similarity from which names of at least `_LONG` letters are merged
_LONG = 6
# A name after one of these is not the same name alone: Lady Fortunato is not Fortunato.
_OF_ANOTHER = """
lady mrs miss ms mistress madam madame mme mlle mademoiselle dame señora señorita signora signorina frau fräulein
mevrouw pani mother father sister brother wife husband son daughter widow aunt uncle cousin young old little
queen king prince princess duchess duke countess count baroness baron house castle street family
"""


@dataclass(frozen=True, slots=True)
class Element:
    """A key element, the facts that name it, and the keys of its neighbours, most frequent first."""

    key: str
    name: str  # Its most frequent written form
    facts: tuple[Fact, ...]
    neighbours: tuple[str, ...]


def build_graph(facts: tuple[Fact, ...], language: str = "") -> Mapping[str, Element]:
    """The graph by key, in order of first appearance. `language` is a BCP 47 tag."""
    keys = _Keys(language)
    written: dict[str, Counter[str]] = defaultdict(Counter)
    named: list[tuple[Fact, list[str]]] = []
    for fact in facts:
        of_fact: list[str] = []
        for element in fact.elements:
            if key := keys.of(element):
                written[key][element.strip()] += 1
                of_fact.append(key)
        named.append((fact, of_fact))
    names = {key for key, forms in written.items() if _usual_form(forms)[:1].isupper()}
    of_another = {keys.of(word) for word in _OF_ANOTHER.split()}
    merged = _merge_keys({key: sum(forms.values()) for key, forms in written.items()}, names, of_another)
    facts_of: dict[str, dict[Fact, None]] = defaultdict(dict)
    beside: dict[str, Counter[str]] = defaultdict(Counter)
    for fact, of_fact in named:
        nodes = list(dict.fromkeys(merged[key] for key in of_fact))
        for node in nodes:
            facts_of[node][fact] = None
            beside[node].update(other for other in nodes if other != node)
    return {
        key: Element(
            key, _usual_form(written[key]), tuple(facts_of[key]), tuple(other for other, _ in beside[key].most_common())
        )
        for key in facts_of
    }


def _usual_form(forms: Counter[str]) -> str:
    return max(forms, key=lambda form: (forms[form], form[:1].isupper(), -len(form)))


class _Keys:
    def __init__(self, language: str) -> None:
        self._terms = Terms(language)

    def of(self, element: str) -> str:
        words = [word.removesuffix("'s").strip("'") for word in self._terms.words(element)]
        counted = [word for word in words if word not in ARTICLES] or words
        return " ".join(folded(self._terms.stem(word)) for word in counted if word)


def _merge_keys(counts: Mapping[str, int], names: Set[str], of_another: Set[str]) -> dict[str, str]:
    """The key that stands for each: a full name for its last word, if only one ends with it, or a similar key."""
    ends: dict[str, list[str]] = defaultdict(list)
    for key in counts:
        first, _, last = key.rpartition(" ")
        if first and key in names:
            ends[last].append(key)
    home = {key: key for key in counts}
    for key in counts:
        full = ends[key] if " " not in key and key in names else []
        if len(full) == 1 and of_another.isdisjoint(full[0].split()):
            home[key] = full[0]
    by_start: dict[str, list[str]] = defaultdict(list)
    for key in sorted(counts, key=lambda key: -counts[key]):
        if len(key) < _LONG or home[key] != key:
            continue
        near = next((other for other in by_start[key[:2]] if _are_similar(key, other)), None)
        if near is None:
            by_start[key[:2]].append(key)
        else:
            home[key] = near
    return {key: home[target] for key, target in home.items()}


def _are_similar(one: str, other: str) -> bool:
    # 1809 and 1890 are as similar as a misspelt name, but differ; so do Fortunato and Fortunata.
    if abs(len(one) - len(other)) > 2 or one[-1] != other[-1] or any(char.isdigit() for char in one + other):
        return False
    return SequenceMatcher(None, one, other).ratio() >= _SIMILAR
