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

from sidecar.config.keys import ADDRESSES
from tests.deploy.manifests import Pod, all_pods

CONFIG_OPTION = "--config="
OUTSIDE = ("SIDECAR_", "OTEL_", "XDG_", "ANTHROPIC_")
"""What a container does not have from the machine that tests run on."""
FOUND_IN = "XDG_CONFIG_HOME"
"""Below it the sidecar finds a file by itself, and does without where there is none."""


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
    return of(next(each for each in all_pods() if each.where == where))


def of(pod: Pod) -> Effective:
    """The settings of the sidecar in a pod."""
    variables = environment(pod.sidecar)
    arguments = pod.sidecar["args"]
    with tempfile.TemporaryDirectory() as name:
        config = None
        for each in arguments:
            if each.startswith(CONFIG_OPTION):
                config = _copied(pod, Path(each.removeprefix(CONFIG_OPTION)), Path(name))
        if FOUND_IN in variables:
            _copied(pod, Path(variables[FOUND_IN], "sidecar", "config.yaml"), Path(name))
            variables = {**variables, FOUND_IN: name + variables[FOUND_IN]}
        effective = check(arguments, variables, config=config)
    values = {key: value.replace(name, "") for key, value in effective.values.items()}
    return replace(effective, values=values)


def _copied(pod: Pod, path: Path, directory: Path) -> Path:
    """A file of the pod below the directory, or where it would be if the pod had it."""
    copy = directory / path.relative_to("/")
    files = pod.files(pod.volume(str(path.parent)))
    if path.name in files:
        copy.parent.mkdir(parents=True)
        copy.write_text(_with_files(pod, files[path.name], directory))
    return copy


def _with_files(pod: Pod, text: str, directory: Path) -> str:
    """The text of a configuration; the files of Secrets that it names are below the directory."""
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
