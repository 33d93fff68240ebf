#!/usr/bin/env python3
"""Writes docs/configuration.md from the code: run it after changing a key, threshold or preset."""

import ast
import dataclasses
import inspect
import json
import textwrap
from pathlib import Path
from typing import Any, Final, get_args

from sidecar.cli.options import meaning_of
from sidecar.config.evidence import EVIDENCE_KEYS, FIGURE_KEYS, FIGURES
from sidecar.config.given import environment_name
from sidecar.config.keys import KEYS, flag_name
from sidecar.config.policies import LIMIT_KEYS, POLICY_KEYS
from sidecar.config.thresholds import FOUNDING_SIGNALS, FOUNDING_THRESHOLDS, threshold_types
from sidecar.config.values import Key, described, written
from sidecar.core.policy import Policy
from sidecar.core.signal import Signal
from sidecar.presets import PRESETS, preset
from sidecar.signals import SIGNALS
from sidecar.signals.circling import CIRCLING

DOCUMENT: Final = Path(__file__).parent.parent / "docs" / "configuration.md"

INTRODUCTION: Final = """\
# Configuration

<!-- Written by scripts/render_configuration.py from the code. Do not edit. -->

Every key has a default: without any configuration the sidecar serves the current user's agents on
a Unix socket and on loopback. A key can be set in four ways, of which a later one wins:

1. the default;
2. one file, YAML or TOML by its suffix: the one that `--config` names, else `SIDECAR_CONFIG`, else
   `$XDG_CONFIG_HOME/sidecar/config.yaml` (or `.yml`, `.toml`; `~/.config` where the variable is
   unset) if it exists;
3. an environment variable: `SIDECAR_` and the key in capitals, with two underscores for each dot
   (`SIDECAR_POLICIES__MINE__SIGNALS__SPIN__WARNING=3`); a list is written as JSON or with commas;
4. a flag.

`sidecar check-config`, which takes the flags of `sidecar serve`, prints every value with its origin,
and each policy with its revision. A configuration that cannot be used ends the program with exit
code 2 and one line that names the place, the key, the value and what would be right:

```
sidecar.yaml:3: policies.a.signals.spin.break = 2 is not right: it must be at least 4, its warning
sidecar.yaml:7: stream_max is not a known key; did you mean streams_max? (its value is 50)
```

An address that cannot be had ends it with exit code 1 where a file, a variable or a flag gives it, and
so do the Unix sockets `agent_address` and `admin_address`. Any other default that is taken is left out:
a warning names it, and `/statusz` shows its key as PERMANENT. So a second sidecar of one machine, with
sockets and state of its own, starts beside the first. Nothing else keeps one from starting. `off` (or
null) means "no limit" or "never" wherever it is allowed; a whole signal is switched off by `off` alone, since
a table with nothing below it is null in YAML as well. In YAML only `true` and `false` are
booleans, a number that begins with 0 is text, and a key that is given twice is refused. A list holds
single words.

## Keys

Every bound is a key that ends in `_max`. Sizes are in bytes, times in seconds (`_s`).

A connection takes a file descriptor. At the start the soft limit of the process is raised to what
`streams_max`, `watchers_max` and the HTTP listeners may take, as far as its hard limit goes
(`ulimit -Hn`, `LimitNOFILE=`); a warning says where that is too low. Where none is left, new agents
wait until one is free, those attached are served on, and so are `/livez`, `/readyz` and `/metrics`.

"""

ADDRESSES: Final = """\

An address is an absolute path or `unix:<path>` for a Unix socket, or `<host>:<port>`
(`[<IPv6>]:<port>`) for TCP; port 0 takes any free one. Whatever can be reached from another
machine needs `tls_certificate_file` and `tls_key_file`, or a `token_file`; `telemetry_address`
carries no session data and needs neither, `admin_http_address` never leaves the machine.

`sidecar sessions`, `explain`, `health` and `replay --target` ask a sidecar under the same
configuration: over a Unix socket as they are, over TCP with the token of `token_file`, and with TLS
where `tls_server_ca_file` or `tls_certificate_file` says whom to trust. They need not be able to read
the sidecar's own key. They end with exit code 3 where no sidecar answers, 1 where one refuses.

"""

POLICIES: Final = """\
## Policies

An agent names a policy when it opens a session, or gets `default_policy`. The presets are always
there; `policies` adds to them, or changes one under its own name:

```yaml
policies:
  mine:
    preset: default
    signals:
      loop: {repeat_break: 5}
      spin: {warning: 3, warning_window: 8}
      stall: off
    on_break: rest
    actions:
      decline: {warning: ask_user}
    limits: {max_turns: 200, cost_usd_max: 5.0}
    waiting_tools: [wait_for_ci]
```

A preset's limits are defaults: an agent's own replace them, and the ceilings under the top-level
`limits` bound both. Two policies with the same revision decide alike.

"""

SIGNALS_TEXT: Final = """\

### Signals and their thresholds

Under `signals`, a signal is given as a table of thresholds, as `off`, or as `on` for what the
preset or else the signal itself has as defaults. Where `judge.model` is given, every policy watches
`circling`, but for those that say something else of it. A break below its warning is refused, and a count
above its window. The budgets, `max_turns` and `token_overflow`, are held against the limits that an
agent or the operator sets under every policy; `off` takes everything else from them. `-`: the
preset does not watch the signal.

"""

EVIDENCE_TEXT: Final = """\
### Evidence

Under `evidence`, a policy can say what its thresholds were found on. It changes nothing, and is not
part of the revision. `sidecar tune` writes it (see [tuning.md](tuning.md)), and
`sidecar check-config` shows it, and whether the policy was changed since.

"""

CIRCUIT_BREAKER: Final = """\
### The founding policy file

The policy file of the founding circuit breaker is accepted as it stands:

```yaml
circuit_breaker:
  no_file_changes: {warning_threshold: 3, break_threshold: 5}
  same_error_hash: {warning_threshold: 3, break_threshold: 5}
  output_decline: {warning_pct: 50, break_pct: 70, baseline_iterations: 3}
  on_warning: rotate_approach
  on_break: sabbath_rest
  force_continue: false
```

It becomes a policy named `circuit_breaker` on top of `autonomous`, and is the default policy unless
`default_policy` names another. Its names are understood, in capitals too, wherever a policy names a
signal, a threshold or an action:

"""


def render() -> str:
    """The whole page."""
    return "".join(
        (
            INTRODUCTION,
            _table(("Key", "Accepts", "Default", "Environment", "Flag", "Meaning"), _key_rows()),
            ADDRESSES,
            POLICIES,
            _table(("Key", "Accepts", "In `default`", "Meaning"), _policy_rows()),
            SIGNALS_TEXT,
            *map(_signal_section, SIGNALS),
            EVIDENCE_TEXT,
            _table(("Key", "Accepts", "Meaning"), _evidence_rows()),
            "\n",
            CIRCUIT_BREAKER,
            _table(("Founding name", "Name"), _founding_rows()),
        )
    )


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines
    )


def _key_rows() -> list[tuple[str, ...]]:
    return [
        (
            f"`{name}`",
            described(key.type),
            _default(key),
            f"`{environment_name(name)}`",
            f"`{flag_name(name)}`",
            meaning_of(name),
        )
        for name, key in KEYS.items()
    ]


def _default(key: Key) -> str:
    return (
        key.default if isinstance(key.default, str) and "`" in key.default else _code(key.default)
    )


def _code(value: Any) -> str:
    match written(value):
        case None:
            return "off"
        case "" | []:
            return "empty"
        case str() as text:
            return f"`{text}`"
        case plain:
            return f"`{json.dumps(plain)}`"


def _policy_rows() -> list[tuple[str, ...]]:
    values = _policy_values(preset("default"))
    rows: list[tuple[str, ...]] = [
        (
            f"`{name}`",
            described(key.type),
            _code(values[name]) if name in values else "",
            key.meaning,
        )
        for name, key in POLICY_KEYS.items()
    ]
    rows += [
        (
            f"`actions.<signal>.{severity}`",
            described(POLICY_KEYS[f"on_{severity}"].type),
            "",
            f"As `on_{severity}`, for one signal.",
        )
        for severity in ("warning", "break")
    ]
    rows += [
        (
            f"`limits.{name}`",
            described(key.type),
            "off",
            f"{key.meaning} {_with_limit(name)}".strip(),
        )
        for name, key in LIMIT_KEYS.items()
    ]
    return rows


def _with_limit(name: str) -> str:
    own = {policy: getattr(preset(policy).limits, name) for policy in PRESETS}
    return " ".join(f"`{policy}`: {value}." for policy, value in own.items() if value is not None)


def _policy_values(policy: Policy) -> dict[str, Any]:
    parts = (policy, policy.staging, policy.patience, policy.lens)
    values = {
        part.name: getattr(owner, part.name)
        for owner in parts
        for part in dataclasses.fields(owner)
    }
    on = {f"on_{severity.name.lower()}": action for severity, action in policy.on.items()}
    return {**values, **on}


def _signal_section(signal: Signal[Any, Any]) -> str:
    kind = type(signal.defaults)
    meanings = _meanings(kind)
    rows = [
        (
            f"`{name}`",
            _kind(accepted),
            *(_in_preset(policy, signal, name) for policy in PRESETS),
            meanings.get(name, ""),
        )
        for name, accepted in threshold_types(signal).items()
    ]
    about = "\n\n".join(
        textwrap.fill(_worded(part), 100) for part in (inspect.getdoc(kind) or "").split("\n\n")
    )
    head = ("Threshold", "Accepts", *(f"`{policy}`" for policy in PRESETS), "Meaning")
    return f"#### {signal.name}\n\n{about}\n\n{_table(head, rows)}\n"


def _kind(accepted: Any) -> str:
    """In few words, since the ranges are those that make sense."""
    words = described(accepted)
    for long, short in (("a whole number", "whole number"), ("a number", "number")):
        if words.startswith(long):
            return short + (" or off" if type(None) in get_args(accepted) else "")
    return words


def _in_preset(policy: str, signal: Signal[Any, Any], name: str) -> str:
    watched = {watch.signal.name: watch.thresholds for watch in preset(policy).in_force}
    if signal is CIRCLING:
        watched[signal.name] = signal.defaults  # where there is a judge, under every policy
    thresholds = watched.get(signal.name)
    if thresholds is None:
        return "-"
    field_name = name if hasattr(thresholds, name) else f"{name}_"
    return _code(getattr(thresholds, field_name))


def _meanings(kind: type) -> dict[str, str]:
    """The text that stands below each field."""
    (body,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    meanings: dict[str, str] = {}
    name = ""
    for statement in body.body if isinstance(body, ast.ClassDef) else ():
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name)):
                pass
            case ast.Expr(value=ast.Constant(value=str(text))) if name:
                meanings[name.removesuffix("_")] = _worded(text)
    return meanings


def _worded(text: str) -> str:
    """A docstring in the words of a configuration file."""
    return " ".join(text.replace("None:", "off:").split())


def _evidence_rows() -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        (f"`{name}`", _kind(key.type), key.meaning) for name, key in EVIDENCE_KEYS.items()
    ]
    rows += [
        (f"`{name}`", "a table of figures, as follows", meaning)
        for name, meaning in FIGURES.items()
    ]
    rows += [(f"`*.{name}`", _kind(key.type), key.meaning) for name, key in FIGURE_KEYS.items()]
    return rows


def _founding_rows() -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [
        (f"`{old}`", f"signal `{new}`") for old, new in FOUNDING_SIGNALS.items()
    ]
    rows += [
        (f"`{FOUNDING_NAME[signal]}.{old}`", f"`{signal}.{new}`{_scale(old)}")
        for (signal, old), new in FOUNDING_THRESHOLDS.items()
    ]
    return [*rows, ("`rotate_approach`", "`rotate`"), ("`sabbath_rest`", "`rest`")]


def _scale(old: str) -> str:
    return " (a share, not per cent)" if old.endswith("_pct") else ""


FOUNDING_NAME: Final = {new: old for old, new in FOUNDING_SIGNALS.items()}


if __name__ == "__main__":
    DOCUMENT.parent.mkdir(exist_ok=True)
    DOCUMENT.write_text(render(), encoding="utf-8")
