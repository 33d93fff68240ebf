"""What every test has."""

from hypothesis import settings

# A busy machine may stop any example for longer than a deadline: what is slow is measured elsewhere.
settings.register_profile("busy", deadline=None)
settings.load_profile("busy")
