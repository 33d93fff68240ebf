"""How often a detector is right, on recorded runs whose outcome is known.

`runs` reads them, `labels` says what is known of them, `detecting` has a policy or another detector
mark the turns it would have spoken at, and `measures` holds the marks against the labels.
"""
