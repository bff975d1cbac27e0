"""Stop words of questions by language, without those that are also names ("will", "may", "mark")."""

from collections.abc import Mapping
from types import MappingProxyType

_WORDS = {
    "en": """
        a about after again all also am an and any are as at attitude be been before being but by can conclude
        conclusion could decide describe did discuss discussion do does doing done down explain for from group
        had happen happened happens has have having he her here hers him his how i if in into is it its just
        main me mean meant meeting mention my no nor not of off on opinion or our out over overall plot said say
        says she should so summaries summarise summarize summary talk team tell tells than that the their theirs
        them then there these they think this those thought to told too under up us very view was we were what
        when where which who whom whose why with would you your
    """,
    "de": """
        als am an auf aus bei das dass dem den der des die durch ein eine einem einen einer er es für haben hat
        hatte ihm ihn ihr ihre im in ist kann man mit nach nicht sagt sagte sein seine sich sie sind um und uns
        von vor wann war waren warum was welche welchem welchen welcher welches wem wen wer werden wie wieso
        wird wo woher wohin wozu wurde zu zum zur über
    """,
    "es": """
        a al como con cuál cuáles cuándo cuánto cuántos cómo de del dice dijo dónde el ella en era es ese esta
        este fue ha hace la las le lo los más no o para pero por porque que quién quiénes qué se ser sin son su
        sus un una y
    """,
    "fr": """
        a au aux avec ce ces cette comment dans de des dit du elle en est et fait il ils je la le les leur lui
        où par parce pas pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa se ses son sont sur
        un une était été
    """,
    "it": """
        a al alla che chi come con cosa così da dal dei del della di dice disse dove e era erano fu gli ha i il
        in la le lo nel nella non o per perché qual quale quali quando quanto si sono su sua suo un una è
    """,
    "nl": """
        aan als bij dat de deden deed die dit doet door een en er had heeft het hij hoe hun in is kan me met
        naar niet om op over te toen uit van voor waar waarom wanneer waren was wat welk welke werd wie wordt ze
        zegt zei zij zijn
    """,
    "pt": """
        a ao aos as com como da das de disse diz do dos e ela ele em era foi há isso lhe mais na nas no nos não
        o onde os ou para pela pelo por porque porquê quais qual quando quanto que quem quê se seu sua são um
        uma é
    """,
}
# By ISO 639-1 code, in lower case.
STOP_WORDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {language: frozenset(words.split()) for language, words in _WORDS.items()}
)
