"""Every task by name. A loader is imported when it is first used: the command line names all of them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from gistread.evaluation.tasks.task import DEFAULT_TASK_OPTIONS, Task, TaskOptions

if TYPE_CHECKING:
    from gistread.evaluation.model import Document

_ANSWERS = ("lr-1", "lr-2", "rouge-l", "rouge-1", "rouge-2", "f1", "exact-match")
_SHORT_ANSWERS = ("f1", "exact-match", "lr-1", "lr-2")
_NEEDLES = ("contains", *_SHORT_ANSWERS)
_PLACES = ("page-recall", "gold-coverage")


def _loader(module: str, function: str) -> Callable[..., "Iterator[Document]"]:
    """A function of a module in this package, with distinct names for its documents."""

    def load(path: Path, options: TaskOptions = DEFAULT_TASK_OPTIONS) -> "Iterator[Document]":
        from gistread.evaluation.tasks.records import naming  # imports what reads books

        named = naming()
        for document in getattr(import_module(f"gistread.evaluation.tasks.{module}"), function)(path, options):
            yield replace(document, id=named(document.id))

    return load


_TASKS = (
    Task(
        "quality",
        "stories and articles, questions with four options",
        "github.com/nyu-mll/quality",
        "CC-BY-4.0",
        "QuALITY.v1.0.1.htmlstripped.dev of the archive, JSON lines: article_id, article, questions [question, "
        "options, gold_label from 1]",
        ("accuracy",),
        _loader("quality", "load_quality"),
    ),
    Task(
        "quality-2",
        "the same with two options: the right one, and a distractor drawn by the seed",
        "github.com/nyu-mll/quality",
        "CC-BY-4.0",
        "as quality; questions with two options are used as they are",
        ("accuracy",),
        _loader("quality", "load_quality_2"),
    ),
    Task(
        "qmsum",
        "transcripts of meetings, queries about all of one or about a part, with its turns",
        "github.com/Yale-LILY/QMSum",
        "MIT",
        "data/ALL/jsonl/val.jsonl, or a folder of JSON files such as data/ALL/val: meeting_transcripts [speaker, "
        "content], general_query_list, specific_query_list [query, answer, relevant_text_span]",
        (*_ANSWERS, *_PLACES),
        _loader("qmsum", "load_qmsum"),
    ),
    Task(
        "narrativeqa",
        "novels and film scripts, questions with two answers each",
        "github.com/google-deepmind/narrativeqa",
        "Apache-2.0; the stories have their own licences",
        "the folder with documents.csv and qaps.csv, and in tmp/ what download_stories.sh fetched; the set `valid` "
        "unless --split names another; stories that were not fetched are left out",
        _ANSWERS,
        _loader("novels", "load_narrativeqa"),
    ),
    Task(
        "literaryqa",
        "NarrativeQA's novels with its questions cleaned",
        "github.com/SapienzaNLP/LiteraryQA",
        "CC-BY-NC-SA-4.0; books: Project Gutenberg licence",
        "JSON lines, as the authors' script writes them: document_id, title, qas [question, answers], and text, or "
        "text_file with a path from the folder of the data",
        _ANSWERS,
        _loader("novels", "load_literaryqa"),
    ),
    Task(
        "fairytaleqa",
        "questions about fairy tales that name the sections with the answer",
        "github.com/uci-soe/FairytaleQAData",
        "Apache-2.0",
        "the folder data-by-train-split/questions/val of the repository, with its neighbour section-stories; or JSON "
        "lines: story, sections, questions [question_id, question, cor_section, answer1 …]",
        (*_PLACES, *_ANSWERS),
        _loader("fairytaleqa", "load_fairytaleqa"),
    ),
    Task(
        "hotpotqa",
        "questions that take two paragraphs of ten",
        "hotpotqa.github.io",
        "CC-BY-SA-4.0",
        "hotpot_dev_distractor_v1.json, a JSON list: _id, question, answer, context [title, sentences], "
        "supporting_facts [title, sentence] or supporting_titles",
        (*_SHORT_ANSWERS, *_PLACES),
        _loader("multihop", "load_hotpotqa"),
    ),
    Task(
        "musique",
        "questions that take two to four paragraphs of twenty",
        "github.com/StonyBrookNLP/musique",
        "CC-BY-4.0",
        "musique_ans_v1.0_dev.jsonl or musique_full_v1.0_dev.jsonl: id, question, answer, answer_aliases, paragraphs "
        "[title, paragraph_text, is_supporting]",
        (*_SHORT_ANSWERS, *_PLACES),
        _loader("multihop", "load_musique"),
    ),
    Task(
        "squad",
        "questions about Wikipedia articles, half of which have no answer",
        "rajpurkar.github.io/SQuAD-explorer",
        "CC-BY-SA-4.0",
        "dev-v2.0.json (train-v2.0.json, v1.1 and XQuAD have the same form): data [title, paragraphs [context, qas]]",
        (*_SHORT_ANSWERS, "refused", *_PLACES),
        _loader("squad", "load_squad"),
    ),
    Task(
        "needle",
        "a paragraph of SQuAD, its answer swapped, at every depth of texts of every length",
        "made from SQuAD, rajpurkar.github.io/SQuAD-explorer, or XQuAD, github.com/google-deepmind/xquad",
        "CC-BY-SA-4.0",
        "as squad; hidden among the other paragraphs of the file, repeated if there are too few, or in a book",
        (*_NEEDLES, *_PLACES),
        _loader("needle", "load_needle"),
    ),
    Task(
        "needle-2",
        "two paragraphs needed together, the answer swapped, at every pair of depths",
        "made from HotpotQA, hotpotqa.github.io, or MuSiQue, github.com/StonyBrookNLP/musique",
        "CC-BY-SA-4.0; CC-BY-4.0",
        "as hotpotqa or musique; hidden as in needle",
        (*_NEEDLES, *_PLACES),
        _loader("needle", "load_needle_2"),
    ),
)
# Every task by the name that `gistread eval` takes.
TASKS: Mapping[str, Task] = MappingProxyType({task.name: task for task in _TASKS})
