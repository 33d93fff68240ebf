"""A looper: the same search again and again, and deaf to the first word about it."""

from types import MappingProxyType
from typing import Final

from sidecar.client import Kind
from sidecar.demo.calls import read, search
from sidecar.demo.mind import Mind, Move, Script, Trouble

SEARCHES: Final = 40
"""How often it would search if nobody stopped it."""

FILES: Final = MappingProxyType(
    {
        "notes.md": "Where is the number of retries set? The client tries too often.\n",
        "client.py": "def fetch(url, retry_limit):\n    return [url] * retry_limit\n",
        "settings.ini": "[client]\ntimeout_s = 5\nretry_limit = 9\n",
    }
)


def _script(_speed: float) -> Script:
    yield Move(text="I read what is asked.", calls=(read("notes.md"),))
    for _ in range(SEARCHES):
        seen = yield Move(
            text="I look for the place where it is set.",
            calls=(search("retry_limit"),),
            approach="search for the name",
        )
        if seen.directive.kind.strength >= Kind.COMMIT.strength:
            break
    yield Move(
        text="I answer from what I have.",
        final_answer="retry_limit is 9, set in settings.ini and used in client.py.",
    )


LOOPER: Final = Mind(
    name="looper",
    aim="searches for the same thing",
    files=FILES,
    script=_script,
    trouble=Trouble(signal="loop", turns_unwatched=SEARCHES + 2),
)
