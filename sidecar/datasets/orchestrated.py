"""Magentic-One: an orchestrator that sends agents, as two datasets have it."""

from collections.abc import Iterable, Iterator
from typing import Final

from sidecar.datasets.moves import Answered, Call, Move, Person, Said

ORCHESTRATOR: Final = "Orchestrator"
PEOPLE: Final = ("human", "user")
ACTION_CHARACTERS: Final = 300
"""Some agents answer in one long line: its beginning names the action, all of it is the result."""

_LEDGER: Final = ("Updated Ledger:", "Next speaker ")
"""Bookkeeping of the orchestrator, which restates the run each time in other words."""


def orchestrated(messages: Iterable[tuple[str, str]]) -> Iterator[Move]:
    """A turn for each agent that was sent, with what the orchestrator said before it.

    The messages are pairs of speaker and text. What the orchestrator says after the last agent is
    its verdict on the run, and no turn.
    """
    said: list[str] = []
    begun = False
    for speaker, text in messages:
        if speaker in PEOPLE:
            # The first is the task, not a word in the run.
            if begun:
                yield Person()
        elif ORCHESTRATOR in speaker:
            if not text.startswith(_LEDGER):
                said.append(text)
        else:
            # An agent begins with what it did and goes on with what it sees.
            action, _, result = text.partition("\n")
            call = Call(name=speaker, arguments={"action": action[:ACTION_CHARACTERS]})
            yield Said(text="\n".join(said), calls=(call,))
            yield Answered(text=result.strip() or action)
            said = []
        begun = True
