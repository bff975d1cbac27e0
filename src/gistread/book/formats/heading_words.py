"""Words that headings begin with, in the languages that most plain-text books are written in; lower case."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CONTAINERS = _words(
    """book part volume vol act phase buch teil band akt aufzug livre partie tome acte libro parte tomo acto atto
    livro boek deel bok del часть книга том osa część tom díl kötet rész"""
)
"""What holds chapters."""

CHAPTERS = _words(
    """chapter chap letter canto stave adventure kapitel kap brief gesang abenteuer chapitre lettre chant capítulo
    capitulo carta capitolo lettera hoofdstuk kapitlet глава письмо rozdział kapitola fejezet luku bölüm κεφάλαιο
    caput capitolul"""
)

SECTIONS = _words("section scene szene scène escena scena sektion abschnitt")
"""What chapters (and acts) are divided into."""

NAMES = _words(
    """prologue epilogue preface foreword introduction introductory conclusion afterword postscript appendix
    interlude prelude dedication preamble etymology prolegomenon finale coda
    prolog epilog vorwort nachwort einleitung vorspiel nachspiel schluss anhang widmung
    avant-propos préface épilogue postface appendice
    prólogo epílogo prefacio introducción conclusión apéndice prefazione prologo epilogo introduzione conclusione
    prefácio introdução conclusão voorwoord nawoord inleiding förord inledning
    пролог эпилог предисловие введение послесловие заключение
    序 序章 終章 序言 前言 後記 后记 プロローグ エピローグ あとがき まえがき"""
)
"""What is a heading without a number."""

SMALL_WORDS = _words(
    """a an and as at but by for from in into is its nor of off on or out over the to up upon with without
    de des du la le les et en un une der die das und von zu im am del los las el y o di il e da do dos em na no"""
)
"""What a title leaves without a capital."""
