"""Final answers: where one stands in a text or a history, and how one is asked for."""
