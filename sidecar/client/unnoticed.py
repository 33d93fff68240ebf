"""The place where a fault of this client ends, so that it is none of the agent's."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from sidecar.client.directive import Reason
from sidecar.client.give_ups import GiveUps
from sidecar.client.interruption import is_from_signal
from sidecar.client.saying import say


@contextmanager
def unnoticed(give_ups: GiveUps, what_failed: str) -> Iterator[None]:
    """Goes on after the block, whatever was raised in it, and counts that; but lets out what the
    agent's own handler of a signal raises."""
    try:
        yield
    except Exception as error:  # the agent must not notice
        if is_from_signal(error):
            raise
        give_ups.count(Reason.INTERNAL)
        say(logging.DEBUG, what_failed, error=error)
