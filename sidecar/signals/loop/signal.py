"""loop: the same again, and nothing learned.

Every rule is a small function of what was remembered, in a file of its own; here they are put
together. Calls are read one by one, so that a batch of parallel calls counts like as many turns in
a row, and the worst finding is the turn's reading. The rules about what came before run only when
the latest call, or its answer, did come before.
"""

from typing import Final

from sidecar.core.digests.call_kind import asks_for_status
from sidecar.core.reading import QUIET, Reading, worse
from sidecar.core.signal import Signal
from sidecar.core.turn import CallKind, Outcome, ToolCall, Turn
from sidecar.core.value import value
from sidecar.core.words import Measure, Words
from sidecar.signals.loop.answer import answer
from sidecar.signals.loop.chant import chant
from sidecar.signals.loop.compaction import NOT_COMPACTED, Compactions, is_compacted
from sidecar.signals.loop.conversation import UNSPOKEN, Conversation
from sidecar.signals.loop.cycle import cycle
from sidecar.signals.loop.failing import failing
from sidecar.signals.loop.founding import CALL, founding, recorded
from sidecar.signals.loop.futile import NO_OUTCOMES, Outcomes, failed_edits
from sidecar.signals.loop.idling import BUSY, Idling
from sidecar.signals.loop.monologue import SILENCE, Monologue
from sidecar.signals.loop.nearby import far, nearby
from sidecar.signals.loop.overview import NO_OVERVIEWS, Overviews
from sidecar.signals.loop.refusal import refusal
from sidecar.signals.loop.repeat import repeat
from sidecar.signals.loop.stale import FRESH, Staleness
from sidecar.signals.loop.strike import NO_STRIKES, Strikes
from sidecar.signals.loop.thresholds import LoopThresholds
from sidecar.signals.loop.waiting import NOT_WAITING, Waiting
from sidecar.signals.loop.window import DENIED, EMPTY, FAILED, KNOWN_ANSWER, SEEN, WAITING, Window
from sidecar.signals.notes import without_notes


@value
class LookBack:
    """What a person's message, or a compacted context, starts afresh."""

    window: Window = EMPTY
    waiting: Waiting = NOT_WAITING
    overviews: Overviews = NO_OVERVIEWS
    staleness: Staleness = FRESH
    outcomes: Outcomes = NO_OUTCOMES


@value
class LoopState:
    """What one actor's calls and texts are held against."""

    look_back: LookBack = LookBack()
    strikes: Strikes = NO_STRIKES
    compactions: Compactions = NOT_COMPACTED
    context_tokens: int | None = None
    """After the latest turn that reported it."""
    monologue: Monologue = SILENCE
    conversation: Conversation = UNSPOKEN
    idling: Idling = BUSY
    recent: bytes = b""
    """The last calls, for the founding rule alone."""

    def __post_init__(self) -> None:
        """Refuse what was not packed here."""
        if len(self.recent) % CALL.size:
            raise ValueError("the last calls are cut")


NOTHING: Final = LookBack()


def _step(state: LoopState, turn: Turn, limits: LoopThresholds) -> tuple[LoopState, Reading]:
    if not _is_measured(turn):
        return state, QUIET
    look_back, strikes, monologue = state.look_back, state.strikes, state.monologue
    compactions, tokens = state.compactions, turn.usage.context_tokens
    reading = chant(turn, limits).reading() if turn.text_repeats else QUIET
    if turn.user_input:
        look_back, strikes, monologue = NOTHING, NO_STRIKES, SILENCE
        compactions = NOT_COMPACTED
    if turn.others_changed or turn.others_said:
        monologue = SILENCE  # to a new piece of work, and to other words, one may say the same
    if is_compacted(state.context_tokens, tokens):
        look_back, compactions = NOTHING, compactions.after(turn)
        reading = worse(compactions.finding(turn, limits).reading(), reading)
    told = without_notes(turn)
    if told.tool_calls or turn.reports_progress:
        look_back, strikes, found = _read_calls(look_back, strikes, told, limits)
        reading = worse(found, reading)
        if compactions is not NOT_COMPACTED and turn.progressed:
            compactions = NOT_COMPACTED
    conversation, monologue = state.conversation.after(turn), monologue.after(turn)
    idling = state.idling.after(turn)
    if not turn.tool_calls:
        reading = worse(reading, _read_text(monologue, conversation, turn, limits))
    idle = idling.finding(turn, limits) if conversation.has_called else None
    if idle is not None:
        reading = worse(reading, idle.reading())
    recent = state.recent
    if limits.founding_break is not None and turn.tool_calls:
        recent = recorded(recent, turn, limits.founding_window)
        reading = worse(founding(recent, turn, limits).reading(), reading)
    after = LoopState(
        look_back=look_back,
        strikes=strikes,
        compactions=compactions,
        context_tokens=state.context_tokens if tokens is None else tokens,
        monologue=monologue,
        conversation=conversation,
        idling=idling,
        recent=recent,
    )
    return after, reading


def _is_measured(turn: Turn) -> bool:
    return bool(
        turn.tool_calls
        or turn.text is not None
        or turn.user_input
        or turn.text_repeats
        or turn.usage.context_tokens is not None
        or turn.reports_progress
    )


def _read_calls(
    look_back: LookBack, strikes: Strikes, turn: Turn, limits: LoopThresholds
) -> tuple[LookBack, Strikes, Reading]:
    window, waiting, overviews = look_back.window, look_back.waiting, look_back.overviews
    staleness, reading, traits = look_back.staleness, QUIET, 0
    if turn.reports_progress and not _is_repeated_write(turn, window):
        window, staleness = window.with_movement(), FRESH
        waiting, overviews = NOT_WAITING, NO_OVERVIEWS
    if turn.others_progressed:
        # Whoever waits for other actors, or asks how they do, waits for what is on its way.
        waiting = NOT_WAITING
    if turn.others_changed or (
        turn.others_progressed and any(asks_for_status(call.name) for call in turn.tool_calls)
    ):
        # What an actor looks at again, or tests, is what another has changed.
        window, staleness = window.with_movement(), FRESH
    news_of_calls = turn.news
    for call, news in zip(turn.tool_calls, news_of_calls, strict=False):
        window = window.with_call(call, turn.sequence, news=news)
        traits |= window.traits
        strikes = strikes.left_by(window)
        waiting = waiting.after(call, turn, window, news=news)
        overviews = overviews.after(call, turn.sequence, news=news)
        if window.traits & (SEEN | KNOWN_ANSWER) or window.failures > 1:
            strikes, found = _read_again(window, call, strikes, turn, limits)
            reading = worse(reading, found)
        if overviews.count > 1 and call.kind is CallKind.OVERVIEW:
            row = overviews.finding(call, turn.sequence, limits)
            reading = worse(reading, row.reading())
        if window.traits & WAITING:
            for wait in waiting.findings(turn, limits):
                reading = worse(reading, wait.reading())
    stale = staleness.after(turn, window, news_of_calls) if turn.tool_calls else staleness
    if stale.turns > staleness.turns:
        reading = worse(reading, stale.finding(turn, limits).reading())
    outcomes = look_back.outcomes.after(turn, window, limits)
    if traits & (FAILED | DENIED):
        for finding in (outcomes.finding(turn, limits), failed_edits(window, turn, limits)):
            reading = reading if finding is None else worse(reading, finding.reading())
    after = LookBack(
        window=window, waiting=waiting, overviews=overviews, staleness=stale, outcomes=outcomes
    )
    return after, strikes, reading


def _read_again(
    window: Window, call: ToolCall, strikes: Strikes, turn: Turn, limits: LoopThresholds
) -> tuple[Strikes, Reading]:
    """What the rules about earlier calls make of the latest, the most telling rule first."""
    reading = QUIET
    found = [rule(window, call, limits) for rule in (refusal, repeat, failing, cycle, nearby, far)]
    for finding in (*found, *answer(window, call, limits)):
        if finding is None:
            continue
        sooner = limits.strike_discount if strikes.again(finding) else 0
        level = finding.reading(sooner=sooner)
        if level.severity and not sooner:  # a strike stands for as long as its loop is back
            strikes = strikes.after(finding, turn.sequence)
        reading = worse(reading, level)
    return strikes, reading


def _read_text(
    monologue: Monologue,
    conversation: Conversation,
    turn: Turn,
    limits: LoopThresholds,
) -> Reading:
    """What the rules about texts make of a turn without calls."""
    reading = QUIET
    for finding in (
        monologue.finding(turn, limits),
        conversation.echo(turn, limits),
        conversation.dialogue(turn, limits),
    ):
        if finding is not None:
            reading = worse(reading, finding.reading())
    return reading


def _is_repeated_write(turn: Turn, window: Window) -> bool:
    """Whether a repeated write of this turn can account for the progress that it reports: the same
    write made again changes its file again, and that is none."""
    return not turn.improved and any(
        call.kind is CallKind.WRITE and call.outcome is Outcome.OK and window.holds_pair(call)
        for call in turn.tool_calls
    )


WORDS: Final = Words(
    measured="calls and results that repeat, cycle or go stale; texts that repeat or chant",
    raised_by="an agent that does the same again",
    diagnosis="The run repeats steps that taught it nothing.",
    suggestions=(
        "read the last result again and name what it rules out",
        "use another tool or another source for the same question",
        "leave this step open and go on with the next one",
        "write down what is known and answer from it",
    ),
    measures=(Measure(words="repeated {value}x"),),
)

LOOP: Final = Signal(
    name="loop",
    words=WORDS,
    defaults=LoopThresholds(),
    initial=LoopState(),
    step=_step,
    state_bytes_max=4096,
)
