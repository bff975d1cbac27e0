"""The status line in words: what the model is doing, and how to continue."""

from dataclasses import dataclass

from gistread.engine.protocol import EngineState, Phase, Priority
from gistread.memory.sizes import ROUGH_PAGES
from gistread.session.events import (
    Activity,
    ArtifactBuilding,
    AskingState,
    ReadingState,
)
from gistread.units import counted, format_duration


@dataclass(frozen=True, slots=True)
class Status:
    """The text of the status line. `tone` names a colour, which only repeats the words."""

    # Parts, most important first; the last are dropped if they do not fit
    parts: tuple[str, ...]
    sign: str = "●"
    tone: str = "muted"


_ASKING = {
    AskingState.WAITING: "Your question waits for the first section",
    AskingState.CHECK: "Checking the model first (once)",
    AskingState.ARTIFACTS: "Preparing the answer",
    AskingState.PAGE: "Choosing a section",
    AskingState.PERSON: "Waiting for your decision",
    AskingState.TEXT: "Reading the book for your question",
    AskingState.ANSWER: "Answering",
    AskingState.SOURCES: "Finding the sources of the answer",
}


def status_of(activity: Activity, resume_key: str, model_key: str) -> Status:
    """The status in plain words. Model, device and rates are shown where models are chosen."""
    state = activity.engine
    if state is None:
        return _without_model(activity, model_key)
    resume = f"{resume_key} to resume"
    who_answers = _who_answers(activity)
    is_idle = activity.asking is AskingState.IDLE and not _reads(activity)
    if activity.problem and is_idle:
        return _stopped(activity, resume, f"{model_key} for another model")
    match state.phase:
        case Phase.LOADING if activity.reading is ReadingState.PAUSED:
            paused = "Paused while loading the model"
            return Status((paused, resume, *who_answers), "○")
        case Phase.LOADING:
            loading = _with_share(state.notice or "Loading the model", state.fraction)
            return Status((loading, *who_answers), "◌", "accent")
        case Phase.FAILED:
            stopped = f"Stopped: {state.notice or 'the model ended'}"
            return Status((stopped, resume, *who_answers), "✕", "error")
        case Phase.STOPPED:
            return Status((*_not_reading(activity, resume_key), *who_answers), "○")
    return _at_work(activity, state, resume_key)


def _stopped(activity: Activity, resume: str, another: str) -> Status:
    """Why reading has stopped, and how or when it goes on."""
    problem = activity.problem.rstrip(".")
    if activity.retry_in_s is not None:
        return Status((problem, f"again in {activity.retry_in_s} s"), "✕", "error")
    return Status((f"Stopped: {problem}", resume, another), "✕", "error")


def _at_work(activity: Activity, state: EngineState, resume_key: str) -> Status:
    """The status with a model that is ready."""
    who_answers = _who_answers(activity)
    doing = _doing(activity, state, resume_key)
    notice = (state.notice,) if state.notice else ()
    asks = activity.asking is not AskingState.IDLE
    makes_artifact = activity.artifact is not None and not activity.artifact.paused
    has_work = asks or makes_artifact or _reads(activity)
    if not has_work:
        return Status((*doing, *notice, *who_answers), "○")
    # Idle although there is work: it waits, such as for a server. The reason comes first.
    if state.phase is Phase.IDLE:
        return Status((*notice, *doing, *who_answers), "●", "accent")
    return Status((*doing, *notice, *who_answers), "●", "accent")


def _who_answers(activity: Activity) -> tuple[str, ...]:
    """The model that answers, if it is another than the one that reads; else empty."""
    if not activity.asking_model:
        return ()
    return (f"{activity.asking_model} answers",)


def _reads(activity: Activity) -> bool:
    return activity.reading is ReadingState.RUNNING


def _without_model(activity: Activity, model_key: str) -> Status:
    """The status without a model that reads along."""
    if activity.asking_model and activity.asking is AskingState.IDLE:
        answers = f"{activity.asking_model} answers"
        return Status((f"No model reads along: {model_key} chooses one", answers), "○")
    if activity.problem:
        problem = f"No model: {activity.problem}"
        return Status((problem, f"{model_key} chooses another"), "✕", "error")
    hint = f"No model yet: {model_key} chooses one"
    if not activity.pages_read:
        return Status((hint,), "○")
    read = f"{counted(activity.pages_read, 'section')} read earlier"
    return Status((hint, read), "○")


def _doing(activity: Activity, state: EngineState, resume_key: str) -> tuple[str, ...]:
    """What the model does for a question, or else for the memory."""
    if activity.asking is not AskingState.IDLE:
        if state.phase is Phase.PREFILL and state.priority is Priority.INTERACTIVE:
            return (_with_share("Reading for your question", state.fraction),)
        return (_ASKING[activity.asking],)
    return _doing_besides(activity, resume_key)


def _doing_besides(activity: Activity, resume_key: str) -> tuple[str, ...]:
    """What the model reads or makes while no question is asked."""
    sections = _sections(activity)
    making = _making(activity.artifact, resume_key)
    match activity.reading:
        case ReadingState.RUNNING:
            what_is_made = making[:1]  # Without the time that it takes
            parts = ("Reading along", sections, *what_is_made, _left(activity))
            return tuple(filter(None, parts))
        case _ if making:
            return making
        case ReadingState.PAUSED if sections:
            return "Paused", f"{sections} read", f"{resume_key} to resume"
        case ReadingState.PAUSED:
            return "Paused", f"{resume_key} to resume"
        case ReadingState.WAITING:
            return ("Reading along continues after the answer",)
        case ReadingState.OFFERED:
            return _offered(activity, f"{sections} read", resume_key)
        case ReadingState.DONE:
            return (_complete(activity),)
        case _:
            return _not_reading(activity, resume_key)


def _sections(activity: Activity) -> str:
    """`12 of ~65 sections`; empty if neither is known."""
    if activity.pages_total:
        return f"{activity.pages_read} of ~{activity.pages_total} sections"
    if activity.pages_read:
        return f"{activity.pages_read} sections"
    return ""


def _left(activity: Activity) -> str:
    """The time that the rest of the book takes; empty if unknown."""
    if activity.seconds_left is None:
        return ""
    about = "about " if activity.pages_read < ROUGH_PAGES else ""
    return f"{about}{format_duration(activity.seconds_left)} left"


def _offered(activity: Activity, read_words: str, resume_key: str) -> tuple[str, ...]:
    """A memory that was made before, and the key to read the book again.

    `read_words`: how many sections it has.
    """
    extent = read_words
    if activity.pages_read >= activity.pages_total:
        extent = _complete(activity)
    maker = f"by {activity.read_by}" if activity.read_by else "earlier"
    return f"{extent}, {maker}", f"{resume_key} to read again"


def _complete(activity: Activity) -> str:
    return f"The memory is complete: {counted(activity.pages_read, 'section')}"


def _not_reading(activity: Activity, resume_key: str) -> tuple[str, ...]:
    """What the memory has while nothing is being read, and how to go on with it."""
    if activity.pages_read and activity.pages_read >= activity.pages_total:
        return (_complete(activity),)
    read: tuple[str, ...] = ()
    if activity.pages_read:
        read = (f"{activity.pages_read} of ~{activity.pages_total} sections read",)
    if activity.paused_by_user:
        state = "Reading along paused by you"
    else:
        state = "Not reading along"
    return state, *read, f"{resume_key}: {activity.model} reads along"


def _making(making: ArtifactBuilding | None, resume_key: str) -> tuple[str, ...]:
    """The artifact that is made, and how much of it remains; empty without one."""
    if making is None:
        return ()
    work = making.name
    if making.total:
        work += f": {making.done} of {making.total}"
    if making.paused:
        return f"Paused: {work}", f"{resume_key} to resume"
    if making.seconds_left is None:
        return (f"Making {work}",)
    return f"Making {work}", f"{format_duration(making.seconds_left)} left"


def _with_share(text: str, fraction: float | None) -> str:
    """The text with a percentage, if it is known."""
    if fraction is None:
        return text
    return f"{text} {fraction:.0%}"
