"""One that starts a long job and looks at it, patiently, until it is done."""

import json
from types import MappingProxyType
from typing import Final

from sidecar.demo.calls import look, read, start
from sidecar.demo.mind import Mind, Move, Script

PASSES: Final = 6
PASS_S: Final = 3.0
"""Six looks a pass at two turns a second; the sidecar bears nine with nothing changed."""

PAUSES_S: Final = (0.1, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)
"""Least time to the next look after so many that found nothing changed: whoever waits longer looks
less often, so a machine under load is waited for 12 s a pass with the same few looks."""

JOB: Final = '''"""Counts the words of all texts, one pass for each length of word."""

import collections
import json
import pathlib
import sys
import time

passes, pass_s = int(sys.argv[1]), float(sys.argv[2])
counts = collections.Counter()
for length in range(1, passes + 1):
    print(f"pass {length} of {passes}", flush=True)
    for path in sorted(pathlib.Path("texts").iterdir()):
        counts.update(word for word in path.read_text().split() if len(word) == length)
    time.sleep(pass_s)
pathlib.Path("index.json").write_text(json.dumps(counts, indent=1, sort_keys=True))
print(f"{len(counts)} words in index.json", flush=True)
'''

TEXTS: Final = (
    "a rose is a rose is a rose",
    "the cat sat on the mat and the dog lay by the door",
    "so we beat on as boats do in a hard wind",
)


def _script(speed: float) -> Script:
    yield Move(text="What does the job do?", calls=(read("index.py"),))
    seen = yield Move(
        text="It takes a while, so it goes to the background.",
        calls=(start(f"python index.py {PASSES} {PASS_S / speed:.3f}"),),
        approach="wait for the index",
    )
    answer, unchanged = "", 0
    while True:
        pause_s = PAUSES_S[min(unchanged, len(PAUSES_S) - 1)]
        seen = yield Move(text="How far is it?", calls=(look(),), pause_s=pause_s)
        before, answer = answer, seen.results[0].text
        if not answer.startswith("still running"):
            break
        unchanged = unchanged + 1 if answer == before else 0
    seen = yield Move(text="It is done. What did it find?", calls=(read("index.json"),))
    counts: dict[str, int] = json.loads(seen.results[0].text)
    word = max(counts, key=lambda word: counts[word])
    yield Move(
        text="Done.",
        final_answer=f"The index holds {len(counts)} words; `{word}` is the most frequent.",
    )


PATIENT: Final = Mind(
    name="patient",
    aim="waits for a job in the background",
    files=MappingProxyType(
        {"index.py": JOB, **{f"texts/{place}.txt": text for place, text in enumerate(TEXTS)}}
    ),
    script=_script,
    edits_files=False,
)
