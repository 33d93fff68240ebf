"""The saved state of tripped and rested runs, as Markdown for a person.

The form is the founding loop file: the table of turns, the approaches tried with their turns and
how they ended, the rotations applied. Files are written by a thread of their own, since rendering
a long run takes milliseconds that an agent should not wait for. What is not written is counted as
lost, under `loop_file`: queue_full, unwritable, fault, closing.
"""

import hashlib
import logging
import queue
import re
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from sidecar.adapters.convert import history_out, session_out
from sidecar.explaining.explanation import explain
from sidecar.explaining.markdown import markdown
from sidecar.paths import make_directory
from sidecar.ports import Journal
from sidecar.printable import printable_lines
from sidecar.sessions.session import Session
from sidecar.v1 import session_service_pb2 as admin_pb

logger = logging.getLogger(__name__)

WAITING_MAX: Final = 256
"""Runs waiting to be written; a trip is rare, so more means that the disk stands still."""

LOOP_FILE: Final = "loop_file"
"""What is lost, as the counter of losses names it."""

TURNS_MAX: Final = 1000
NAME_MAX: Final = 64
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")


class LoopFiles:
    """Writes `<directory>/<session>.md`, the newest `files_max` of them kept."""

    def __init__(
        self,
        directory: Path,
        journal: Journal,
        *,
        files_max: int,
        lost: Callable[[str, str, int], None],
    ) -> None:
        """`lost(what, reason, count)` is called from any thread."""
        self._directory = directory
        self._journal = journal
        self._lost = lost
        self._files_max = files_max
        self._waiting: queue.Queue[admin_pb.Session | None] = queue.Queue(WAITING_MAX)
        self._thread = threading.Thread(target=self._run, name="loop-files", daemon=True)
        self._thread.start()

    def keep(self, session: Session) -> str:
        """Queue a run for writing; the path it will be at, empty where too many wait."""
        path = str(self._directory / file_name(session.id))
        wire = session_out(session)
        wire.saved_path = path
        try:
            self._waiting.put_nowait(wire)
        except queue.Full:
            self._lost(LOOP_FILE, "queue_full", 1)
            return ""
        return path

    def close(self, within_s: float) -> bool:
        """Write what waits, for so long; whether that was all."""
        until_s = time.monotonic() + within_s
        try:
            self._waiting.put(None, timeout=within_s)
            self._thread.join(max(0.0, until_s - time.monotonic()))
            last_word = 1
        except queue.Full:
            last_word = 0
        left = self._waiting.unfinished_tasks - last_word
        if left > 0:
            self._lost(LOOP_FILE, "closing", left)
        return left <= 0

    def _run(self) -> None:
        while (session := self._waiting.get()) is not None:
            try:
                self._write(session)
            except OSError as fault:
                logger.warning("the run %r was not saved: %s", session.session_id, fault)
                self._lost(LOOP_FILE, "unwritable", 1)
            except Exception:
                # The thread goes on: one run that cannot be shown must not cost the next its file.
                logger.exception("the run %r was not saved", session.session_id)
                self._lost(LOOP_FILE, "fault", 1)
            self._waiting.task_done()
        self._waiting.task_done()

    def _write(self, session: admin_pb.Session) -> None:
        entries = self._journal.read(session.session_id, last=TURNS_MAX)
        path = Path(session.saved_path)
        make_directory(self._directory)
        draft = path.with_suffix(".draft")
        text = markdown(explain(history_out(session, entries)))
        draft.write_text(printable_lines(text), "utf-8")  # it may be shown by `cat`
        draft.replace(path)
        self._prune()

    def _prune(self) -> None:
        files = sorted(self._directory.glob("*.md"), key=lambda path: path.stat().st_mtime)
        for path in files[: max(0, len(files) - self._files_max)]:
            path.unlink(missing_ok=True)


def file_name(session_id: str) -> str:
    """A name that any file system takes, and that no two sessions share."""
    safe = _UNSAFE.sub("-", session_id).strip(".-")[:NAME_MAX]
    if safe and safe == session_id:
        return f"{safe}.md"
    mark = hashlib.sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{safe or 'run'}-{mark}.md"
