"""The version of this distribution, which pyproject.toml reads from here."""

VERSION = "0.1.0"
