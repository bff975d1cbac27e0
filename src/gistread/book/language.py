"""Guesses the language of a text that does not declare it, by its script and its most frequent words."""

import re
from collections import Counter

_SAMPLE_CHARACTERS = 30_000
_LEAST_WORDS = 60  # Fewer say too little
_LEAST_SHARE = 0.12  # Of words that are frequent in the language; running text has 0.25 to 0.5
_WORD = re.compile(r"[^\W\d_]+")
_SCRIPTS = (
    ("he", re.compile("[\u05d0-\u05ea]")),
    ("ar", re.compile("[\u0620-\u064a]")),
    ("el", re.compile("[\u0370-\u03ff]")),
    ("ja", re.compile("[\u3040-\u30ff]")),
    ("ko", re.compile("[\uac00-\ud7a3]")),
    ("zh", re.compile("[\u4e00-\u9fff]")),
    ("hi", re.compile("[\u0904-\u0939]")),
    ("th", re.compile("[\u0e01-\u0e2e]")),
)
_FREQUENT = {
    language: frozenset(words.split())
    for language, words in {
        "en": "the of and to a in that he was it his is with as i her for had you not be she at on by which have him",
        "de": "der die und in den das er sie zu nicht ein ich es mit sich dem auf von ist war eine so wie an des aber",
        "fr": "de la le et les des un une il à que en elle qui dans ne du se pas je ce pour était au sur plus lui avec",
        "es": "de la que y el en los no se a un las con por una lo su para como más le al del era pero había sus ya",
        "it": "di e che la il non un in per una si a le i era con gli lo da del come al mi più della ma sua suo",
        "pt": "de que a o e não se um do da os uma em para com as no por mais na era ao ele como lhe mas sua dos",
        "nl": "de en van het een in dat hij ik te was niet op zijn met die ze er aan voor is maar als haar zich",
        "sv": "och att det i han som en på den med var för jag sig inte av till hon ett är men de så hade",
        "da": "og i at det han en den til er som på de med var for ikke der jeg sig hun et af havde men",
        "fi": "ja hän on ei oli se että niin kuin mutta minä en hänen sen kun jo ne mitä ole olen",
        "pl": "i w nie się na z do to że jak a o po co za go był ale tak od jego już",
        "ru": "и в не на что он с я как а то это его но она к так у же по был из ее за бы",
        "uk": "і в не на що він з я як а то це його але вона до так у й по був та",
    }.items()
}


def guess_language(text: str) -> str:
    """BCP 47 code of a text's language; empty for English, and where it is unclear."""
    sample = text[:_SAMPLE_CHARACTERS]
    letters = sum(map(str.isalpha, sample))
    for language, script in _SCRIPTS:
        if letters and len(script.findall(sample)) > 0.2 * letters:
            return language
    words = Counter(_WORD.findall(sample.lower()))
    total = words.total()
    if total < _LEAST_WORDS:
        return ""
    shares = {name: sum(words[word] for word in known) / total for name, known in _FREQUENT.items()}
    best, second = sorted(shares, key=lambda name: -shares[name])[:2]
    clear = shares[best] >= _LEAST_SHARE and shares[best] >= 1.3 * shares[second]
    return best if clear and best != "en" else ""
