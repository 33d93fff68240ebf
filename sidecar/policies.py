"""The policies that a sidecar knows, and what its operator allows."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from sidecar.core.limits import Limits
from sidecar.core.policy import Policy
from sidecar.printable import shown
from sidecar.refusal import Reason, Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Policies:
    """What runs are held against."""

    by_name: Mapping[str, Policy]
    default: str = "default"
    ceiling: Limits = field(default_factory=Limits)
    """The operator's bounds on what agents may set."""

    def named(self, name: str) -> Policy:
        """The policy of that name, or the default; raises Refusal."""
        policy = self.by_name.get(name or self.default)
        if policy is None:
            known = ", ".join(sorted(self.by_name))
            said = f"no policy {shown(name)}; there are {known}"
            raise Refusal(Reason.POLICY_UNKNOWN, said, field="open.policy")
        return policy

    def granted(self, asked: Limits, *, default: Limits) -> Limits:
        """The limits that an agent gets: its own, else the default, within the operator's."""
        return asked.or_else(default).bounded(self.ceiling).or_else(self.ceiling)
