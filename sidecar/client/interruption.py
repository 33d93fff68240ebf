"""What the agent's own handler of a signal raises while the client runs, as a limit of time does.

It is neither the sidecar's doing nor the report's, and whoever set the limit waits for it.
"""

from inspect import CO_VARARGS
from itertools import pairwise
from types import FrameType


def is_from_signal(error: BaseException) -> bool:
    """Whether a handler of a signal, written in Python, has raised it.

    Such a handler stands in the traceback right below the frame that it has interrupted, and is
    given the number of the signal and that very frame; nothing else is.
    """
    traceback = error.__traceback__
    while traceback is not None and (below := traceback.tb_next) is not None:
        if _is_handler(below.tb_frame, traceback.tb_frame):
            return True
        traceback = below
    return False


def _is_handler(frame: FrameType, interrupted: FrameType) -> bool:
    # Not all locals: those of a function that looks for its caller have its frame as well.
    code, values = frame.f_code, frame.f_locals
    given = [values.get(name) for name in code.co_varnames[: code.co_argcount]]
    if code.co_flags & CO_VARARGS:
        given += values.get(code.co_varnames[code.co_argcount + code.co_kwonlyargcount], ())
    # Identity first, and the type alone: the values are anybody's, and may raise when asked.
    return any(
        each is interrupted and issubclass(type(number), int) for number, each in pairwise(given)
    )
