"""What every test has."""

from hypothesis import settings

# A busy machine may stop an example for longer than any deadline; speed is measured elsewhere.
settings.register_profile("busy", deadline=None)
settings.load_profile("busy")
