"""What a step was, and how it ended."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol

from sidecar.core.value import value


class Ended(StrEnum):
    """How a step ended."""

    DONE = "done"
    RAISED = "raised"
    TIMED_OUT = "timed_out"
    DIED = "died"
    """The interpreter is gone: it was killed, ran out of memory, or left by itself."""


@value
class ToolUse:
    """A call of a tool by the code of a step."""

    name: str
    arguments: Mapping[str, Any]
    result: str
    """What it gave back, as text, or what was wrong."""
    failed: bool
    duration_s: float


@value
class Step:
    """One block of code that was run."""

    number: int
    code: str
    ended: Ended
    output: str = ""
    """Standard output, its middle left out where it was long."""
    complaints: str = ""
    """Standard error, likewise."""
    error: str | None = None
    """The end of the traceback."""
    answer: str | None = None
    """What `final_answer` was last called with; None: it was not called."""
    uses: tuple[ToolUse, ...] = ()
    lost: tuple[str, ...] = ()
    """Variables of earlier steps that are not there any more."""
    timeout_s: float
    duration_s: float = 0.0
    """Seconds, tools included."""


class ToolRefused(Exception):  # noqa: N818 - an answer to the code, not a fault of ours
    """A tool did not do what the code asked; the text is for the code's author."""


@value
class ToolSpec:
    """A tool as code sees it."""

    name: str
    signature: str
    """Its parameters, as Python writes them."""
    summary: str
    file: str | None = None
    """The parameter that is a path, whose content is read inside the container."""


class Toolbox(Protocol):
    """The tools of a run."""

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """Each of them."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Any], content: bytes | None) -> Any:
        """What the tool gives back, of which JSON can be made. Raises ToolRefused, and nothing
        else but what cancels the caller."""
        ...
