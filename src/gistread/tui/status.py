"""The status line in words: what the model is doing, and how to continue."""

from dataclasses import dataclass

from gistread.engine.protocol import EngineState, Phase, Priority
from gistread.memory.sizes import ROUGH_PAGES
from gistread.session.events import Activity, ArtifactBuilding, AskingState, ReadingState
from gistread.units import counted, format_duration


@dataclass(frozen=True, slots=True)
class Status:
    """The text of the status line. `tone` names a colour, which only repeats the words."""

    parts: tuple[str, ...]  # Parts, most important first; the last are dropped if they do not fit
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
}


def status_of(activity: Activity, resume_key: str, model_key: str) -> Status:
    """The status in plain words. Model, device and rates are shown where models are chosen."""
    state, resume = activity.engine, f"{resume_key} to resume"
    asks, reads = activity.asking is not AskingState.IDLE, activity.reading is ReadingState.RUNNING
    name = (f"{activity.asking_model} answers",) if activity.asking_model else ()
    if state is None and name and not asks:
        return Status((f"No model reads along: {model_key} chooses one", *name), "○")
    if state is None and activity.problem:
        return Status(
            (f"No model: {activity.problem}", f"{model_key} chooses another"), "✕", "error"
        )
    if state is None:
        kept = (
            (f"{counted(activity.pages_read, 'section')} read earlier",)
            if activity.pages_read
            else ()
        )
        return Status((f"No model yet: {model_key} chooses one", *kept), "○")
    if activity.problem and not (asks or reads):
        why = activity.problem.rstrip(".")
        return Status((f"Stopped: {why}", resume, f"{model_key} for another model"), "✕", "error")
    match state.phase:
        case Phase.LOADING if activity.reading is ReadingState.PAUSED:
            return Status(("Paused while loading the model", resume, *name), "○")
        case Phase.LOADING:
            return Status(
                (_with_share(state.notice or "Loading the model", state.fraction), *name),
                "◌",
                "accent",
            )
        case Phase.FAILED:
            return Status(
                (f"Stopped: {state.notice or 'the model ended'}", resume, *name), "✕", "error"
            )
        case Phase.STOPPED:
            return Status((*_not_reading(activity, resume_key), *name), "○")
    doing = _doing(activity, state, resume_key)
    notice = (state.notice,) if state.notice else ()
    if not (asks or reads or (activity.artifact and not activity.artifact.paused)):
        return Status((*doing, *notice, *name), "○")
    # Busy but idle: waiting for something, such as a server. The reason comes first.
    said = (*notice, *doing) if state.phase is Phase.IDLE else (*doing, *notice)
    return Status((*said, *name), "●", "accent")


def _doing(activity: Activity, state: EngineState, resume_key: str) -> tuple[str, ...]:
    if activity.asking is not AskingState.IDLE:
        if state.phase is Phase.PREFILL and state.priority is Priority.INTERACTIVE:
            return (_with_share("Reading for your question", state.fraction),)
        return (_ASKING[activity.asking],)
    total = f" of ~{activity.pages_total}" if activity.pages_total else ""
    read = f"{activity.pages_read}{total} sections" if activity.pages_read or total else ""
    making = _making(activity.artifact, resume_key) if activity.artifact else ()
    match activity.reading:
        case ReadingState.RUNNING:
            about = "about " if activity.pages_read < ROUGH_PAGES else ""
            left = (
                f"{about}{format_duration(activity.seconds_left)} left"
                if activity.seconds_left is not None
                else ""
            )
            return tuple(filter(None, ("Reading along", read, *making[:1], left)))
        case _ if making:
            return making
        case ReadingState.PAUSED:
            return tuple(
                filter(None, ("Paused", read and f"{read} read", f"{resume_key} to resume"))
            )
        case ReadingState.WAITING:
            return ("Reading along continues after the answer",)
        case ReadingState.OFFERED:
            is_complete = activity.pages_read >= activity.pages_total
            memory = (
                _complete(activity)
                if is_complete
                else f"{activity.pages_read}{total} sections read"
            )
            maker = f"by {activity.read_by}" if activity.read_by else "earlier"
            return (f"{memory}, {maker}", f"{resume_key} to read again")
        case ReadingState.DONE:
            return (_complete(activity),)
        case _:
            return _not_reading(activity, resume_key)


def _complete(activity: Activity) -> str:
    return f"The memory is complete: {counted(activity.pages_read, 'section')}"


def _not_reading(activity: Activity, resume_key: str) -> tuple[str, ...]:
    if activity.pages_read and activity.pages_read >= activity.pages_total:
        return (_complete(activity),)
    read = (
        (f"{activity.pages_read} of ~{activity.pages_total} sections read",)
        if activity.pages_read
        else ()
    )
    state = "Reading along paused by you" if activity.paused_by_user else "Not reading along"
    return state, *read, f"{resume_key}: {activity.model} reads along"


def _making(making: ArtifactBuilding, resume_key: str) -> tuple[str, ...]:
    name = making.name.partition(" of ")[
        0
    ]  # The status needs no more of "summaries of a long memory"
    of = f"{name}: {making.done} of {making.total}" if making.total else name
    if making.paused:
        return (f"Paused: {of}", f"{resume_key} to resume")
    left = (
        (f"{format_duration(making.seconds_left)} left",) if making.seconds_left is not None else ()
    )
    return (f"Making {of}", *left)


def _with_share(text: str, fraction: float | None) -> str:
    return text if fraction is None else f"{text} {fraction:.0%}"
