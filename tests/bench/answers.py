"""What finding an answer in a long history costs."""

import json
import time

from sidecar.core.answers.answer import Source, extract

BYTES = 1_000_000
ROUNDS = 5
SAID = "The final answer is not yet known: it may be in `a_file.py`, which I open next. " * 12


MARKER = "FINAL_ANSWER: "
HOSTILE = (
    f"{MARKER} <x y>** " * (BYTES // 24),
    f"**{MARKER}" + "\u00ab" * BYTES,
    f"'{MARKER}" * (BYTES // 15),
    f"{MARKER}[[" + "your " * (BYTES // 5),
    f"{MARKER}<x y> {'<a>' * 300}</a>\n" * (BYTES // 925),
    f"{MARKER}{' ' * 900}\n" * (BYTES // 915),
    f"{chr(39)}a {chr(39)}a {MARKER}" * (BYTES // 20),
)
"""A million characters each that begin something at every step and end nothing."""


def hostile_extraction_cost() -> float:
    """Milliseconds of CPU for the worst of HOSTILE, the best of some rounds."""
    return max(map(_cost, HOSTILE))


def _cost(text: str) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        extract(text)
        best = min(best, time.process_time() - began)
    return 1e3 * best


def extraction_cost() -> float:
    """Milliseconds of CPU for a history of a million bytes of JSON without an answer in it, the
    best of some rounds: the case in which every message is read."""
    message = {"role": "assistant", "content": [{"type": "text", "text": SAID}]}
    history = [message] * (BYTES // len(json.dumps(message)))
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        found = extract(history)
        best = min(best, time.process_time() - began)
        assert found.source is Source.NONE
    return 1e3 * best
