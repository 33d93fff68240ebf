"""How a session begins, and what an `open` that resumes it may say."""

from dataclasses import replace

from sidecar.core.opening import Beginning, Mode, Opening, Succession
from sidecar.core.run import Run
from sidecar.policies import Policies
from sidecar.refusal import Reason, Refusal, session_closed
from sidecar.sessions.inheritance import written
from sidecar.sessions.session import Session


def check_resumable(session: Session, opening: Opening, policies: Policies) -> None:
    """Raise Refusal where the session is over, or where the first `open` said something else."""
    if session.closing is not None:
        raise session_closed()
    first = session.facts.opening
    # Who names no policy asks for no other, whichever the default is by now.
    policy = policies.named(opening.policy).name if opening.policy else first.policy
    for name, given, stands in (
        ("policy", policy, first.policy),
        ("limits", opening.limits, first.limits),
        ("mode", opening.mode, first.mode),
    ):
        if given != stands:
            raise Refusal(
                Reason.OPEN_MISMATCH,
                f"what a session's first open says of its {name} stands: send the same again",
                field=f"open.{name}",
            )


def begun(
    opening: Opening, policies: Policies, previous: Run | None = None
) -> tuple[Beginning | Succession, Run]:
    """The run that an `open` begins, and what the journal says of it, the policy named.

    A predecessor's state goes on under whatever policy is asked for now, and within that one's
    limits and the operator's of now; what its agent asked for and operators granted goes on with
    it. Raises Refusal for a policy that is not known.
    """
    policy = policies.named(opening.policy)
    opening = replace(opening, policy=policy.name)
    observed = opening.mode is Mode.OBSERVE
    if previous is None:
        limits = policies.granted(opening.limits, default=policy.limits)
        run = Run.start(
            opening.session_id, policy, limits=limits, asked=opening.limits, observed=observed
        )
        return Beginning(opening=opening, limits=limits), run
    claims = previous.state.claims.with_asked(opening.limits)
    limits = claims.extending(policies.granted(claims.asked, default=policy.limits))
    run = previous.successor(
        opening.session_id, policy, limits=limits, claims=claims, observed=observed
    )
    return Succession(opening=opening, inherited=written(run)), run


def session_of(
    first: Beginning | Succession, run: Run, *, now_s: float, decisions_kept_max: int
) -> Session:
    """The session that begins with this entry of its journal, and this run."""
    begins_afresh = isinstance(first, Beginning)
    session = Session(
        opening=first.opening,
        policy=run.policy,
        run=run,
        now_s=now_s,
        decisions_kept_max=decisions_kept_max,
        previous_missing=begins_afresh and bool(first.opening.previous_session_id),
    )
    session.turns_before = run.state.totals.turns
    return session
