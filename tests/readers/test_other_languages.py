"""Questions about a German and a French story to a model that reads well.

Answers, checks, citations and notices.
"""

from pathlib import Path

import pytest

from gistread import Answer, Session, open_book
from gistread.config import Config
from gistread.paths import Paths
from tests.engine.remote.server import Kind, Server
from tests.replies import Prepared

pytestmark = pytest.mark.process

GERMAN = """Der Leuchtturm von Sandö

Am 3. Januar kam Dr. Brandt mit dem letzten Boot auf die Insel. Der alte Wärter Jakob Thomsen
stand mit seiner Laterne am Steg und half ihm aus dem Boot. »Sie kommen spät«, sagte er. »Die
Lampe brennt seit einer Woche nur noch mit Tran.«

Im Turm war es kalt. Thomsens Tochter Grete hatte die Treppe mit Tauen gesichert, z. B. dort, wo
drei Stufen fehlten. Sie war siebzehn Jahre alt und hatte die Insel noch nie verlassen. Brandt
trug eine Kiste mit Arzneien, die aus Lübeck stammte; darin lagen auch ein Brief und eine silberne
Uhr.

In der Nacht stürzte die Lampe herab, und das Glas zersprang. Grete lief hinauf und hielt vier
Stunden lang eine Fackel über das Geländer. Ein Schiff, die »Seeadler«, sah das Feuer und drehte
bei. »Ohne das Mädchen lägen wir auf den Klippen«, sagte Kapitän Hansen am Morgen.

Der Brief war von Gretes Mutter, die man für tot gehalten hatte. Sie lebte in Lübeck und bat ihre
Tochter, zu ihr zu kommen. Thomsen las ihn zweimal und schwieg. Dann gab er Grete die Uhr und
sagte: »Geh du. Ich bleibe bei der Lampe.«
"""

FRENCH = """Le Moulin de Valbrune

M. Lenoir arriva au moulin le 14 juillet, par une chaleur de four. La meunière, Mme Aubry, lui
servit du cidre sous le tilleul. « Vous venez pour la roue », dit-elle. « Elle ne tourne plus
depuis onze jours. »

Le vieux Bastien prétendait qu’un esprit retenait l’eau. Lenoir n’en crut rien et remonta le
ruisseau à pied jusqu’à l’étang. Là, il trouva une digue de branches et d’argile, toute fraîche,
et les traces d’une charrette, c.-à-d. la preuve que des hommes avaient travaillé la nuit.

Au village, on lui apprit que Gaspard Morel, le boulanger, avait acheté le pré voisin. Morel avoua
tout : il voulait que la meunière vende le moulin à bas prix. « Je comptais lui en donner deux
mille francs », murmura-t-il, les yeux baissés.

Mme Aubry ne porta pas plainte. Elle demanda seulement que le boulanger défasse la digue de ses
mains. Le soir même, la roue tourna de nouveau, et Bastien jura que l’esprit s’était enfui en
voyant Lenoir. Sa petite-fille Colette en rit encore.
"""

TOLD = {
    "German": [
        (
            "Wann kommt Dr. Brandt auf die Insel?",
            "Er kommt am 3. Januar mit dem letzten Boot.",
            "Am 3. Januar kam",
        ),
        (
            "Was sagt Hansen?",
            "»Ohne das Mädchen lägen wir auf den Klippen«, sagt er.",
            "Ohne das Mädchen",
        ),
        (
            "Wer ist Grete?",
            "Grete ist die siebzehnjährige Tochter des Wärters Thomsen.",
            "Thomsens Tochter Grete",
        ),
        ("Was sagt Thomsen am Steg?", "Er sagt: »Sie kommen spät«.", "Sie kommen spät"),
        (
            "Woher kommt die Kiste?",
            "Sie stammt aus Lübeck und enthält Arzneien, einen Brief und eine Uhr.",
            "aus Lübeck",
        ),
        (
            "Wie lange hielt Grete die Fackel?",
            "Sie hielt sie 4 Stunden lang über das Geländer.",
            "vier Stunden",
        ),
        (
            "Warum bleibt Thomsen?",
            "Er will bei der Lampe bleiben: „Ich bleibe bei der Lampe.“",
            "bei der Lampe",
        ),
    ],
    "French": [
        (
            "Quand Lenoir arrive-t-il ?",
            "Il arrive le 14 juillet, par une grande chaleur.",
            "le 14 juillet",
        ),
        (
            "Que dit la meunière de la roue ?",
            "Elle dit : « Elle ne tourne plus depuis onze jours. »",
            "onze jours",
        ),
        (
            "Que croit Bastien ?",
            "Selon Bastien, un esprit retenait l’eau.",
            "un esprit retenait",
        ),
        (
            "Qui a construit la digue ?",
            "Le boulanger, Gaspard Morel, qui l’avoue lui-même.",
            "Morel",
        ),
        (
            "Combien Morel voulait-il payer ?",
            "Il comptait en donner 2000 francs.",
            "deux mille francs",
        ),
        (
            "Que demande Mme Aubry ?",
            "Que le boulanger défasse la digue de ses propres mains.",
            "défasse la digue",
        ),
        (
            "Qui est Colette ?",
            "C’est la petite-fille de Bastien, qui rit encore de l’histoire.",
            "petite-fille Colette",
        ),
    ],
}
MADE_UP = {
    "German": [
        ("Wie hoch ist der Turm?", "Er ist 245 Fuß hoch.", "245"),
        (
            "Was ruft Hansen?",
            "Er ruft: »Gott segne den alten Mann und seinen Turm!«",
            "Gott segne",
        ),
        ("Wann kehrt sie zurück?", "Sie kehrt im Jahr 1847 zurück.", "1847"),
    ],
    "French": [
        (
            "Comment s’appelle l’étang ?",
            "On l’appelle l’étang de Brocéliande.",
            "Brocéliande",
        ),
        (
            "Que répond Lenoir ?",
            "Il répond : « La justice passera par ce moulin avant l’hiver. »",
            "La justice",
        ),
        ("En quelle année ?", "En 1893.", "1893"),
    ],
}


@pytest.mark.parametrize(("language", "text"), [("German", GERMAN), ("French", FRENCH)])
async def test_answers_in_the_books_language_are_kept_cited_and_checked(
    language: str, text: str, tmp_path: Path
) -> None:
    path = tmp_path / "story.txt"
    path.write_text(text)
    book = open_book(path)
    assert book.language == {"German": "de", "French": "fr"}[language]
    true = TOLD[language]
    made_up = MADE_UP[language]
    telling = {question: tells for question, _, tells in true}
    prepared = Prepared(
        {question: answer for question, answer, _ in (*true, *made_up)}, telling
    )
    paths = Paths(*(tmp_path / name for name in ("config", "data", "cache", "state")))
    async with Server(Kind(obeys=(), entry={"max_model_len": 8192})) as server:
        server.says = prepared
        async with Session(
            book, model=server.url, config=Config(), paths=paths
        ) as session:
            for question, reply, tells in true:
                answer = await session.ask(question)
                assert (answer.text, answer.marks) == (reply, ()), question
                check_citations(answer, tells, book.text)
            for question, reply, words in made_up:
                answer = await session.ask(question)
                assert answer.text == reply
                assert is_marked(answer, words), question


def check_citations(answer: Answer, tells: str, text: str) -> None:
    """One has these words, and all are whole sentences of the text."""
    quotes = [" ".join(citation.quote.split()) for citation in answer.citations]
    assert any(tells in quote for quote in quotes), quotes
    assert all(is_whole(text, cited.start, cited.end) for cited in answer.citations), (
        quotes
    )


def is_marked(answer: Answer, words: str) -> bool:
    start = answer.text.index(words)
    end = start + len(words)
    return any(mark.start < end and start < mark.end for mark in answer.marks)


def is_whole(text: str, start: int, end: int) -> bool:
    """Whether a quotation begins and ends where sentences do."""
    before, last = (part.rstrip(" »«“”\n") for part in (text[:start], text[start:end]))
    return last[-1] in ".!?" and (text[:start].endswith("\n\n") or before[-1] in ".!?:")
