"""The page's style. Warning and break differ in height as well as in colour."""

from typing import Final

STYLE: Final = """\
:root {
  color-scheme: light dark;
  --ink: #1c2430; --faint: #667085; --rule: #d9dee6; --paper: #ffffff; --band: #f6f8fa;
  --well: #bcd9c4; --badly: #d5dae2; --unknown: #eceff3;
  --warning: #e69f00; --break: #b3261e; --start: #0b4f8a; --saved: #0b4f8a; --lost: #b3261e;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6eaf0; --faint: #98a2b3; --rule: #3a4352; --paper: #14181f; --band: #1c222c;
    --well: #2f5a3d; --badly: #434b59; --unknown: #2a303a;
    --warning: #f0b429; --break: #ff6b5e; --start: #6db3f2; --saved: #6db3f2; --lost: #ff6b5e;
  }
}
body { margin: 2rem auto; max-width: 72rem; padding: 0 1rem; color: var(--ink);
  background: var(--paper); font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; } h4 { font-size: .9rem; margin: 1rem 0 .25rem; }
summary { cursor: pointer; } summary > * { display: inline-block; margin: .5rem 0; }
.note { color: var(--faint); font-size: .85rem; max-width: 60rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem; border-bottom: 1px solid var(--rule); text-align: right;
  white-space: nowrap; }
thead th { color: var(--faint); font-weight: 500; vertical-align: bottom; white-space: normal; }
tbody th { text-align: left; font-weight: 600; }
thead th.name { text-align: left; }
tbody tr:nth-child(even) { background: var(--band); }
svg text { fill: var(--ink); font-size: 12px; }
svg text.small { fill: var(--faint); font-size: 11px; }
svg text.name { font-weight: 600; }
svg text.middle { text-anchor: middle; } svg text.end { text-anchor: end; }
svg text.saved { fill: var(--saved); font-weight: 600; }
svg text.lost { fill: var(--lost); font-weight: 600; }
.grid { stroke: var(--rule); } .own { stroke: var(--faint); stroke-dasharray: 3 3; }
.line { fill: none; stroke-width: 2; }
.line.saved { stroke: var(--saved); } .line.lost { stroke: var(--lost); }
circle.saved { fill: var(--saved); } circle.lost { fill: var(--lost); }
rect.prompt { fill: var(--saved); } rect.late { fill: var(--warning); }
.charts { display: flex; flex-wrap: wrap; gap: .5rem 1rem; }
.run { display: flex; align-items: center; height: 17px; }
.run span { flex: none; width: 17rem; overflow: hidden; text-overflow: ellipsis;
  white-space: nowrap; font-size: 11px; color: var(--faint); }
.run svg { overflow: visible; flex: none; }
path.well { fill: var(--well); } path.badly { fill: var(--badly); }
path.unknown { fill: var(--unknown); }
path.warning { fill: var(--warning); } path.break { fill: var(--break); }
path.start { fill: var(--start); }
.key { display: inline-block; width: 1rem; height: .6rem; }
.key.well { background: var(--well); } .key.badly { background: var(--badly); }
.key.unknown { background: var(--unknown); }
.key.warning { background: var(--warning); width: .4rem; }
.key.break { background: var(--break); width: .4rem; height: .9rem; }
.key.start { background: var(--start); width: .6rem; clip-path: polygon(0 0, 100% 0, 50% 100%); }
"""
