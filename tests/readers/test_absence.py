"""Absence is understood in other words than the agreed ones, in nine languages.

By expressions, or by the model where a word of negation or lack leaves it open.
"""

from collections.abc import Sequence

import pytest

from gistread.engine.protocol import NO_USAGE, Choice, Priority, Prompt
from gistread.errors import EngineError
from gistread.readers.absence import (
    judged_absence,
    may_say_not_found,
    says_not_found,
    told_part,
)
from gistread.readers.answering import Asking, ReaderOptions
from gistread.readers.events import Answered
from gistread.readers.model_class import LARGE, SMALL, ModelClass
from gistread.readers.registry import METHODS
from gistread.readers.steering import Steering
from tests.fake_engine import FakeEngine
from tests.readers.memories import make_memory

NAMELESS = "The wife of Ferrand remains nameless in the story."
DENIED = "Ferrand did not tell his wife that he had stolen the key."
QUESTION = "What is the wife of Ferrand called?"

ABSENT = (
    "Nowhere in the passages is the colour of her eyes given.",
    "There is no indication in the text of how the captain lost his leg.",
    "The story leaves open whether she ever married.",
    "I'm afraid this isn't covered in the pages I was shown.",
    "Her age is left unstated.",
    "Wie der Hund heißt, erfahren wir nicht.",
    "Aus dem Text geht nicht hervor, wer die Rechnung bezahlt hat.",
    "Zu den Eltern des Jungen macht die Geschichte keine Angaben.",
    "Das lässt sich anhand der gezeigten Stellen nicht beantworten.",
    "Der Vorname des Arztes bleibt ungenannt.",
    "On n'apprend jamais comment s'appelle la tante.",
    "Les passages ne permettent pas de savoir qui a payé la note.",
    "Le prénom du médecin reste inconnu.",
    "Il n'est dit nulle part où il est né.",
    "Le récit passe sous silence la mort de sa mère.",
    "En ningún momento se nos dice cómo se llama la tía.",
    "El relato no aclara quién pagó la cuenta.",
    "A partir de los fragmentos no es posible saber su edad.",
    "El nombre del médico queda sin mencionar.",
    "No consta en el texto dónde nació.",
    "Dai brani non si capisce chi abbia pagato il conto.",
    "Il nome del medico resta sconosciuto.",
    "Da nessuna parte si dice dove sia nato.",
    "Il racconto tace sulla morte della madre.",
    "Non viene detto quanti anni abbia la ragazza.",
    "Em nenhum momento se diz como se chama a tia.",
    "O texto não deixa claro quem pagou a conta.",
    "Pelos trechos não é possível saber a idade dela.",
    "O nome do médico permanece desconhecido.",
    "Nada no texto indica onde ele nasceu.",
    "Nergens wordt verteld hoe de tante heet.",
    "Uit de tekst blijkt niet wie de rekening heeft betaald.",
    "Hoe oud het meisje is, komen we niet te weten.",
    "De voornaam van de dokter blijft onbekend.",
    "Het verhaal laat in het midden of ze trouwt.",
    "Nigdzie nie podano, jak nazywa się ciotka.",
    "Z tekstu nie wynika, kto zapłacił rachunek.",
    "Imię lekarza pozostaje nieznane.",
    "Nie dowiadujemy się, ile lat ma dziewczyna.",
    "Na podstawie tych fragmentów nie da się tego ustalić.",
    "Нигде не сказано, как зовут тётку.",
    "Из текста неясно, кто заплатил по счёту.",
    "Имя врача остаётся неизвестным.",
    "Мы так и не узнаём, сколько лет девушке.",
    "По этим отрывкам нельзя определить, где он родился.",
    "The author gives no hint of what became of the dog.",
    "It remains unclear from the text whether Anna ever reads the letter.",
    "What the old man did for a living is not explained in these pages.",
    "The text is silent on the matter of his wages.",
    "We learn nothing about her first husband.",
    "Über seine Kindheit schweigt das Buch.",
    "Ob sie je zurückkehrt, lässt der Roman offen.",
    "Es bleibt unklar, wer den Brief geschrieben hat.",
    "Der Text enthält hierzu keine Information.",
    "Warum er ging, wird nirgends erklärt.",
    "Le roman ne révèle pas le nom du capitaine.",
    "On ignore pourquoi elle est partie.",
    "Aucun passage n'évoque le salaire du cocher.",
    "L'âge de la jeune fille n'est pas précisé.",
    "Le texte reste muet sur ce point.",
    "Se desconoce la edad de la muchacha.",
    "Ningún pasaje menciona el salario del cochero.",
    "La novela no explica por qué se marchó.",
    "El texto guarda silencio sobre su infancia.",
    "No queda claro quién escribió la carta.",
    "Non è chiaro chi abbia scritto la lettera.",
    "Il testo non fa alcun riferimento al cane.",
    "Nessun brano parla dello stipendio del cocchiere.",
    "L'età della ragazza non è indicata.",
    "Il romanzo non spiega perché sia partita.",
    "Não fica claro quem escreveu a carta.",
    "Nenhum trecho fala do salário do cocheiro.",
    "A idade da moça não é informada.",
    "O romance não explica por que ela partiu.",
    "Desconhece-se a origem do dinheiro.",
    "Het is niet duidelijk wie de brief heeft geschreven.",
    "Over zijn jeugd zegt het boek niets.",
    "Waarom ze vertrok, wordt niet uitgelegd.",
    "Geen enkele passage noemt het loon van de koetsier.",
    "De leeftijd van het meisje staat nergens vermeld.",
    "Nie jest jasne, kto napisał list.",
    "Żaden fragment nie wspomina o zapłacie woźnicy.",
    "Autor nie wyjaśnia, dlaczego odeszła.",
    "O jego dzieciństwie książka milczy.",
    "Wiek dziewczyny nie został podany.",
    "Непонятно, кто написал письмо.",
    "Ни в одном отрывке не упоминается жалованье кучера.",
    "Роман не объясняет, почему она уехала.",
    "О его детстве книга умалчивает.",
    "Возраст девушки не указан.",
    "Readers never find out who sent the parcel.",
    "The passages shown say nothing of a wedding.",
    "Where the money comes from is never revealed.",
    "Das wird im gezeigten Text nicht beantwortet.",
    "Man erfährt nicht, wie alt sie ist.",
    "Wer das Paket geschickt hat, bleibt offen.",
    "Le texte ne mentionne aucun mariage.",
    "Nous ne savons pas qui a envoyé le colis.",
    "D'où vient l'argent n'est jamais expliqué.",
    "El texto no hace referencia a ninguna boda.",
    "No sabemos quién envió el paquete.",
    "De dónde viene el dinero no se explica nunca.",
    "Il testo non accenna a nessun matrimonio.",
    "Non sappiamo chi abbia mandato il pacco.",
    "Da dove venga il denaro non viene spiegato.",
    "O texto não faz referência a nenhum casamento.",
    "Não sabemos quem enviou o pacote.",
    "De onde vem o dinheiro nunca é explicado.",
    "De tekst maakt geen melding van een huwelijk.",
    "We weten niet wie het pakket heeft gestuurd.",
    "Waar het geld vandaan komt, wordt nooit verteld.",
    "Tekst nie wspomina o żadnym ślubie.",
    "Nie wiemy, kto wysłał paczkę.",
    "Skąd pochodzą pieniądze, nie zostało wyjaśnione.",
    "Текст не упоминает ни о какой свадьбе.",
    "Мы не знаем, кто отправил посылку.",
    "Откуда взялись деньги, не объясняется.",
    "No, the book does not tell that.",
    "No. A wife of Bathurst's never comes up anywhere in the story.",
    "No; there is no mention of it.",
    "Nein, davon steht nichts im Text.",
    "Eine Frau kommt in der Geschichte nicht vor.",
    "Non, le texte n'en parle pas.",
    "Non. Il n'en est jamais question.",
    "No, el texto no lo dice.",
    "Su mujer no aparece en el relato.",
    "No, il libro non lo dice.",
    "No, non se ne parla.",
    "Não, o livro não diz.",
    "A mulher dele não aparece no conto.",
    "Nee, dat staat niet in de tekst.",
    "Zijn vrouw komt in het verhaal niet voor.",
    "Nie, książka o tym nie mówi.",
    "Jego żona nie pojawia się w tej historii.",
    "Нет, в тексте об этом не говорится.",
    "Об этом в книге ничего нет.",
)
TOLD = (
    "Nowhere else could he hide, so he climbed into the loft.",
    "There is no door in the hut; they enter through the roof.",
    "She leaves the window open for her brother.",
    "I'm afraid of nothing, he says, and walks into the dark.",
    "Her letter is left unopened on the table.",
    "Wie der Hund kam, wusste niemand, doch er blieb bei ihnen.",
    "Aus dem Haus geht nicht einmal die Katze hinaus.",
    "Er macht den Eltern keine Vorwürfe und fährt heim.",
    "Der Brief bleibt ungelesen liegen.",
    "Nicht der Arzt, sondern der Pfarrer hat bezahlt.",
    "Il n'apprend jamais la vérité et meurt en mer.",
    "Le passage du col ne leur permet pas de fuir.",
    "La porte reste fermée jusqu'au matin.",
    "Ce n'est pas le roi mais son frère qui règne.",
    "Il ne dit rien et passe sous la fenêtre.",
    "En ningún momento dejó la casa sin vigilancia.",
    "El médico no cobra nada a los pobres.",
    "No es el rey, sino su hermano.",
    "La carta queda sin abrir sobre la mesa.",
    "No volvió a su pueblo porque temía a su padre.",
    "Non si sposa perché ama ancora Lucia.",
    "Da nessuna parte trova riparo, così dorme sotto un albero.",
    "Il re tace e guarda il mare.",
    "La porta resta chiusa fino all'alba.",
    "Non è stato il medico, ma il prete.",
    "Em nenhum momento ele largou a espada.",
    "O rei não deixa a filha casar.",
    "Não era o pai, mas o tio.",
    "A porta permanece fechada até de manhã.",
    "Ele não volta para casa porque tem medo.",
    "Nergens vindt hij rust, dus vertrekt hij naar zee.",
    "De deur blijft dicht tot de ochtend.",
    "Hij vertelt niets aan zijn broer.",
    "Het meisje laat het paard in de stal.",
    "Niet de dokter maar de dominee heeft betaald.",
    "Nigdzie nie znalazł spokoju, więc ruszył w morze.",
    "Drzwi pozostają zamknięte do rana.",
    "Nie wrócił do domu, bo bał się ojca.",
    "Król nie dał mu ani grosza.",
    "To nie lekarz, lecz ksiądz zapłacił.",
    "Нигде он не нашёл покоя и ушёл в море.",
    "Дверь остаётся закрытой до утра.",
    "Он не вернулся домой, потому что боялся отца.",
    "Из дома никто не вышел.",
    "Заплатил не врач, а священник.",
    "The letter is not given to Anna until the end.",
    "We learn that nothing remains of the house.",
    "The pages of the diary are silent about love but full of money worries, so he sells it.",
    "It is unclear water that makes them ill.",
    "No one tells the dog's owner, because he is abroad.",
    "Über den Fluss führt keine Brücke, deshalb schwimmt er.",
    "Das Fenster bleibt offen.",
    "Er schweigt, weil der Pfarrer ihn darum bittet.",
    "Sie weiß nicht, wer er ist, und öffnet ihm.",
    "Es gibt keine Brücke mehr, der Sturm hat sie fortgerissen.",
    "Il ignore la lettre et part pour Paris.",
    "Le roi ne donne pas sa fille au pêcheur.",
    "Le capitaine ne révèle pas son nom aux pirates.",
    "Elle reste muette de peur.",
    "On ne l'invite plus au château.",
    "El capitán no revela su nombre a los piratas.",
    "Guarda silencio porque teme al alcalde.",
    "Ningún vecino quiso abrirle la puerta.",
    "La ventana queda abierta toda la noche.",
    "No hay puente, así que cruza a nado.",
    "Il capitano non rivela il suo nome ai pirati.",
    "Nessuno gli apre la porta.",
    "Non c'è ponte, perciò attraversa a nuoto.",
    "La finestra rimane aperta tutta la notte.",
    "Non spiega nulla alla moglie e parte.",
    "O capitão não revela o seu nome aos piratas.",
    "Ninguém lhe abre a porta.",
    "Não há ponte, por isso ele atravessa a nado.",
    "A janela fica aberta a noite toda.",
    "Ela não explica nada ao marido e parte.",
    "De kapitein noemt zijn naam niet aan de zeerovers.",
    "Niemand doet de deur voor hem open.",
    "Er is geen brug, dus zwemt hij over.",
    "Het raam blijft de hele nacht open.",
    "Ze weten niet dat hij dood is en wachten.",
    "Kapitan nie zdradza piratom swojego imienia.",
    "Nikt mu nie otwiera drzwi.",
    "Nie ma mostu, więc przepływa rzekę.",
    "Okno pozostaje otwarte całą noc.",
    "Nie wie, że ojciec nie żyje.",
    "Капитан не называет пиратам своего имени.",
    "Никто не открывает ему дверь.",
    "Моста нет, и он переплывает реку.",
    "Окно остаётся открытым всю ночь.",
    "Он не знает, что отец умер, и ждёт его.",
    "Who sent it is known to nobody but the miller, who wrote the label.",
    "The reader of the will is the lawyer.",
    "She says nothing and leaves the wedding.",
    "Wer ihn kennt, bleibt nicht lange in seinem Haus.",
    "Im Haus ist nichts mehr zu essen, darum gehen sie betteln.",
    "Sie ist unbekannt im Dorf und wird freundlich aufgenommen.",
    "Le livre tombe dans la rivière et ne sert plus à rien.",
    "Personne n'a envoyé le colis à Paul: il l'a acheté.",
    "Il n'y a plus de pain dans la maison.",
    "El libro cae al río y no sirve para nada.",
    "Nadie sabe nadar, y la barca se hunde.",
    "No hace falta: el tío ya ha pagado.",
    "Il libro cade nel fiume e non serve più.",
    "Nessuno sa nuotare, e la barca affonda.",
    "Non vuole sposarla perché è povera.",
    "O livro cai no rio e não serve para nada.",
    "Ninguém sabe nadar, e o barco afunda.",
    "Não quer casar porque é pobre.",
    "Het boek valt in de rivier en is niet meer te lezen.",
    "Niemand kan zwemmen, en de boot zinkt.",
    "In het huis is niets meer te eten.",
    "Książka wpada do rzeki i do niczego się nie nadaje.",
    "Nikt nie umie pływać i łódź tonie.",
    "Nie chce się żenić, bo jest biedny.",
    "Книга падает в реку и больше ни на что не годится.",
    "Никто не умеет плавать, и лодка тонет.",
    "Он не хочет жениться, потому что беден.",
    "No; she does not tell him.",
    "No. Her letter says that he never came home.",
    "No, he is not told by anyone.",
    "Nein, er kommt nicht vor dem Abend heim.",
    "Nein, sie gibt ihm nichts.",
    "Non, il n'est pas mort.",
    "Non. Le roi ne parle plus.",
    "No, el rey no muere.",
    "No aparece hasta el final, con su hermano.",
    "No, il re non muore.",
    "Non compare più al villaggio.",
    "Não, o rei não morre.",
    "Não aparece mais na aldeia.",
    "Nee, de koning sterft niet.",
    "Hij komt niet voor de avond thuis.",
    "Nie, król nie umiera.",
    "Nie pojawia się już we wsi.",
    "Нет, король не умирает.",
    "Больше он в деревне не появляется.",
)


@pytest.mark.parametrize("answer", ABSENT)
def test_absence_in_other_words_is_understood_or_asked_about(answer: str) -> None:
    assert says_not_found(answer) or may_say_not_found(answer)


@pytest.mark.parametrize("answer", TOLD)
def test_what_people_do_not_do_or_say_is_no_absence(answer: str) -> None:
    assert not says_not_found(answer)


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("He came by sea.", "He came by sea."),
        ("The book does not say who he was.", ""),
        (
            "The book does not say what it was; the narrator only says so.",
            "the narrator only says so.",
        ),
        ("Das Buch nennt keinen Namen. Er hat einen Hund.", "Er hat einen Hund."),
        ("No. The story does not mention children.", ""),
        ("No. He had no children.", "No. He had no children."),
    ],
)
def test_only_what_an_answer_tells_has_a_source(answer: str, kept: str) -> None:
    assert told_part(answer) == kept


async def answered(
    engine: FakeEngine, reply: str, model: ModelClass = LARGE
) -> Answered:
    engine._says = lambda _: reply
    options = ReaderOptions(model=model)
    asking = Asking(QUESTION, make_memory(), engine, Steering(), options)
    last = [event async for event in METHODS["gistread"].reader()(asking)][-1]
    assert isinstance(last, Answered)
    assert last.answer == reply
    return last


async def test_what_the_model_takes_for_absence_has_no_source() -> None:
    engine = FakeEngine()
    engine.absent = frozenset({NAMELESS})
    answer = await answered(engine, NAMELESS)
    assert (answer.found, answer.citations, answer.marks) == (False, (), ())


async def test_what_the_book_tells_with_a_negation_keeps_its_source() -> None:
    answer = await answered(FakeEngine(), DENIED)
    assert answer.found
    assert answer.citations


async def test_what_a_model_says_beside_the_absence_has_a_source() -> None:
    engine = FakeEngine()
    engine.absent = frozenset({NAMELESS})
    answer = await answered(
        engine, f"{NAMELESS} Ferrand confessed that he had stolen the key."
    )
    assert not answer.found
    assert "stolen the key" in answer.citations[0].quote


@pytest.mark.parametrize("absence", [NAMELESS, "The book does not say."])
@pytest.mark.parametrize("cited", ["the key [1].", "the key. [1]"])
async def test_what_is_cited_beside_the_absence_is_an_answer(
    absence: str, cited: str
) -> None:
    engine = FakeEngine()
    engine.absent = frozenset({NAMELESS})
    answer = await answered(
        engine, f"{absence} Ferrand confessed that he had stolen {cited}"
    )
    assert answer.found
    assert answer.citations


class Doubting(FakeEngine):
    """Takes everything for absence and keeps what it is asked, or fails."""

    def __init__(self, *, fails: bool = False) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.fails = fails

    async def choose(
        self,
        prompt: Prompt,
        options: Sequence[str],
        priority: Priority = Priority.INTERACTIVE,
    ) -> Choice:
        if self.fails:
            raise EngineError("It stopped.")
        self.texts.append(prompt[-1].content)
        return Choice(0, None, NO_USAGE)


async def test_the_model_is_asked_about_uncited_statements_with_a_negation_alone() -> (
    None
):
    engine = Doubting()
    statements = [
        "No.",
        "The book does not say so.",
        "He never went to sea [1].",
        "He never came home. [2]",
        "He had a dog.",
        NAMELESS,
    ]
    absence = await judged_absence(QUESTION, " ".join(statements), engine)
    assert absence.statements == (NAMELESS,)
    assert [f"Reply: {NAMELESS}\n" in text for text in engine.texts] == [True]


async def test_an_answer_counts_as_told_if_its_model_fails_when_it_is_asked() -> None:
    absence = await judged_absence(QUESTION, NAMELESS, Doubting(fails=True))
    assert not absence.begins(NAMELESS)


async def test_a_small_model_is_not_asked_about_absence() -> None:
    engine = FakeEngine()
    engine.absent = frozenset({NAMELESS})
    assert (await answered(engine, NAMELESS, SMALL)).found
