"""Choosing the thresholds of a policy on labelled runs: `sidecar tune`.

A space of thresholds is declared (`space`), searched on one part of the tasks (`search`) and
measured on the other (`tuned`), and what comes out is a policy file that carries its own evidence
(`policy_writing`).
"""
