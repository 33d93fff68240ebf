"""What the code of a step can call. It is done out here, with no trust in the arguments."""
