"""Recorded runs of other tools, turned into run files.

`catalogue` lists public sources, `fetching` and `clone` bring their files here, `converting` turns
files into run files by way of `formats`: a converter reads parsed records and says what happened
(`moves`), and `turns` makes turns of it.
"""
