package sidecar

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/agent-sidecar/agent-sidecar/proto/examples/go/sidecarv1"
)

// ending is a status as the sidecar makes it.
func ending(t *testing.T, code codes.Code, details ...protoadapt.MessageV1) *status.Status {
	t.Helper()
	made, err := status.New(code, "why").WithDetails(details...)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// conversing is a client with a stream at that stage, and nobody at work for it.
func conversing(at stage) (*Client, *stream) {
	s := &stream{cancel: func() {}}
	c := &Client{
		options: Options{Logger: slog.New(slog.DiscardHandler)}, made: time.Now(), stage: at, stream: s,
		open: &pb.Open{SessionId: "run", ClientInstance: "ABCDEFGHIJ"}, sessionID: "run", downSince: never,
		changed: make(chan struct{}), giveUps: map[string]uint64{}, turnBytesMax: turnBytesDefault,
	}
	return c, s
}

func TestWithinAnOutageTheLogTellsOfARefusalOnceAndOfAnEndForGood(t *testing.T) {
	var said bytes.Buffer
	c, _ := conversing(opening)
	c.options.Logger = slog.New(slog.NewTextHandler(&said, nil))
	for _, code := range []codes.Code{codes.Unavailable, codes.Unavailable, codes.Unauthenticated, codes.Unauthenticated, codes.InvalidArgument} {
		c.stage, c.stream = opening, &stream{cancel: func() {}}
		c.ended(c.stream, ending(t, code))
	}
	c.lock()()
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	for at, want := range []string{"reason=connect", "reason=rejected", "for_good=true"} {
		if len(lines) != 3 || !strings.Contains(lines[at], want) {
			t.Fatalf("said %q", lines)
		}
	}
}

func TestWhatTheEndOfAStreamMeans(t *testing.T) {
	own := func(reason string) protoadapt.MessageV1 { return &errdetails.ErrorInfo{Domain: domain, Reason: reason} }
	for what, row := range map[string]struct {
		at       stage
		draining bool
		end      *status.Status
		course   int
		reason   string
	}{
		"the sidecar's reason comes before the code": {open, false, ending(t, codes.Unauthenticated, own("DRAINING")), again, "draining"},
		"a reason that is not known":                 {open, false, ending(t, codes.NotFound, own("NEW")), later, "rejected"},
		"another domain's reason": {open, false, ending(t, codes.Aborted,
			&errdetails.ErrorInfo{Domain: "other", Reason: "SESSION_CLOSED"}), again, "stream"},
		"a session taken over":      {open, false, ending(t, codes.Aborted, own("SESSION_TAKEN_OVER")), halt, "rejected"},
		"an argument refused":       {opening, false, ending(t, codes.InvalidArgument), halt, "rejected"},
		"a conflict":                {open, false, ending(t, codes.Aborted, own("SEQUENCE_CONFLICT")), replay, "rejected"},
		"a session closed":          {open, false, ending(t, codes.FailedPrecondition, own("SESSION_CLOSED")), follow, "rejected"},
		"nobody listens":            {opening, false, ending(t, codes.Unavailable), again, "connect"},
		"a break":                   {open, false, ending(t, codes.Unavailable), again, "stream"},
		"a break while opening":     {opening, false, ending(t, codes.Internal), again, "stream"},
		"a break while it drains":   {leaving, true, ending(t, codes.Unavailable), again, "draining"},
		"an end that nobody wanted": {open, false, nil, again, "stream"},
	} {
		c, s := conversing(row.at)
		s.draining = row.draining
		if course, reason, _, _ := c.meaning(s, row.end); course != row.course || reason != row.reason {
			t.Errorf("%s: course %d, %s", what, course, reason)
		}
	}
}

func TestPausesGrowFromAHalfToTheWholeOfTheirBound(t *testing.T) {
	refused := &errdetails.RetryInfo{RetryDelay: durationpb.New(7 * time.Second)}
	for what, row := range map[string]struct {
		attempts int
		hole     uint32
		end      *status.Status
		low      time.Duration
		high     time.Duration
	}{
		"the first":            {0, 0, ending(t, codes.Unavailable), 25 * time.Millisecond, 50 * time.Millisecond},
		"the third":            {2, 0, ending(t, codes.Unavailable), 100 * time.Millisecond, 200 * time.Millisecond},
		"one of many breaks":   {1000, 0, ending(t, codes.Unavailable), soonMax / 2, soonMax},
		"a refusal":            {0, 0, ending(t, codes.NotFound), laterFirst / 2, laterFirst},
		"one of many refusals": {1000, 0, ending(t, codes.NotFound), laterMax / 2, laterMax},
		"a delay asked for":    {0, 0, ending(t, codes.Unavailable, refused), 7 * time.Second, 7 * time.Second},
		"to open again itself": {1000, 45, status.New(codes.OK, ""), 25 * time.Millisecond, 50 * time.Millisecond},
	} {
		c, s := conversing(opening)
		c.attempts, s.hole = row.attempts, row.hole
		before := c.now()
		c.ended(s, row.end)
		after := c.now()
		if c.connectAt < before+row.low || c.connectAt > after+row.high {
			t.Errorf("%s: %s after %s", what, c.connectAt-before, after-before)
		}
	}
}

func TestANewSessionIsNamedAfterTheFirstAndToldFromOneOn(t *testing.T) {
	c, s := conversing(open)
	for number := range uint32(3) {
		kept := c.report(&pb.Turn{}, 0)
		c.nextTurn(&stream{next: number + 1}, kept, 0)
		kept.answered = number < 2
	}
	c.ended(s, ending(t, codes.FailedPrecondition, &errdetails.ErrorInfo{Domain: domain, Reason: "SESSION_CLOSED"}))
	if c.open.SessionId != "run.ABCDEFGH.1" || c.open.PreviousSessionId != "run" {
		t.Errorf("named %q after %q", c.open.SessionId, c.open.PreviousSessionId)
	}
	if len(c.turns) != 1 || c.firstSequence() != 1 || c.turns[0].sequence != 0 {
		t.Errorf("%d turns kept, from %d on", len(c.turns), c.firstSequence())
	}
}

func TestNobodyIsWaitedForOnceTheSessionIsClosed(t *testing.T) {
	may := make(chan struct{})
	closed := ending(t, codes.FailedPrecondition, &errdetails.ErrorInfo{Domain: domain, Reason: "SESSION_CLOSED"})
	var f *fakeSidecar
	f = serve(t, func(number int, stream call, _ *pb.Open) error {
		if number > 1 {
			return f.opened(stream, proceeding)
		}
		go func() {
			_ = f.opened(stream, func(turn *pb.Turn) *pb.Decision {
				asking := rotating(turn, "ask")
				asking.GetRotate().WaitMax = durationpb.New(time.Hour)
				return asking
			})
		}()
		<-may
		return closed.Err()
	})
	c := client(t, Options{Address: f.address, Timeout: patience})
	if asked := c.Turn(t.Context(), &pb.Turn{}); asked.WaitMax != time.Hour {
		t.Fatalf("got %+v", asked)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	close(may)
	if directive := c.WaitForOperator(ctx); directive != (Directive{}) || len(c.GiveUps()) != 0 {
		t.Fatalf("got %+v, give-ups %v", directive, c.GiveUps())
	}
}

func TestAPersonIsWaitedForInASessionThatIsToldAllAgain(t *testing.T) {
	for reason, waits := range map[string]bool{"SESSION_NOT_FOUND": true, "SEQUENCE_CONFLICT": true, "SESSION_CLOSED": false} {
		c, s := conversing(open)
		c.personUntil = never
		c.ended(s, ending(t, codes.Aborted, &errdetails.ErrorInfo{Domain: domain, Reason: reason}))
		if until := c.operatorUntil(); (until > 0) != waits {
			t.Errorf("%s: until %s", reason, until)
		}
	}
}

func TestOfWhatIsHeldTheStrongestGoesFirst(t *testing.T) {
	of := func(kind Kind, cause pb.Cause, sequence uint32) *pb.Decision {
		d := &pb.Decision{Sequence: sequence, Cause: cause}
		switch kind {
		case Rotate:
			d.Directive = &pb.Decision_Rotate{}
		case Commit:
			d.Directive = &pb.Decision_Commit{}
		case Halt:
			d.Directive = &pb.Decision_Halt{}
		}
		return d
	}
	turn, operator := pb.Cause_CAUSE_TURN, pb.Cause_CAUSE_OPERATOR
	for what, row := range map[string]struct {
		given []*pb.Decision
		taken []int // indices of given, in order
	}{
		"a plain proceed is not kept":       {[]*pb.Decision{of(Proceed, turn, 1)}, nil},
		"an operator's proceed is":          {[]*pb.Decision{of(Proceed, operator, 1)}, []int{0}},
		"the newer of a kind":               {[]*pb.Decision{of(Rotate, turn, 2), of(Rotate, turn, 1)}, []int{0}},
		"weaker and older is dropped":       {[]*pb.Decision{of(Rotate, turn, 1), of(Halt, turn, 2)}, []int{1}},
		"weaker and newer stays":            {[]*pb.Decision{of(Rotate, turn, 3), of(Halt, turn, 2)}, []int{1, 0}},
		"among equals what nobody asked":    {[]*pb.Decision{of(Rotate, operator, 1), of(Rotate, turn, 2)}, []int{0, 1}},
		"an operator's proceed settles":     {[]*pb.Decision{of(Halt, turn, 1), of(Proceed, operator, 1)}, []int{1}},
		"an operator's proceed and a later": {[]*pb.Decision{of(Proceed, operator, 1), of(Halt, turn, 2)}, []int{1}},
	} {
		c, _ := conversing(open)
		for _, d := range row.given {
			c.hold(d)
		}
		for _, index := range row.taken {
			if got := c.take(1); got != row.given[index] {
				t.Errorf("%s: %v in place of the %d-th", what, got, index)
			}
		}
		if rest := c.take(1); rest != nil {
			t.Errorf("%s: %v is left", what, rest)
		}
	}
}

func TestATurnThatWasTooLargeIsSmallerTheNextTime(t *testing.T) {
	limited := func(limit string) protoadapt.MessageV1 {
		return &errdetails.ErrorInfo{Domain: domain, Reason: "MESSAGE_BYTES_MAX", Metadata: map[string]string{"message_bytes_max": limit}}
	}
	words := status.New(codes.ResourceExhausted, "grpc: received message larger than max (5 vs. 4)")
	for what, row := range map[string]struct {
		end  *status.Status
		want int
	}{
		"as is stated":               {ending(t, codes.ResourceExhausted, limited("50000")), 50_000 - envelopeBytes},
		"no limit":                   {ending(t, codes.ResourceExhausted, limited("")), turnBytesDefault / 4},
		"a limit that is no news":    {ending(t, codes.ResourceExhausted, limited("9999999")), turnBytesDefault / 4},
		"a limit that lets none by":  {ending(t, codes.ResourceExhausted, limited("30")), turnBytesMin},
		"gRPC's own words":           {words, turnBytesDefault / 4},
		"another bound that was hit": {ending(t, codes.ResourceExhausted), turnBytesDefault},
	} {
		c, s := conversing(open)
		c.ended(s, row.end)
		if c.turnBytesMax != row.want {
			t.Errorf("%s: got %d", what, c.turnBytesMax)
		}
	}
}
