"""A model's verdict on whether a run goes round in meaning: how it is asked, and when."""
