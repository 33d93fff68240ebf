"""Prometheus and Alertmanager as processes of a test, and what is asked of them."""

import contextlib
import json
import random
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import yaml

ROOT: Final = Path(__file__).parents[2]
GRAFANA: Final = ROOT / "grafana"
SCRAPE_CONFIG: Final = GRAFANA / "prometheus" / "prometheus.yaml"
"""The one that is shipped."""

MISSING: Final = [
    name
    for name in ("prometheus", "promtool", "prometheus-alertmanager", "amtool")
    if shutil.which(name) is None
]
"""Programs that are not here; scripts/install-test-tools.sh observability installs them."""

DEADLINE_S: Final = 60.0
"""More than a start, a scrape or an evaluation takes; what waits so long has failed."""

STOPS_WITHIN_S: Final = 20.0

PORTS_FROM: Final = 15_000
PORTS_HANDED_OUT: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
CHANCE: Final = random.SystemRandom()

INTERVAL: Final = "1s"
"""From one scrape or evaluation to the next."""

Answer = TypeVar("Answer")


def wait_for(ask: Callable[[], Answer], what: str, *, within_s: float = DEADLINE_S) -> Answer:
    """The first answer that is true; a refused connection counts as none yet.

    Raises TimeoutError, which says `what` was waited for and what the last answer was.
    """
    turnstile = threading.Event()
    until_s = time.monotonic() + within_s
    last: object = None
    while time.monotonic() < until_s:
        try:
            answer = ask()
            if answer:
                return answer
            last = answer
        except urllib.error.HTTPError as error:
            with error:
                last = f"{error}: {error.read()!r}"
        except (urllib.error.URLError, OSError) as error:
            last = error
        turnstile.wait(0.05)
    raise TimeoutError(f"{what}: not within {within_s:g} s; last: {last!r}")


def free_port() -> int:
    """A TCP port of loopback that nobody listens on, and that the system hands to nobody who asks
    for any or connects: it is still free when a program binds it later."""
    handed_out = int(PORTS_HANDED_OUT.read_text().split()[0])
    while True:
        port = CHANCE.randrange(PORTS_FROM, handed_out)
        with socket.socket() as free, contextlib.suppress(OSError):
            free.bind(("127.0.0.1", port))
            return port


def read(url: str, *, body: bytes | None = None, timeout_s: float = 10.0) -> bytes:
    """What is served there; with a body it is posted. Raises HTTPError, and URLError."""
    request = urllib.request.Request(url, data=body)  # noqa: S310 - loopback, a fixed scheme
    with urllib.request.urlopen(request, timeout=timeout_s) as answer:  # noqa: S310
        got: bytes = answer.read()
    return got


@dataclass(frozen=True, slots=True, kw_only=True)
class Prometheus:
    """One that runs."""

    base: str
    process: "subprocess.Popen[bytes]"
    log: Path

    def ask(self, what: str, **parameters: str | float) -> Any:
        """The `data` of `/api/v1/<what>`. Raises ValueError with what Prometheus complains of."""
        query = urllib.parse.urlencode(parameters)
        try:
            body = read(f"{self.base}/api/v1/{what}", body=query.encode() if query else None)
        except urllib.error.HTTPError as error:
            with error:
                raise ValueError(f"{parameters}: {error.read().decode()}") from None
        return json.loads(body)["data"]

    def instant(self, query: str) -> list[dict[str, Any]]:
        """The series that a query has now; of a scalar, one without labels."""
        data = self.ask("query", query=query)
        if data["resultType"] == "scalar":
            return [{"metric": {}, "value": data["result"]}]
        result: list[dict[str, Any]] = data["result"]
        return result

    def read(self, path: str, parameters: Mapping[str, str]) -> Any:
        """The `data` of a GET of `/api/v1/<path>`, for what takes no POST."""
        query = urllib.parse.urlencode(parameters)
        return json.loads(read(f"{self.base}/api/v1/{path}?{query}"))["data"]

    def exemplars(self, query: str, *, seconds: float = 600.0) -> list[dict[str, Any]]:
        """The series of a query that have exemplars, with these."""
        now_s = time.time()
        data = self.ask("query_exemplars", query=query, start=now_s - seconds, end=now_s)
        return list(data)

    def over(self, query: str, *, seconds: float, step_s: float) -> list[dict[str, Any]]:
        """The series that a query has over the last `seconds`, at whole multiples of the step."""
        now_s = time.time() // step_s * step_s
        data = self.ask("query_range", query=query, start=now_s - seconds, end=now_s, step=step_s)
        result: list[dict[str, Any]] = data["result"]
        return result

    def wait(self, query: str, *, within_s: float = DEADLINE_S) -> list[dict[str, Any]]:
        """The first series that a query has."""
        return wait_for(lambda: self.instant(query), query, within_s=within_s)


def shipped_config(
    targets: Mapping[str, Sequence[str]],
    *,
    rules: Sequence[Path] = (),
    alertmanagers: Sequence[str] = (),
) -> dict[str, Any]:
    """The scrape config that is shipped, with other addresses and a shorter interval.

    `targets` are by the job's name; a job without any is left out. Nothing else is changed: jobs
    keep their labels and relabelling.
    """
    config: dict[str, Any] = yaml.safe_load(SCRAPE_CONFIG.read_text(encoding="utf-8"))
    config["global"] |= {
        "scrape_interval": INTERVAL,
        "scrape_timeout": INTERVAL,
        "evaluation_interval": INTERVAL,
    }
    known = {job["job_name"]: job for job in config["scrape_configs"]}
    config["scrape_configs"] = [_aimed(known[name], own) for name, own in targets.items()]
    config["rule_files"] = [str(path) for path in rules]
    config.pop("alerting", None)
    if alertmanagers:
        static = [{"targets": list(alertmanagers)}]
        config["alerting"] = {"alertmanagers": [{"static_configs": static}]}
    return config


def _aimed(job: Mapping[str, Any], targets: Sequence[str]) -> dict[str, Any]:
    first: Mapping[str, Any] = next(iter(job.get("static_configs", [])), {})
    kept = {name: value for name, value in job.items() if not name.endswith("_sd_configs")}
    for name in ("scrape_interval", "scrape_timeout"):
        kept.pop(name, None)
    return {**kept, "static_configs": [{**first, "targets": list(targets)}]}


@contextmanager
def prometheus(
    directory: Path, config: Mapping[str, Any], *, flags: Sequence[str] = ()
) -> Iterator[Prometheus]:
    """A Prometheus with that configuration, ready to be asked; `directory` is its own.

    Rules, where the configuration names any, are files of their own. The features are those that
    the dashboards ask for.
    """
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "prometheus.yaml"
    path.write_text(yaml.safe_dump(dict(config)), encoding="utf-8")
    port = free_port()
    command = [
        "prometheus",
        f"--config.file={path}",
        f"--storage.tsdb.path={directory / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--enable-feature=exemplar-storage",
        "--log.level=warn",
        *flags,
    ]
    log = directory / "prometheus.log"
    base = f"http://127.0.0.1:{port}"
    with running(command, log, ready=f"{base}/-/ready") as process:
        yield Prometheus(base=base, process=process, log=log)


@contextmanager
def alertmanager(directory: Path, config: Mapping[str, Any]) -> Iterator[str]:
    """An Alertmanager with that configuration: its address as host and port."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "alertmanager.yaml"
    path.write_text(yaml.safe_dump(dict(config)), encoding="utf-8")
    address = f"127.0.0.1:{free_port()}"
    command = [
        "prometheus-alertmanager",
        f"--config.file={path}",
        f"--storage.path={directory / 'data'}",
        f"--web.listen-address={address}",
        "--cluster.listen-address=",
    ]
    log = directory / "alertmanager.log"
    with running(command, log, ready=f"http://{address}/-/ready"):
        yield address


@contextmanager
def running(
    command: Sequence[str], log: Path, *, ready: str, within_s: float = DEADLINE_S
) -> Iterator["subprocess.Popen[bytes]"]:
    """A process from when `ready` answers; it is gone at the end. Raises RuntimeError with its
    log where it does not become ready."""
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
    try:
        wait_for(lambda: process.poll() is not None or read(ready), ready, within_s=within_s)
        if process.poll() is not None:
            raise RuntimeError(f"{command[0]} has ended:\n{log.read_text()}")
        yield process
    except TimeoutError as error:
        raise RuntimeError(f"{error}\n{log.read_text()}") from None
    finally:
        process.terminate()
        try:
            process.wait(STOPS_WITHIN_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
