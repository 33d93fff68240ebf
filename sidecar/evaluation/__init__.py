"""How often a detector is right, on recorded runs whose outcome is known.

`runs` reads them, `labels` says what is known of them, `detecting` has a policy mark the turns it
would have spoken at, and `baselines` a program of any kind; `gathering` makes `cases` of it all.
From here on it is pure: `measures` holds the marks against the labels, `intervals` says how far
that may be off, `sweep` varies a threshold, `report` puts it together, `rendering` shows it.
"""
