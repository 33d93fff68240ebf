"""How a session begins, and what an `open` that resumes it may say."""

from dataclasses import replace

from sidecar.core.opening import Mode, Opening
from sidecar.core.run import Run
from sidecar.policies import Policies
from sidecar.refusal import Reason, Refusal
from sidecar.session import Session


def check_resumable(session: Session, opening: Opening, policies: Policies) -> None:
    """Raise Refusal where the session is over, or where the first `open` said something else."""
    if session.closing is not None:
        raise Refusal(Reason.SESSION_CLOSED, "this session is closed; begin another")
    first = session.facts.opening
    for name, given, stands in (
        ("policy", policies.named(opening.policy).name, first.policy),
        ("limits", opening.limits, first.limits),
        ("mode", opening.mode, first.mode),
    ):
        if given != stands:
            raise Refusal(
                Reason.OPEN_MISMATCH,
                f"the {name} of a session's first open stands; send the same or a new session",
                field=f"open.{name}",
            )


def begun(
    opening: Opening, policies: Policies, previous: Session | None = None
) -> tuple[Opening, Run]:
    """The run that an `open` begins, and the `open` with its policy named.

    A predecessor's state goes on under whatever policy is asked for now. Raises Refusal for a
    policy that is not known.
    """
    policy = policies.named(opening.policy)
    opening = replace(opening, policy=policy.name)
    observed = opening.mode is Mode.OBSERVE
    if previous is None:
        limits = policies.granted(opening.limits, default=policy.limits)
        return opening, Run.start(opening.session_id, policy, limits=limits, observed=observed)
    # Inherited limits stand even above the ceiling: then an operator has extended them.
    inherited = previous.run.state.limits
    limits = opening.limits.bounded(policies.ceiling).or_else(inherited).or_else(policies.ceiling)
    return opening, previous.run.successor(
        opening.session_id, policy, limits=limits, observed=observed
    )
