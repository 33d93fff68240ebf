"""An evaluation's report as a table, as JSON, as a page; `grids` has the figures of all as text."""
