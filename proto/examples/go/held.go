package sidecar

// Decisions that came when nobody was waiting for them.

import pb "github.com/agent-sidecar/agent-sidecar/proto/examples/go/sidecarv1"

func unasked(d *pb.Decision) bool { return d.GetCause() > pb.Cause_CAUSE_TURN }

// slot orders decisions: the stronger is higher, and among equals one that no turn asked for. Of each
// slot the newest is held.
func slot(d *pb.Decision) int {
	kind, _ := read(d)
	if unasked(d) {
		return 2*int(kind) + 1
	}
	return 2 * int(kind)
}

// hold keeps a decision for the next report, unless it is a turn's plain proceed.
func (c *Client) hold(d *pb.Decision) {
	at := slot(d)
	if at == 0 && d.GetProceed().GetNotice() == "" {
		return
	}
	if at == 1 { // somebody let the run go on: what turns were told before is settled
		c.settle(len(c.held), 2, d.Sequence)
	}
	if c.held[at].GetSequence() <= d.Sequence {
		c.held[at] = d
	}
}

// take returns the strongest in every step-th slot, and drops what is weaker and older.
func (c *Client) take(step int) *pb.Decision {
	for at := len(c.held) - 1; at >= 0; at -= step {
		if best := c.held[at]; best != nil {
			c.settle(at|1, 1, best.Sequence)
			if unasked(best) {
				c.unaskedSeen = best.DecisionId
			}
			return best
		}
	}
	return nil
}

func (c *Client) settle(last, step int, sequence uint32) {
	for at := 0; at <= last && at < len(c.held); at += step {
		if c.held[at].GetSequence() <= sequence {
			c.held[at] = nil
		}
	}
}
