"""What jq makes of the JSON API's answers: the rows of tables and time series.

The API leaves out what is empty or zero, writes 64-bit numbers as strings and enums by their names
in the proto; the expressions put that right. They keep to what both jq and gojq, which Infinity
uses, understand.
"""

from typing import Final
from urllib.parse import quote

from grafana.src.board import SOME
from sidecar.signals.drift import DRIFT

SESSIONS: Final = "/v1/sessions?page_size=1000"
"""The latest opened first; the API has at most 1,000 on a page, and one page is read."""
SESSION: Final = "/v1/sessions/${session:percentencode}?turns_max=1000"

_WORD: Final = 'def word(prefix): (. // "") | ltrimstr(prefix) | ascii_downcase;'
_NUMBER: Final = "def number: (. // 0) | tonumber;"
_DIRECTIVE: Final = """
def directive:
  . // {}
  | if .halt then "halt" elif .commit then "commit" elif .rotate then "rotate" else "proceed" end;
"""
_REASON: Final = """
def reason:
  . // {}
  | if .halt then .halt.reason elif .commit then .commit.instruction
    elif .rotate then .rotate.instruction
    elif (.readings // []) | length > 0 then .readings | map(.summary) | join("; ")
    else .proceed.notice // "" end;
"""
_RANK: Final = """
def rank: {"tripped": 3, "warning": 2, "recovery": 1}[.] // 0;
def force: {"halt": 3, "commit": 2, "rotate": 1}[.] // 0;
"""
_AMONG: Final = f"""
def is_among(names):
  names == "{quote(SOME, safe="")}"
  or ("%2C" + @uri + "%2C" | inside("%2C" + (names | ltrimstr("%7B") | rtrimstr("%7D")) + "%2C"));
"""
"""Grafana writes what is chosen as `{a,b}`, encoded as in an address: so no quote or backslash of a
name stands in the expression, and `(`, `+` and `.` are no pattern's."""
DEFINITIONS: Final = " ".join([_WORD, _NUMBER, _DIRECTIVE, _REASON, _RANK, _AMONG])

_CHOSEN: Final = """
select((.agent_name // "unknown") | is_among("${agent:percentencode}"))
| select((.model // "unknown") | is_among("${model:percentencode}"))
| select((.policy // "") | is_among("${policy:percentencode}"))
"""

_RUN: Final = """
{
  run: .session_id,
  agent: (.agent_name // "unknown"),
  model: (.model // "unknown"),
  policy: (.policy // ""),
  mode: (.mode | word("MODE_")),
  state: (.state | word("STATE_")),
  directive: (.last_directive | directive),
  reason: (.last_directive | reason),
  turns: (.totals.turns | number),
  input_tokens: (.totals.input_tokens | number),
  output_tokens: (.totals.output_tokens | number),
  cost_usd: (.totals.cost_usd | number),
  opened: .open_time,
  active: .active_time,
  from: (((.open_time[0:19] + "Z" | fromdateiso8601) - 60) * 1000 | tostring),
  to: (((.active_time[0:19] + "Z" | fromdateiso8601) + 60) * 1000 | tostring),
  ended: (if .closed then (.outcome | word("RUN_OUTCOME_")) else "" end),
  previous: (.previous_session_id // "")
}
"""

RUNS: Final = f"""
{DEFINITIONS}
[.sessions[]? | {_CHOSEN} | {_RUN}]
| sort_by([(if .ended == "" then 1 else 0 end), (.state | rank), .active]) | reverse
| .[:50][]
"""

NAMES: Final = "[.sessions[]?] | sort_by(.active_time) | reverse[] | {run: .session_id}"

OFFENDERS: Final = f"""
{DEFINITIONS}
[.sessions[]? | {_CHOSEN} | {_RUN}]
| group_by([.agent, .model])
| map({{
    agent: .[0].agent, model: .[0].model,
    runs: length,
    tripped: map(select(.directive == "commit" or .directive == "halt")) | length,
    warned: map(select(.directive == "rotate")) | length,
    turns: map(.turns) | add,
    tokens: map(.input_tokens + .output_tokens) | add,
    cost_usd: map(.cost_usd) | add,
    worst: (sort_by([(.directive | force), .cost_usd, .turns]) | last)
  }})
| map(. + {{run: .worst.run, from: .worst.from, to: .worst.to, share: (.tripped / .runs)}})
| sort_by([-.tripped, -.warned, -.cost_usd, -.tokens])
| .[:20][]
"""

RUN: Final = f"{DEFINITIONS} .session | {_RUN}"

BUDGETS: Final = f"""
{DEFINITIONS}
.session
| [
    {{limit: "turns", most: (.limits.max_turns | number), spent: (.totals.turns | number)}},
    {{limit: "input tokens", most: (.limits.input_tokens_max | number),
      spent: (.totals.input_tokens | number)}},
    {{limit: "US dollars", most: (.limits.cost_usd_max | number),
      spent: (.totals.cost_usd | number)}}
  ]
| map(select(.most > 0)) | map(. + {{left: ([1 - .spent / .most, 0] | max)}})
| .[]
"""

_EVENTS: Final = """
[
  (.turns[]? | {
    sequence, time, decision, after: 0,
    before: (.state_before | word("STATE_")),
    cause: (.decision.cause | word("CAUSE_"))
  }),
  (.commands[]? | {
    sequence: (.command.after_sequence // 0), time, decision, after: 1,
    before: (.state_before | word("STATE_")),
    cause: (.decision.cause | word("CAUSE_"))
  })
]
| sort_by([.sequence, .after])
"""

STATES: Final = f"""
{DEFINITIONS}
{_EVENTS} | map({{time, state: (.decision.state | word("STATE_"))}}) | .[]
"""

TURNS: Final = f"""
{DEFINITIONS}
.turns[]?
| {{
    time, turn: .sequence, actor: (.actor // ""), tools: ((.tools // []) | join(", ")),
    approach: (.approach // ""), error: (.error // ""), files: .files_changed, lines: .output_lines,
    context: (if .context_tokens and .context_window
      then (.context_tokens | tonumber) / (.context_window | tonumber) else null end),
    state: (.decision.state | word("STATE_")),
    signals: ([.decision.readings[]?.signal] | join(", ")),
    directive: (.decision | directive), rejected: (.decision.rejection.reason // "")
  }}
"""

DECISIONS: Final = f"""
{DEFINITIONS}
{_EVENTS}
| map(select(((.decision | directive) != "proceed") or .after == 1 or .decision.overridden))
| map({{
    time, turn: .sequence, cause, directive: (.decision | directive),
    signal: (.decision.signal // ([.decision.readings[]?.signal] | first) // ""),
    change: (.before + " → " + (.decision.state | word("STATE_"))),
    reason: (.decision | reason), decision: .decision.decision_id
  }})
| .[]
"""

READINGS: Final = f"""
{DEFINITIONS}
.turns[]?
| {{time, turn: .sequence}} + (.decision.readings[]? | {{
    signal, severity: (if .severity then .severity | word("SEVERITY_") else "notice" end),
    value: (.value // 0), threshold, summary
  }})
"""

SHARES: Final = f"""
{DEFINITIONS}
def share: if (.threshold // 0) == 0 then 1 else (.value // 0) / .threshold end;
def is_turned: .signal == "{DRIFT.name}" and (.severity != null) == (share < 1);
.turns[]?
| {{time}} + ([
    (.decision.readings[]?, .readings_below[]?)
    | select((.threshold // 0) | type == "number")
    | {{(.signal): (if is_turned then 2 - share else share end)}}
  ] | add // {{}})
"""
"""Of each turn, a column for each signal that measured something. Only `drift` has a minimum, the
plan alignment: it is known by a share on the wrong side of the line for its severity, and drawn as
far on the right one. A notice of a budget is truly below. A threshold of 0, which the API leaves
out, is met."""

TOOLS: Final = """
[.turns[]? | .tools[]?] | group_by(.) | map({tool: .[0], calls: length})
| sort_by(-.calls) | .[:20][]
"""

APPROACHES: Final = """
.session
| [
    (.approaches[]? | {
      from: .first_sequence, to: .last_sequence, what: .name, outcome: (.outcome // "")}),
    (.rotations[]? | {from: .sequence, to: .sequence,
      what: ("rotate (" + (.signal // "") + "): " + (.previous // "?") + " → " + (.next // "?")),
      outcome: ""})
  ]
| sort_by(.from) | .[]
"""
