package sidecar

import (
	"cmp"
	"context"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "github.com/agent-sidecar/agent-sidecar/proto/examples/go/sidecarv1"
)

const (
	// Time for one attempt to connect and open: a lost SYN is sent again after 1 s (RFC 6298).
	attemptMax = 3 * time.Second
	// How long a half-closed stream may take to end, and a draining one at most.
	leavingDefault, leavingMax = 5 * time.Second, 30 * time.Second
	// A stream silent for so long is cut; doubled with each cut in a row, so that a sidecar which is
	// slow, but not dead, is left alone.
	silenceFirst, silenceMax = 600 * time.Millisecond, 10 * time.Second
	// An idle agent is heard of so often, and three times within the idle time; give-ups are told soon.
	heartbeatMax, heartbeatMin, toldWithin = 30 * time.Second, time.Second, 5 * time.Second
	// Half of what the wire can count: more leaves no room for this run's turns.
	sequenceMax = 1 << 31
)

// stage is where the client stands: paused -> opening -> open -> leaving -> paused ... -> stopped.
type stage int

const (
	paused  stage = iota // between two streams
	opening              // connecting, or waiting for `opened`
	open                 // turns go out
	leaving              // half-closed; answers may still come
	stopped              // for good
)

// stream is one stream, from its beginning to its end.
type stream struct {
	context                     context.Context
	cancel                      context.CancelFunc
	since, received, sent, told moment
	until, heartbeat            moment // until: when it is cut, silent or not; never while it is open
	first, held, next, hole     uint32 // as `open` said; what the sidecar has; the next to go
	cursor, toldSum             int    // cursor: turns passed, counting those lost
	opened, decided, draining   bool
	cut                         error // why the client itself ended it
}

// keep begins and cuts streams, as one after the other is due; none to what is unusable.
func (c *Client) keep(unusable error) {
	defer c.lock()()
	if unusable != nil {
		c.goOn("connect", unusable.Error(), true)
		c.notify()
	}
	for c.wait(context.Background(), c.due); c.stage != stopped; c.wait(context.Background(), c.due) {
		switch {
		case c.stage == paused:
			c.begin()
		case c.now() < c.stream.until:
			c.cuts++
			c.cut(own("SILENCE"))
		default:
			c.cut(status.Error(codes.Unavailable, "no answer"))
		}
	}
}

func (c *Client) cut(why error) {
	c.stream.cut, c.stream.until = why, never
	c.stream.cancel()
}

// due is when the next stream is to begin, or the one that there is counts as dead.
func (c *Client) due() moment {
	switch s := c.stream; {
	case c.stage == stopped:
		return 0
	case c.stage == paused:
		return c.connectAt
	case s.cut != nil || s.draining || !c.impatient(): // one that drains has said how long that takes
		return s.until
	}
	for _, t := range c.turns {
		if t.stream == c.stream && !t.answered {
			first := max(silenceFirst, missesMax*c.options.Timeout)
			silence := min(first<<min(c.cuts, doublingsMax), max(silenceMax, first))
			return min(max(t.sent, c.stream.received)+silence, c.stream.until)
		}
	}
	return c.stream.until
}

func (c *Client) begin() {
	now := c.now()
	s := &stream{since: now, received: now, sent: now, told: now, until: now + attemptMax, heartbeat: heartbeatMax,
		first: max(c.firstSequence(), c.hole)}
	s.context, s.cancel = context.WithCancel(context.Background())
	c.stage, c.stream = opening, s
	c.tasks.Go(func() { c.converse(s) })
}

// nextRequest is what to send now, or else until when to wait: not at all to half-close.
func (c *Client) nextRequest(s *stream) (*pb.ObserveRequest, moment) {
	if c.stream != s || c.stage == leaving {
		return nil, 0
	}
	now := c.now()
	if c.stage == opening {
		if s.opened {
			return nil, never
		}
		s.opened = true
		opening := proto.CloneOf(c.open)
		opening.FirstAvailableSequence, opening.GiveUps = s.first, c.tell(s, now)
		return &pb.ObserveRequest{Message: &pb.ObserveRequest_Open{Open: opening}}, 0
	}
	for s.cursor = max(s.cursor, c.lost); s.cursor < c.lost+len(c.turns); s.cursor++ {
		t := c.turns[s.cursor-c.lost]
		if c.wants(s, t) {
			return c.nextTurn(s, t, now), 0
		}
	}
	due := s.sent + s.heartbeat
	if c.giveUpsSum > s.toldSum {
		due = min(due, s.told+toldWithin)
	}
	switch {
	case now >= due, c.goodbye != nil && c.giveUpsSum > s.toldSum:
		s.sent = now
		beat := &pb.Heartbeat{GiveUps: c.tell(s, now)}
		return &pb.ObserveRequest{Message: &pb.ObserveRequest_Heartbeat{Heartbeat: beat}}, 0
	case c.goodbye == nil:
		return nil, due
	}
	c.goodbyeOn = s
	c.leave(s, leavingDefault) // at once: a report that comes while it goes out must not put anything after it
	return &pb.ObserveRequest{Message: &pb.ObserveRequest_Close{Close: c.goodbye}}, 0
}

// wants tells whether a turn is to go out: the sidecar does not have it, or its decision was lost.
func (c *Client) wants(s *stream, t *turn) bool {
	if 0 < t.sequence && t.sequence < s.first {
		return false
	}
	isNew := t.sequence == 0 || t.sequence > s.held
	return isNew || !t.answered && !c.observing() || c.expected > 0 && c.expected <= t.sequence
}

func (c *Client) nextTurn(s *stream, t *turn, now moment) *pb.ObserveRequest {
	if t.sequence == 0 {
		c.lastSequence++
		t.sequence = c.lastSequence
	}
	if t.sequence > s.next { // turns fell out since `open` said which is the first: only another can say so
		s.hole = t.sequence
		c.leave(s, leavingDefault)
		return nil
	}
	before := len(t.wire)
	t.wire = shrunk(t.wire, c.turnBytesMax)
	c.turnsBytes += len(t.wire) - before
	s.cursor++
	if c.impatient() {
		c.notify() // its silence counts from now on
	}
	s.next, s.sent, t.sent, t.stream = max(s.next, t.sequence+1), now, now, s
	return &pb.ObserveRequest{Message: &pb.ObserveRequest_Turn{Turn: t.numbered()}}
}

func (c *Client) leave(s *stream, within time.Duration) { c.stage, s.until = leaving, c.now()+within }

func (c *Client) tell(s *stream, now moment) (told []*pb.GiveUp) {
	s.told, s.toldSum = now, c.giveUpsSum
	for reason, count := range c.giveUps {
		told = append(told, &pb.GiveUp{Reason: reason, Count: count})
	}
	return told
}

func (c *Client) received(s *stream, response *pb.ObserveResponse) (err error) {
	defer c.lock()()
	if c.stream != s {
		return nil
	}
	s.received = c.now()
	switch one := response.GetMessage().(type) {
	case *pb.ObserveResponse_Opened:
		err = c.opened(s, one.Opened)
	case *pb.ObserveResponse_Decision:
		c.decided(s, one.Decision)
	case *pb.ObserveResponse_Draining:
		if c.stage != leaving {
			s.draining = true
			c.leave(s, min(cmp.Or(max(one.Draining.GetGrace().AsDuration(), 0), leavingDefault), leavingMax))
		}
	}
	c.notify()
	return err
}

func (c *Client) opened(s *stream, opened *pb.Opened) error {
	if c.stage != opening {
		return nil
	}
	if opened.LastSequence > sequenceMax {
		return own("NONSENSE")
	}
	c.stage, c.downSince, s.until, s.since, s.held = open, never, never, s.received, opened.LastSequence
	c.lastSequence, s.next = max(c.lastSequence, s.held), max(s.held+1, s.first)
	if idle := opened.IdleTtl.AsDuration(); idle > 0 {
		s.heartbeat = min(heartbeatMax, max(heartbeatMin, idle/3))
	}
	if opened.TurnBytesMax > 0 {
		c.turnBytesMax = min(c.turnBytesMax, max(int(opened.TurnBytesMax)-envelopeBytes, turnBytesMin))
	}
	if c.observing() {
		c.isBack()
	}
	return nil
}

func (c *Client) decided(s *stream, d *pb.Decision) {
	if unasked(d) {
		if d.DecisionId == "" || d.DecisionId != c.unaskedSeen {
			c.hold(d)
		}
		return
	}
	at := slices.IndexFunc(c.turns, func(t *turn) bool { return t.sequence == d.Sequence && t.stream == s })
	if at < 0 {
		return // an answer to nothing that was asked
	}
	t := c.turns[at]
	c.isBack()
	s.decided = true
	if s.received-t.sent <= c.options.Timeout {
		c.misses, c.cuts, c.spent = 0, 0, 0
	}
	switch {
	case t.answered || c.observing():
	case t.left:
		c.hold(d)
	default:
		t.decision = d
	}
	t.answered = true
}

func (c *Client) isBack() {
	if c.outage != "" {
		c.say(func() { c.options.Logger.Info("the sidecar is back", "address", c.target) })
	}
	c.outage = ""
}
