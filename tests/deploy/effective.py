"""What the real program makes of a manifest's arguments, environment and configuration file."""

import functools
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sidecar.config import ADDRESSES
from tests.deploy.manifests import Pod, all_pods

CONFIG_OPTION = "--config="
OUTSIDE = ("SIDECAR_", "OTEL_", "XDG_", "ANTHROPIC_")
"""What a container does not have from the machine that tests run on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effective:
    """The settings of a sidecar, as `sidecar check-config` prints them."""

    code: int
    output: str
    values: Mapping[str, str]

    @property
    def addresses(self) -> Mapping[str, str]:
        """Where it listens, by key; the empty ones are left out."""
        return {key: self.values[key] for key in ADDRESSES if self.values[key]}


def environment(container: Mapping[str, Any]) -> dict[str, str]:
    """Of a container, beside that of the image: what the manifest says, references filled in."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(OUTSIDE)}
    given: dict[str, str] = {}
    for each in container.get("env", ()):
        value = each.get("value", "here")
        for name, known in given.items():
            value = value.replace(f"$({name})", known)
        given[each["name"]] = value
    return {**kept, "HOME": "/nonexistent", **given}


def check(
    arguments: Sequence[str], variables: Mapping[str, str], *, config: Path | None = None
) -> Effective:
    """`sidecar check-config` with what `sidecar serve` would get; `config` stands for its file."""
    assert arguments[0] == "serve"
    flags = [
        f"{CONFIG_OPTION}{config}" if each.startswith(CONFIG_OPTION) else each
        for each in arguments[1:]
    ]
    done = subprocess.run(
        [sys.executable, "-m", "sidecar.cli", "check-config", "--format=json", *flags],
        env=variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    values = _values(done.stdout) if done.returncode == 0 else {}
    return Effective(code=done.returncode, output=done.stdout + done.stderr, values=values)


@functools.cache
def of_pod(where: str) -> Effective:
    """The settings of the sidecar in a pod; asked for once."""
    pod = next(each for each in all_pods() if each.where == where)
    with tempfile.TemporaryDirectory() as name:
        config = None
        for each in pod.sidecar["args"]:
            if each.startswith(CONFIG_OPTION):
                config = Path(name, "config.yaml")
                config.write_text(_with_files(pod, each.removeprefix(CONFIG_OPTION), Path(name)))
        effective = check(pod.sidecar["args"], environment(pod.sidecar), config=config)
    values = {key: value.replace(name, "") for key, value in effective.values.items()}
    return replace(effective, values=values)


def _with_files(pod: Pod, path: str, directory: Path) -> str:
    """The text of a configuration; the files of Secrets that it names are below the directory."""
    text = pod.files(pod.volume(str(Path(path).parent)))[Path(path).name]
    for mount in pod.sidecar["volumeMounts"]:
        volume = pod.volume(mount["mountPath"])
        if "secret" in volume:
            place = directory / mount["mountPath"].lstrip("/")
            place.mkdir(parents=True)
            for name, content in pod.files(volume).items():
                (place / name).write_text(content)
            if volume["name"] == "tls":
                _certify(place)
            text = text.replace(mount["mountPath"], str(place))
    return text


def _certify(place: Path) -> None:
    files = ["-keyout", str(place / "tls.key"), "-out", str(place / "tls.crt")]
    new = ["openssl", "req", "-x509", "-nodes", "-newkey", "rsa:2048", "-subj", "/CN=gateway"]
    subprocess.run([*new, *files], check=True, capture_output=True, timeout=60)


def _values(text: str) -> dict[str, str]:
    return {each["key"]: str(each["value"]) for each in json.loads(text)["values"]}
