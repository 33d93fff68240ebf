"""Pieces of text that masks are about, for texts put together by chance, and the recorded runs."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

from hypothesis import strategies as st

FRAGMENTS = (
    *("line ", "Line: ", "lines ", "col ", "column=", "char ", "at ", "position no. ", "row#"),
    *(" ", "  ", "\n", "\t", ":", ": ", "(", ")", "[", "]", "'", '"', "`", "\\", "/", "//", "./"),
    *("~/", "-", ">", "<", "=", "#", "@", "_", ",", ".", "|", "&", "^^", "~^", "~~"),
    *("0", "1", "7", "12", "42", "123", "1234", "12345", "123456", "2026", "10", "59", "1.5"),
    *("1.2.3", "1,234", "1715767471", "0x", "ff", "deadbeef12", "4f66ad9a0b2e", "1b6d3586"),
    *("123e4567-e89b-12d3-a456-426614174000", "abc", "foo", "\u00e9", "\U0001f600", "\ud800"),
    *("s", "ms", " ms", "min", " seconds", "m", "h", "d", "\u00b5s", "\u03bcs", " (", "<d>"),
    *("Nov ", "May", "Mon, ", "T", "Z", " UTC", "+01:00", "2026-02-11", "11/Feb/2026:"),
    *("10:04:31", "12:34", "AM", " PM", "<t>", "<q>", "<n>", "(<d>)", " (<d>)", "W0211 "),
    *("/tmp/", "/T/", "\\Temp\\", "tmpab12cd3x", "tmp.aB3dE5fG7h", "pytest-of-root/pytest-1"),
    *("127.0.0.1", "::1", "::", "fe80::1", "[::1]", "localhost", "redis", "::ffff:10.0.0.1"),
    *(".py", ".go", ".ts", ".com", "main", "Makefile", "sh", "bash", "<stdin>:", "File "),
    *("error", "Error", "errno", "code", "exit with", "status", "port ", "ports: ", "id"),
    *("duration_s", "duration", "Request-Id", "RequestId: 7XK2PQ81", "[ref=", "ref=e31", "href="),
    *("user_id", "pid ", "PID=", "goroutine ", "thread ", "thread 'main' (", "Thread-", "exec-"),
    *("node:", "In [", "In[", "ipython-input-", "make[", "message", "request id: "),
    *('"error": "', "'code': '", "code: '", "panicked at '", "{", "}", "Request ID: ", "HostId>"),
    *("> 12 | x", "@@ -1,2 +3,4 @@", "file://", "C:\\", "C:/", "\u2018", "\u2019", "\u201c"),
    *("Worker-", "ForkProcess-", "process ", "Thread #", "pool-", "seed=", "fd=", "[gw", "gmake["),
    *("#PID<0.12.0>", "==12==", "line 3: 77 Killed", "[1]+  77 Quit", "[12:0x5f8e0b0]", " ---"),
    *(
        "[error] 91#91: *77",
        "INFO ",
        "91:M ",
        "[77:91:0212/111401.004:ERROR:",
        "$$Lambda$",
        "$Proxy",
    ),
    *("GeneratedMethodAccessor", "::h0123456789abcdef", "-7d4b9c6f5-x2k8p", "01:12 min", "3h20m"),
    *("4d2h", "bytes", "kB", "Mi", "Retry-After: ", "retry_after", "attempt ", "/5", " attempts"),
    *("Retry(total=", "(x4 over ", "AppTest.sum", "->", "known_hosts", "  12: ", "\u2502 ", "FNR="),
    *("SHA256:abcdefghijklmnopqrstuvwxyz", "h1:abcdefghijklmnopqrst/uvw=", "Ray ID: 85a1b2c3-X"),
    *(
        "process [91",
        "#12 ERROR",
        "Dumping java_pid91",
        "tid=",
        "LWP ",
        "HikariPool-",
        "stream ",
        "1->f:2",
    ),
    *(
        "datetime.datetime(2026, 2, 11)",
        "01HPC5Q8W0ABCDEFGHJKMNPQRS",
        "req_8fKzqL2mNbV",
        "Feb 11, 2026, ",
    ),
    *("Failing row contains (null, 3)", "[error] 12 |", "12 \u2502"),
    *("session id ab12345", "request ID 8C1A:2F:1234", "Key (id)=(12)", "DataError: (", "v1.2.3"),
    *("... 23 more", "repeated 9 more times", "[12/340]", "parameters: (", "-28461234-x2k8p"),
    *("1707645871.12", "1707645871120", ":51122 ->"),
    *("\x1b[31m", "\x1b]0;t\x07", "\x1b", "\r", "\r\n", "version ", "==", ">=", "KB", "GiB", "%"),
    *("ORA-", "No module named ", "is not defined", "undefined: ", "cannot find ", "unknown type "),
    *("Failed to do it", "timed out", "E999", "Traceback", "->", "x", "\x00", "\x1c", "\x0b"),
)
TEXTS = st.lists(st.sampled_from(FRAGMENTS), max_size=25).map("".join)
"""Short texts in which masks meet each other."""


def shipped_texts() -> Iterator[str]:
    """The texts of the test data that comes with the project."""
    folder = Path(__file__).parents[1] / "data"
    for name in ("errors.jsonl", "more_errors.jsonl", "tool_errors.jsonl"):
        for line in (folder / name).read_text("utf-8").splitlines():
            pair = json.loads(line)
            yield pair["a"]
            yield pair["b"]
    vectors = folder.parents[1] / "proto" / "digests.jsonl"
    for line in vectors.read_text("utf-8").splitlines():
        vector = json.loads(line)
        yield from (vector[key] for key in ("text", "message") if key in vector)


def recorded_runs() -> Iterator[Path]:
    """The run files under the folder that SIDECAR_RUNS names; none where it is not set."""
    folder = os.environ.get("SIDECAR_RUNS")
    if folder:
        yield from sorted(Path(folder).glob("*/*.jsonl"))


def recorded_texts() -> Iterator[str]:
    """The results, messages and assistant texts of the recorded runs."""
    for path in recorded_runs():
        for line in path.read_text("utf-8").splitlines():
            turn = json.loads(line).get("turn", {})
            yield turn.get("text", "")
            yield from (call.get("result_text", "") for call in turn.get("tool_calls", ()))
            yield from (failure.get("message", "") for failure in turn.get("failures", ()))
