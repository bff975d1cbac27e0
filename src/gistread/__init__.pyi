from gistread.book.model import Book as Book
from gistread.book.open import open_book as open_book
from gistread.config import Config as Config
from gistread.errors import BookError as BookError
from gistread.errors import EngineError as EngineError
from gistread.errors import GistreadError as GistreadError
from gistread.errors import NotReadyError as NotReadyError
from gistread.errors import StorageError as StorageError
from gistread.errors import UsageError as UsageError
from gistread.exporting.documents import render_export as render_export
from gistread.exporting.model import Export as Export
from gistread.exporting.names import ExportFormat as ExportFormat
from gistread.memory.model import GistMemory as GistMemory
from gistread.paths import Paths as Paths
from gistread.readers.events import Proposed as Proposed
from gistread.readers.recap import suggestions as suggestions
from gistread.readers.steering import Decision as Decision
from gistread.readers.steering import Steps as Steps
from gistread.readers.thread import QuestionAnswer as QuestionAnswer
from gistread.search.book_search import BookSearch as BookSearch
from gistread.search.book_search import SearchMode as SearchMode
from gistread.session.estimate import seconds_to_answer as seconds_to_answer
from gistread.session.questions import Answer as Answer
from gistread.session.session import Session as Session
from gistread.session.sync import SyncSession as SyncSession
from gistread.store.model import Citation as Citation

__version__: str
