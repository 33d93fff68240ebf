"""What was decided on a run and why, for people."""
