"""Choosing the thresholds of a policy on labelled runs: `sidecar tune`.

A space of thresholds is declared (`space`), searched on some of the tasks (`search`) and measured
on the others (`tuner`), and what comes of it is a policy file that carries its own evidence
(`evidence`).
"""
