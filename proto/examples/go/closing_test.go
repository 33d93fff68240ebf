package sidecar

import (
	"context"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"

	pb "github.com/agent-sidecar/agent-sidecar/proto/examples/go/sidecarv1"
)

func TestACloseReturnsThoughTheStreamHangs(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	f := serve(t, func(int, call, *pb.Open) error { <-release; return nil })
	c := client(t, Options{Address: f.address})
	if c.Close(t.Context(), &pb.Close{}) {
		t.Fatal("nobody has heard it")
	}
}

// saidTo is a sidecar that hears a goodbye, says so, and ends the stream once it may.
func saidTo(t *testing.T, said chan<- struct{}, may <-chan struct{}) *fakeSidecar {
	t.Helper()
	return serve(t, func(_ int, stream call, _ *pb.Open) error {
		if err := stream.Send(openedWith(&pb.Opened{})); err != nil {
			return err
		}
		for {
			request, err := stream.Recv()
			if err != nil {
				return err
			}
			if request.GetClose() != nil {
				close(said)
				<-may
				return nil
			}
		}
	})
}

func TestReportsAfterCloseDoNotEndItsWait(t *testing.T) {
	said, reported := make(chan struct{}), make(chan struct{})
	c := client(t, Options{Address: saidTo(t, said, reported).address})
	heard := make(chan bool)
	go func() { heard <- c.Close(t.Context(), &pb.Close{}) }()
	<-said
	for range missesMax + 2 {
		if directive := c.Turn(t.Context(), &pb.Turn{}); directive.FailOpenReason != "internal" {
			t.Errorf("got %+v", directive)
		}
	}
	close(reported)
	if !<-heard {
		t.Fatal("the close was not heard")
	}
}

// closedBefore is a sidecar whose first session was closed before; it says so once it may.
func closedBefore(t *testing.T, may <-chan struct{}) *fakeSidecar {
	t.Helper()
	closed := ending(t, codes.FailedPrecondition, &errdetails.ErrorInfo{Domain: domain, Reason: "SESSION_CLOSED"})
	var f *fakeSidecar
	f = serve(t, func(number int, stream call, _ *pb.Open) error {
		if number == 1 {
			<-may
			return closed.Err()
		}
		return f.opened(stream, proceeding)
	})
	return f
}

func TestTheNameOfAClosedSessionLosesNoTurnAndNoGoodbye(t *testing.T) {
	for _, turns := range []int{1, missesMax + 1} { // so many are not waited for any more
		may := make(chan struct{})
		close(may)
		f := closedBefore(t, may)
		c := client(t, Options{Address: f.address, Timeout: patience, Open: &pb.Open{SessionId: "run"}})
		for range turns {
			c.Turn(t.Context(), &pb.Turn{})
		}
		if heard := c.Close(t.Context(), &pb.Close{}); !heard || len(f.received()) != turns || len(f.closes) != 1 {
			t.Fatalf("heard %v, of %d turns %d came, and %d goodbyes", heard, turns, len(f.received()), len(f.closes))
		}
		if after := f.opens[1].PreviousSessionId; after != "run" {
			t.Errorf("goes on from %q", after)
		}
	}
}

func TestAGoodbyeThatWasNotSaidIsNotHeard(t *testing.T) {
	may := make(chan struct{})
	f := closedBefore(t, may)
	c := client(t, Options{Address: f.address, Timeout: -1})
	c.Turn(t.Context(), &pb.Turn{})
	go func() {
		defer close(may)
		eventually(t, "the client is closing", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.goodbye != nil })
	}()
	if !c.Close(t.Context(), &pb.Close{}) || len(f.received()) != 1 || len(f.closes) != 1 {
		t.Errorf("%d turns and %d goodbyes came", len(f.received()), len(f.closes))
	}
}

func TestAnOpenStreamIsWorthAGoodbyeWhateverTurnsHaveMissed(t *testing.T) {
	f := following(t, proceeding)
	c := client(t, Options{Address: f.address, Timeout: -1})
	eventually(t, "the stream is open", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.stage == open })
	for range missesMax + 1 {
		c.Turn(t.Context(), &pb.Turn{})
	}
	if !c.Close(t.Context(), &pb.Close{}) {
		t.Fatal("the close was not heard")
	}
}

func TestNothingFollowsTheGoodbye(t *testing.T) {
	c, s := conversing(open)
	s.heartbeat, c.goodbye = time.Hour, &pb.Close{}
	if request, _ := c.nextRequest(s); request.GetClose() == nil {
		t.Fatalf("got %v", request)
	}
	c.count("internal") // a report while it goes out
	if request, until := c.nextRequest(s); request != nil || until != 0 {
		t.Fatalf("got %v until %s", request, until)
	}
}

func TestASecondCloseWaitsWithTheFirst(t *testing.T) {
	for what, goodbye := range map[string]*pb.Close{"another goodbye": {}, "none": nil} {
		said, may, heard := make(chan struct{}), make(chan struct{}), make(chan bool, 2)
		c := client(t, Options{Address: saidTo(t, said, may).address})
		go func() { heard <- c.Close(t.Context(), &pb.Close{}) }()
		<-said
		go func() { heard <- c.Close(t.Context(), goodbye) }()
		eventually(t, "the second waits, or has returned", func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.closing == 2 || len(heard) > 0
		})
		close(may)
		if one, other := <-heard, <-heard; !one || !other {
			t.Errorf("%s: heard by one %v, by the other %v", what, one, other)
		}
		if again := c.Close(t.Context(), goodbye); !again {
			t.Errorf("%s: a later one does not know", what)
		}
	}
}

func TestACancelledCloseDoesNotEndTheWaitOfAnother(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	c, _ := conversing(leaving)
	c.goodbye, c.closeUntil, c.closing = &pb.Close{}, never, 1
	c.Close(cancelled, nil)
	if c.stage != leaving || c.closing != 1 {
		t.Fatalf("stage %d, %d wait", c.stage, c.closing)
	}
}

func TestWhatTurnsHaveWaitedInVainIsNotWaitedForTheGoodbye(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for misses, most := range []time.Duration{closeMax, 800 * time.Millisecond, 600 * time.Millisecond, 400 * time.Millisecond, 400 * time.Millisecond} {
		c, _ := conversing(open)
		c.options.Timeout = timeoutDefault
		for range misses {
			c.collect(&turn{deadline: c.now()})
		}
		before := c.now()
		c.Close(cancelled, &pb.Close{})
		if c.closeUntil > c.now()+most || c.closeUntil < before+400*time.Millisecond {
			t.Errorf("after %d misses %s", misses, c.closeUntil-before)
		}
	}
}

func TestTurnsThatDidNotWaitCostNoGoodbyeItsTime(t *testing.T) {
	c, s := conversing(open)
	c.options.Timeout = time.Minute
	began := c.now()
	for range 2 * missesMax { // as without a stream, or where nothing is to be waited for
		c.collect(&turn{deadline: c.now() + c.options.Timeout})
	}
	if took := c.now() - began; c.spent > 2*missesMax*took {
		t.Errorf("spent %s of %s", c.spent, took)
	}
	kept := c.report(&pb.Turn{}, 0)
	c.nextTurn(&stream{next: 1}, kept, 0)
	kept.stream, kept.sent, c.spent = s, c.now(), time.Second
	c.decided(s, proceeding(kept.numbered()))
	if c.spent != 0 {
		t.Errorf("%s after a decision in time", c.spent)
	}
}

func TestAGoodbyeIsNotWaitedForWhereTheSidecarHasFrozen(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	f := serve(t, func(_ int, stream call, _ *pb.Open) error {
		_ = stream.Send(openedWith(&pb.Opened{}))
		<-release
		return nil
	})
	c := client(t, Options{Address: f.address, Timeout: 20 * time.Millisecond})
	eventually(t, "the stream is open", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.stage == open })
	for range missesMax {
		c.Turn(t.Context(), &pb.Turn{})
	}
	if c.Close(t.Context(), &pb.Close{}) {
		t.Fatal("nobody has heard it")
	}
	if c.goodbyeOn == nil || c.outage != "timeout" {
		t.Fatalf("said %v, ended for %q", c.goodbyeOn != nil, c.outage)
	}
}

func TestASilentStreamIsCutAlsoWhileItLeaves(t *testing.T) {
	const until = 5 * time.Second
	for what, row := range map[string]struct {
		misses             int
		answered, draining bool
		due                moment
	}{
		"nothing has come for the silence": {missesMax, false, false, silenceFirst},
		"turns are still waited for":       {missesMax - 1, false, false, until},
		"nothing is unanswered":            {missesMax, true, false, until},
		"it drains, and may take so long":  {missesMax, false, true, until},
	} {
		c, s := conversing(leaving)
		s.until, s.draining, c.misses = until, row.draining, row.misses
		c.turns = []*turn{{stream: s, answered: row.answered}}
		if due := c.due(); due != row.due {
			t.Errorf("%s: it is cut at %s", what, due)
		}
		if c.cut(own("SILENCE")); c.due() != never {
			t.Errorf("%s: it is cut again", what)
		}
	}
}
