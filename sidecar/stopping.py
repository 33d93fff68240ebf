"""The signals that ask a process of ours to come to its end."""

import signal


def stopping_signals() -> tuple[signal.Signals, ...]:
    """Ctrl-C, a plain `kill`, and a terminal that is closed, unless the process was told to outlive
    it, as `nohup` does."""
    always = (signal.SIGINT, signal.SIGTERM)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        return always
    return (*always, signal.SIGHUP)
