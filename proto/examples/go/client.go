// Package sidecar reports an agent's run to the sidecar, turn by turn, and hands its directives to
// the agent. Nothing in it fails for what the sidecar does or fails to do: without a decision the
// agent proceeds.
//
// client.go is what an agent calls and the state behind it, stream.go a stream to the sidecar, ending.go
// what its end means, connection.go its way there, and turn.go the turns as they are kept and sent.
package sidecar

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/agent-sidecar/agent-sidecar/proto/examples/go/sidecarv1"
)

const (
	// The longest wait for a decision. An outage costs three of them, once.
	timeoutDefault, timeoutMax, missesMax = 200 * time.Millisecond, time.Minute, 3
	// A goodbye is worth a second, if the sidecar is there, less what turns have waited in vain: an outage
	// costs a second in all.
	closeMax = time.Second
	// When a person has not spoken in time the sidecar says what that means; it looks once a second.
	waitMaxMax, lastWord = 24 * time.Hour, 2500 * time.Millisecond
	// A sidecar that restarts is back sooner; one that stays away brings no person's answer.
	operatorOutageMax = 10 * time.Second
	never             = moment(1 << 62)
)

// moment is a time, counted from when the client was made.
type moment = time.Duration

// Kind is what the agent should do; the greater is the stronger.
type Kind int

const (
	Proceed Kind = iota // go on
	Rotate              // try another approach
	Commit              // answer now with what is known
	Halt                // stop
)

// String is the kind's name as the protocol has it.
func (k Kind) String() string { return [...]string{"proceed", "rotate", "commit", "halt"}[k] }

// Directive is what the agent should do now. Without a sidecar it is a plain Proceed.
type Directive struct {
	Kind Kind
	// Instruction is ready for the agent's context: that of a rotate or a commit, the reason of a
	// halt, or what a proceed thought worth knowing.
	Instruction string
	// WaitMax, when set, asks the agent to call WaitForOperator before it goes on.
	WaitMax time.Duration
	// Late tells that it answers an earlier turn, whose answer did not come in time.
	Late bool
	// FailOpenReason is why the turn has no decision of its own: connect, timeout, stream, rejected,
	// draining or internal. Empty: it has one, or none is due.
	FailOpenReason string
	// Decision is the message as it came; nil: there is none.
	Decision *pb.Decision
}

// Options of a client. All may be left out.
type Options struct {
	// Address is unix:PATH or HOST:PORT. Empty: $SIDECAR_ADDRESS, else agent.sock in
	// $XDG_RUNTIME_DIR/sidecar, else in /tmp/sidecar-UID if that is the user's own with mode 0700.
	Address string
	// Open says what is running: agent_name, model, session_id, policy, mode, limits, labels ...
	Open *pb.Open
	// Timeout is the longest wait for a decision: 200 ms if 0, at most a minute; below 0 nothing is
	// waited for.
	Timeout time.Duration
	// Credentials turn TLS on, as credentials.NewTLS makes them; nil: plain.
	Credentials credentials.TransportCredentials
	// Token is sent as a bearer token.
	Token string
	// OnGiveUp is told each give-up, for the host's own metrics, before the call that it befell returns:
	// it should return at once. A panic in it is dropped.
	OnGiveUp func(reason string)
	// Logger gets a line when an outage begins, when the sidecar refuses the client in it or for good, and
	// when it is over; nil: slog.Default().
	Logger *slog.Logger
}

// Client is one run's line to the sidecar, safe to use from several goroutines.
//
// All its state is behind mu, and whoever changes it wakes those who wait. Three goroutines work for
// it: keep begins and cuts streams when it is time to; converse reads a stream, and send writes it.
type Client struct {
	options                             Options
	private, network, target, authority string
	made                                time.Time
	tasks                               sync.WaitGroup

	mu                                          sync.Mutex
	changed                                     chan struct{}
	stage                                       stage
	stream                                      *stream  // while opening, open or leaving
	open                                        *pb.Open // what the next stream begins with
	goodbye                                     *pb.Close
	goodbyeOn                                   *stream // that it was last said on
	heard, renewing, reopening                  bool    // renewing: the last stream ended for another session's sake
	sessionID, outage                           string  // the first name; why the agent goes on alone
	connectAt, downSince, personUntil           moment
	spent, closeUntil                           moment  // spent: what the misses have cost
	turns                                       []*turn // the last ones, oldest first
	began                                       *timestamppb.Timestamp
	turnsBytes, turnBytesMax, lost, closing     int // lost: turns that fell out before those kept; closing: calls of Close
	lastSequence, seen, hole, expected          uint32
	renamed, attempts, misses, cuts, giveUpsSum int
	giveUps                                     map[string]uint64
	held                                        [8]*pb.Decision // for the next report, by slot
	unaskedSeen                                 string          // handed over; the sidecar says it again until a turn follows
	unsaid                                      []func()        // what the host is told once mu is let go of
}

// New makes a client, which connects in the background until Close. It never fails and never waits.
func New(options Options) *Client {
	c := &Client{options: options, made: time.Now(), began: timestamppb.Now(), changed: make(chan struct{}),
		giveUps: map[string]uint64{}, open: &pb.Open{}, turnBytesMax: turnBytesDefault, downSince: never}
	c.options.Timeout = min(cmp.Or(options.Timeout, timeoutDefault), timeoutMax)
	c.options.Logger = cmp.Or(options.Logger, slog.Default())
	defer c.lock()()
	unusable := c.locate()
	proto.Merge(c.open, options.Open)
	c.count(cmp.Or(tidyLabels(c.open), tidy(c.open.ProtoReflect(), textBytesMax)))
	c.open.ClientInstance, c.open.PreviousSessionId = rand.Text(), fit(c.open.PreviousSessionId, idBytesMax)
	c.open.SessionId = fit(cmp.Or(c.open.SessionId, c.open.ClientInstance), idBytesMax)
	c.sessionID = c.open.SessionId
	c.tasks.Go(func() { c.keep(unusable) })
	return c
}

// Turn reports the turn that has just ended, and returns what to do now; it waits for that at most the
// timeout. Sequence and directive_seen are the client's; a turn without times gets those of the report
// before it and of now. Cancelling ctx ends the waiting: what answers the turn comes with the next.
func (c *Client) Turn(ctx context.Context, report *pb.Turn) Directive {
	deadline := c.now() + c.options.Timeout
	defer c.lock()()
	t := c.report(report, deadline)
	c.wait(ctx, func() moment { return c.awaited(t) })
	t.left = true
	if c.awaited(t) > 0 && errors.Is(ctx.Err(), context.Canceled) {
		return Directive{}
	}
	return c.collect(t)
}

// WaitForOperator waits for a person where the last directive asks for it (WaitMax), at most so long,
// and returns what the person, or the end of the time, means: a proceed if nothing came, at once where
// the session was closed, since no answer comes in the one after it. The end of ctx ends this call, not
// the waiting.
func (c *Client) WaitForOperator(ctx context.Context) Directive {
	defer c.lock()()
	c.wait(ctx, c.operatorUntil)
	decision, reason := c.take(2), ""
	if decision == nil && ctx.Err() != nil {
		return Directive{} // the person may still be waited for
	}
	if decision == nil && c.personUntil > 0 {
		reason = c.count(cmp.Or(c.trouble(), "timeout"))
	}
	return c.handOver(decision, false, reason)
}

// Close ends the client and, with a goodbye, the session; without one another client can go on with
// it. It waits for the sidecar to hear, and tells whether it has: a second at most, less what turns
// have waited in vain, and not for one that is away. Called again it does nothing more, but waits with
// a call that still does.
func (c *Client) Close(ctx context.Context, goodbye *pb.Close) (heard bool) {
	defer func() { // a log of the host's that hangs, or that has called this, is not waited for
		left, done := context.WithTimeout(context.Background(), closeMax)
		go func() { c.tasks.Wait(); done() }()
		<-left.Done()
		defer c.lock()()
		heard = c.heard // the same for all who wait
	}()
	defer c.lock()()
	if goodbye != nil && !c.over() {
		c.goodbye, c.closeUntil = proto.CloneOf(goodbye), c.now()+closeMax-min(c.spent, missesMax*timeoutDefault)
		c.count(tidy(c.goodbye.ProtoReflect(), textBytesMax))
		c.notify()
	}
	c.closing++
	c.wait(ctx, c.hearing)
	if c.closing--; c.closing == 0 { // an earlier one to leave would cut the stream under the others
		c.stop()
	}
	return
}

// GiveUps counts, by reason, how often the client went on without the sidecar.
func (c *Client) GiveUps() map[string]uint64 {
	defer c.lock()()
	return maps.Clone(c.giveUps)
}

// SessionID is the session's name; it changes when the sidecar cannot go on with it.
func (c *Client) SessionID() string {
	defer c.lock()()
	return c.open.SessionId
}

func (c *Client) now() moment     { return time.Since(c.made) }
func (c *Client) over() bool      { return c.goodbye != nil || c.stage == stopped }
func (c *Client) observing() bool { return c.open.Mode == pb.Mode_MODE_OBSERVE }
func (c *Client) impatient() bool { return c.misses >= missesMax && !c.observing() }

func (c *Client) say(one func()) {
	c.unsaid = append(c.unsaid, func() { defer func() { _ = recover() }(); one() })
}

func (c *Client) lock() (unlock func()) {
	c.mu.Lock()
	return c.unlock
}

// unlock lets go of mu, and then says what there is: the host's code may take its time, and ask the client.
func (c *Client) unlock() {
	unsaid := c.unsaid
	c.unsaid = nil
	c.mu.Unlock()
	for _, one := range unsaid {
		one()
	}
}

// wait lets go of mu for as long as until, asked again after each change, is to come.
func (c *Client) wait(ctx context.Context, until func() moment) {
	for left := until() - c.now(); left > 0 && ctx.Err() == nil; left = until() - c.now() {
		changed, timer := c.changed, time.NewTimer(left)
		c.unlock()
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		c.mu.Lock()
	}
}

func (c *Client) notify() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// stop ends all that works for the client.
func (c *Client) stop() {
	if c.stream != nil {
		c.stream.cancel()
	}
	c.stage, c.stream = stopped, nil
	c.notify()
}

// awaited is until when waiting for the turn's decision can help.
func (c *Client) awaited(t *turn) moment {
	unasked := t.answered || c.observing() || c.impatient() || c.over()
	isLeft := c.stage == leaving && t.stream != c.stream && c.stream.hole == 0
	if unasked || isLeft || c.stream == nil && c.outage != "" {
		return 0
	}
	return t.deadline
}

// hearing is until when waiting for the goodbye to be heard can help.
func (c *Client) hearing() moment {
	away := c.stage == opening && c.impatient() || c.stream == nil && c.outage != ""
	if c.stage == stopped || away && !c.renewing && !c.reopening { // who asks for another session is there
		return 0
	}
	return c.closeUntil
}

// operatorUntil is until when to wait for what no turn asked for.
func (c *Client) operatorUntil() moment {
	if c.personUntil == 0 || c.over() || slices.ContainsFunc(c.held[:], unasked) {
		return 0
	}
	return min(c.personUntil, c.downSince+operatorOutageMax)
}

// collect is what the agent is to do now, whether the turn's decision has come or not.
func (c *Client) collect(t *turn) Directive {
	own, reason := t.decision, ""
	t.decision = nil // the turn is kept, what was decided on it is not
	if own == nil {
		reason = c.count(c.trouble())
		if c.goodbye == nil { // a report after the end misses nothing: Close goes on waiting to be heard
			c.misses++
			c.spent += c.now() - t.deadline + c.options.Timeout
		}
		c.notify() // a silence may count from now on
	}
	best := own
	if !t.final { // a run that has its answer is not told to change course
		c.hold(own)
		best = cmp.Or(c.take(1), own)
	}
	return c.handOver(best, best != own && !unasked(best), reason)
}

// trouble is why there is no decision now; empty: none is due.
func (c *Client) trouble() string {
	switch {
	case c.goodbye != nil:
		return "internal" // a report after the end
	case c.observing():
		return c.outage
	case c.stage == open:
		return "timeout"
	case c.stream != nil && c.stream.draining:
		return "draining"
	}
	return cmp.Or(c.outage, "connect")
}

func (c *Client) count(reason string) string {
	if reason != "" {
		c.giveUps[reason]++
		c.giveUpsSum++
		if c.options.OnGiveUp != nil {
			c.say(func() { c.options.OnGiveUp(reason) })
		}
	}
	return reason
}

func (c *Client) handOver(d *pb.Decision, late bool, reason string) Directive {
	kind, instruction := read(d)
	directive := Directive{Kind: kind, Instruction: instruction, Late: late, FailOpenReason: reason, Decision: d}
	c.seen, c.personUntil = max(c.seen, d.GetSequence()), 0
	if wait := d.GetRotate().GetWaitMax(); wait != nil {
		directive.WaitMax = min(max(wait.AsDuration(), 0), waitMaxMax)
		c.personUntil = c.now() + directive.WaitMax + lastWord
	}
	return directive
}

// read is what a decision says; what this client does not know means proceed.
func read(d *pb.Decision) (kind Kind, instruction string) {
	switch one := d.GetDirective().(type) {
	case *pb.Decision_Rotate:
		return Rotate, one.Rotate.GetInstruction()
	case *pb.Decision_Commit:
		return Commit, one.Commit.GetInstruction()
	case *pb.Decision_Halt:
		return Halt, one.Halt.GetReason()
	}
	return Proceed, d.GetProceed().GetNotice()
}
