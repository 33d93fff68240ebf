package sidecar

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "github.com/agent-sidecar/agent-sidecar/proto/examples/go/sidecarv1"
)

func TestADirectiveReachesTheAgentAndTheCloseIsHeard(t *testing.T) {
	f := following(t, func(turn *pb.Turn) *pb.Decision { return rotating(turn, "another way") })
	c := client(t, Options{Address: f.address, Timeout: patience, Open: &pb.Open{SessionId: "run"}})
	directive := c.Turn(t.Context(), &pb.Turn{Approach: "one way"})
	if directive.Kind != Rotate || directive.Instruction != "another way" || directive.FailOpenReason != "" {
		t.Fatalf("got %+v", directive)
	}
	if !c.Close(t.Context(), &pb.Close{}) {
		t.Fatal("the close was not heard")
	}
	if turn := f.received()[0]; turn.Sequence != 1 || turn.DirectiveSeen == nil || turn.EndTime == nil {
		t.Fatalf("the turn went as %v", turn)
	}
}

func TestTheAgentsOwnMessagesStayAsTheyAre(t *testing.T) {
	f := following(t, proceeding)
	open := &pb.Open{AgentName: "a\xff"}
	turn := &pb.Turn{Sequence: 77, Said: &pb.Turn_Text{Text: strings.Repeat("x", textBytesMax+1)}}
	before := proto.CloneOf(turn)
	client(t, Options{Address: f.address, Open: open}).Turn(t.Context(), turn)
	if !proto.Equal(turn, before) || open.AgentName != "a\xff" || open.ClientInstance != "" {
		t.Fatal("changed")
	}
}

func TestNoReportIsAnEmptyOne(t *testing.T) {
	f := following(t, proceeding)
	directive := client(t, Options{Address: f.address, Timeout: patience}).Turn(t.Context(), nil)
	if directive.Decision.GetSequence() != 1 || f.received()[0].EndTime == nil {
		t.Fatalf("got %+v for %v", directive, f.received())
	}
}

func TestCancellingEndsTheWaitingAndTheAnswerComesWithTheNextReport(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	f := following(t, func(turn *pb.Turn) *pb.Decision {
		if turn.Sequence > 1 {
			return proceeding(turn)
		}
		close(asked)
		<-release
		return rotating(turn, "late word")
	})
	c := client(t, Options{Address: f.address, Timeout: patience})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if directive := c.Turn(ctx, &pb.Turn{}); directive != (Directive{}) {
		t.Fatalf("a cancelled wait gave %+v", directive)
	}
	close(release)
	directive := c.Turn(t.Context(), &pb.Turn{})
	if !directive.Late || directive.Instruction != "late word" || len(c.GiveUps()) != 0 || f.calls != 1 {
		t.Fatalf("got %+v after %d streams, give-ups %v", directive, f.calls, c.GiveUps())
	}
}

func TestAPersonIsWaitedForAndCancellingDoesNotEndThat(t *testing.T) {
	var f *fakeSidecar
	spoken, cancelled := make(chan struct{}), make(chan struct{})
	f = serve(t, func(_ int, stream call, _ *pb.Open) error {
		return f.opened(stream, func(turn *pb.Turn) *pb.Decision {
			go func() {
				defer close(spoken)
				<-cancelled
				word := proceeding(turn)
				word.Cause = pb.Cause_CAUSE_OPERATOR
				word.Directive = &pb.Decision_Halt{Halt: &pb.Halt{Reason: "enough"}}
				_ = stream.Send(decided(word))
			}()
			rotate := rotating(turn, "ask")
			rotate.GetRotate().WaitMax = durationpb.New(time.Minute)
			return rotate
		})
	})
	c := client(t, Options{Address: f.address, Timeout: patience})
	if asked := c.Turn(t.Context(), &pb.Turn{}); asked.WaitMax != time.Minute {
		t.Fatalf("got %+v", asked)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if directive := c.WaitForOperator(ctx); directive != (Directive{}) {
		t.Fatalf("a cancelled wait gave %+v", directive)
	}
	slice, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if directive := c.WaitForOperator(slice); directive != (Directive{}) || len(c.GiveUps()) != 0 {
		t.Fatalf("a slice of the wait gave %+v, %v", directive, c.GiveUps())
	}
	close(cancelled)
	if directive := c.WaitForOperator(t.Context()); directive.Kind != Halt || directive.Instruction != "enough" {
		t.Fatalf("got %+v", directive)
	}
	<-spoken
}

func TestADeadlineOfTheCallersIsATimeout(t *testing.T) {
	f := following(t, func(*pb.Turn) *pb.Decision { return nil })
	c := client(t, Options{Address: f.address, Timeout: patience})
	eventually(t, "the stream is open", func() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.stage == open })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if directive := c.Turn(ctx, &pb.Turn{}); directive.FailOpenReason != "timeout" {
		t.Fatalf("got %+v", directive)
	}
}

func TestAnOutageCostsASecondAtMost(t *testing.T) {
	directory := t.TempDir()
	for what, address := range map[string]string{
		"nobody listens":           "unix:" + filepath.Join(directory, "none"),
		"a socket is a directory":  "unix:" + directory,
		"a path of 108 bytes":      "unix:/" + strings.Repeat("p", 107),
		"no port":                  "localhost",
		"another scheme":           "http://localhost:1",
		"a server speaks HTTP/1":   httpOne(t),
		"a server answers nothing": silent(t),
	} {
		t.Run(what, func(t *testing.T) {
			c := client(t, Options{Address: address})
			began := time.Now()
			for range 100 {
				if d := c.Turn(t.Context(), &pb.Turn{}); d.Kind != Proceed || d.FailOpenReason != "connect" {
					t.Fatalf("got %+v", d)
				}
			}
			c.Close(t.Context(), &pb.Close{})
			// Three timeouts, and slack for a busy machine: far less than the twenty seconds of a hundred.
			if took := time.Since(began); took > missesMax*timeoutDefault+5*time.Second {
				t.Fatalf("took %s", took)
			}
		})
	}
}

func httpOne(t *testing.T) string {
	return answering(t, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
}

func silent(t *testing.T) string { return answering(t, "") }

// answering listens, and says the same to all who come.
func answering(t *testing.T, words string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var accepted sync.WaitGroup
	accepted.Go(func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { connection.Close() })
			fmt.Fprint(connection, words)
		}
	})
	t.Cleanup(func() { listener.Close(); accepted.Wait() })
	return listener.Addr().String()
}

func TestADecisionOf5MBIsSurvived(t *testing.T) {
	f := following(t, func(turn *pb.Turn) *pb.Decision { return rotating(turn, strings.Repeat("w", 5_000_000)) })
	c := client(t, Options{Address: f.address, Timeout: patience})
	for range 2 {
		if directive := c.Turn(t.Context(), &pb.Turn{}); len(directive.Instruction) != 5_000_000 {
			t.Fatalf("got %d bytes, %s", len(directive.Instruction), directive.FailOpenReason)
		}
	}
}

func TestADirectiveFromTheFutureIsIgnored(t *testing.T) {
	var f *fakeSidecar
	f = serve(t, func(_ int, stream call, _ *pb.Open) error {
		return f.opened(stream, func(turn *pb.Turn) *pb.Decision {
			future := rotating(turn, "from the future")
			future.Sequence += 7
			if err := stream.Send(decided(future)); err != nil {
				return nil
			}
			return proceeding(turn)
		})
	})
	c := client(t, Options{Address: f.address, Timeout: patience})
	for range 8 {
		if directive := c.Turn(t.Context(), &pb.Turn{}); directive.Kind != Proceed || directive.Decision == nil {
			t.Fatalf("got %+v", directive)
		}
	}
}

func TestNothingIsLeftBehind(t *testing.T) {
	f := following(t, proceeding)
	before := runtime.NumGoroutine()
	for _, address := range []string{f.address, "unix:/nowhere", silent(t)} {
		for _, goodbye := range []*pb.Close{nil, {}} {
			c := New(Options{Address: address})
			c.Turn(t.Context(), &pb.Turn{})
			c.Close(t.Context(), goodbye)
			c.Close(t.Context(), goodbye)
		}
	}
	// One goroutine accepts for silent, and the server's own end with their connections.
	eventually(t, "all goroutines have ended", func() bool { return runtime.NumGoroutine() <= before+1 })
}

func TestGiveUpsAreToldAsTheyHappen(t *testing.T) {
	told := map[string]uint64{}
	c := client(t, Options{Address: "unix:/nowhere", OnGiveUp: func(reason string) { told[reason]++ }})
	for range 5 {
		c.Turn(t.Context(), &pb.Turn{})
	}
	c.Turn(t.Context(), &pb.Turn{Confidence: proto.Float64(math.NaN())})
	want := map[string]uint64{"connect": 6, "internal": 1}
	if !maps.Equal(told, want) || !maps.Equal(c.GiveUps(), want) {
		t.Fatalf("told %v, counted %v", told, c.GiveUps())
	}
}

func TestAClientServesSeveralGoroutines(t *testing.T) {
	f := following(t, proceeding)
	c := client(t, Options{Address: f.address, Timeout: patience})
	var agents sync.WaitGroup
	for range 8 {
		agents.Go(func() {
			for range 50 {
				if directive := c.Turn(t.Context(), &pb.Turn{}); directive.FailOpenReason != "" {
					t.Errorf("got %+v", directive)
				}
			}
		})
	}
	agents.Wait()
	for index, turn := range f.received() {
		if int(turn.Sequence) != index+1 {
			t.Fatalf("turn %d has sequence %d", index+1, turn.Sequence)
		}
	}
}

func TestATurnThatCameBeforeTheCutGoesAgain(t *testing.T) {
	var f *fakeSidecar
	f = serve(t, func(number int, stream call, _ *pb.Open) error {
		if number == 1 {
			_ = stream.Send(openedWith(&pb.Opened{}))
			_, err := stream.Recv()
			return err // ends with OK that nobody asked for
		}
		return f.opened(stream, proceeding)
	})
	c := client(t, Options{Address: f.address, Timeout: patience})
	c.Turn(t.Context(), &pb.Turn{Id: "once"})
	eventually(t, "the turn has come again", func() bool { return len(f.received()) == 1 })
	if turn := f.received()[0]; turn.Id != "once" || turn.Sequence != 1 {
		t.Fatalf("came as %v", turn)
	}
}

func TestAnObserverIsNotCutForItsSilence(t *testing.T) {
	f := following(t, func(*pb.Turn) *pb.Decision { return nil })
	c := client(t, Options{Address: f.address, Open: &pb.Open{Mode: pb.Mode_MODE_OBSERVE}})
	c.mu.Lock()
	c.misses = missesMax // as after an outage
	c.mu.Unlock()
	c.Turn(t.Context(), &pb.Turn{})
	eventually(t, "the turn has arrived", func() bool { return len(f.received()) == 1 })
	c.mu.Lock()
	defer c.mu.Unlock()
	if due := c.due(); due != never {
		t.Fatalf("the stream is to be cut at %s", due)
	}
}

func TestTheAddressIsLookedForWhereTheSidecarListens(t *testing.T) {
	own := fmt.Sprintf("unix:/tmp/sidecar-%d/agent.sock", os.Getuid())
	for _, row := range []struct{ given, variable, runtime, network, target string }{
		{"unix:/a", "unix:/b", "/run", "unix", "/a"},
		{"unix:///a", "", "", "unix", "/a"},
		{"/a", "", "", "unix", "/a"},
		{"[::1]:1", "", "", "tcp", "[::1]:1"},
		{"host:1", "unix:/b", "/run", "tcp", "host:1"},
		{"", "unix:/b", "/run", "unix", "/b"},
		{"", "", "/run", "unix", "/run/sidecar/agent.sock"},
		{"", "", "relative", "unix", strings.TrimPrefix(own, "unix:")},
		{"", "", "", "unix", strings.TrimPrefix(own, "unix:")},
	} {
		t.Setenv("SIDECAR_ADDRESS", row.variable)
		t.Setenv("XDG_RUNTIME_DIR", row.runtime)
		c := &Client{options: Options{Address: row.given}}
		if err := c.locate(); err != nil || c.network != row.network || c.target != row.target || (c.private != "") != (row.target == own[5:]) {
			t.Errorf("%+v: got %s %s, private %q", row, c.network, c.target, c.private)
		}
	}
}

func TestASharedDirectoryIsTrustedOnlyIfItIsOnesOwn(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "d")
	for mode, trusted := range map[os.FileMode]bool{0o700: true, 0o750: false, 0o701: false} {
		if err := os.Mkdir(directory, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(directory, mode); err != nil { // whatever the umask says
			t.Fatal(err)
		}
		info, err := os.Lstat(directory)
		if err != nil || isPrivate(info) != trusted {
			t.Errorf("mode %o: %v", mode, err)
		}
		if err := os.Remove(directory); err != nil {
			t.Fatal(err)
		}
	}
	c := &Client{network: "unix", target: filepath.Join(directory, "s"), private: os.TempDir()}
	if _, err := c.dial(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "0700") {
		t.Errorf("got %v", err)
	}
}

func TestAnAddressThatCannotBeUsedIsSaidOnceAndNotTriedAgain(t *testing.T) {
	for _, address := range []string{
		"unix:", "unix:/" + strings.Repeat("p", 107), "/" + strings.Repeat("p", 107),
		"localhost", ":4300", "localhost:http", "localhost:0", "localhost:65536", "http://localhost:1",
	} {
		var said bytes.Buffer
		c := New(Options{Address: address, Logger: slog.New(slog.NewTextHandler(&said, nil))})
		for range 5 {
			if d := c.Turn(t.Context(), &pb.Turn{}); d.FailOpenReason != "connect" {
				t.Errorf("%s: got %+v", address, d)
			}
		}
		c.Close(t.Context(), &pb.Close{})
		if lines := strings.Count(said.String(), "\n"); lines != 1 || !strings.Contains(said.String(), "unix:PATH (at most 107 bytes)") {
			t.Errorf("%s: said %q", address, said.String())
		}
	}
}

func TestACallbackMayAskTheClient(t *testing.T) {
	var c *Client
	counted := make(chan uint64, 1)
	c = client(t, Options{Address: "unix:/nowhere", OnGiveUp: func(reason string) { counted <- c.GiveUps()[reason] }})
	c.Turn(t.Context(), &pb.Turn{})
	if count := <-counted; count != 1 {
		t.Fatalf("counted %d", count)
	}
}

func TestACallbackMayPanic(t *testing.T) {
	f := following(t, proceeding)
	c := client(t, Options{Address: f.address, Timeout: patience, OnGiveUp: func(string) { panic("metrics broke") }})
	for range 20 { // some of them while the client's own goroutines hold mu
		if d := c.Turn(t.Context(), &pb.Turn{Confidence: proto.Float64(math.NaN())}); d.FailOpenReason != "" {
			t.Fatalf("got %+v", d)
		}
	}
	if count := c.GiveUps()["internal"]; count != 20 {
		t.Fatalf("counted %d", count)
	}
}

func TestATokenThatCannotBeSentIsSaidOnceWithoutItAndNotTried(t *testing.T) {
	f := following(t, proceeding)
	for _, token := range []string{"s3cret\x01", "s3cret\u00fc", "s3cret\nb"} {
		var said bytes.Buffer
		c := New(Options{Address: f.address, Token: token, Logger: slog.New(slog.NewTextHandler(&said, nil))})
		for range 5 {
			if d := c.Turn(t.Context(), &pb.Turn{}); d.FailOpenReason != "connect" {
				t.Errorf("%q: got %+v", token, d)
			}
		}
		c.Close(t.Context(), nil)
		if lines := strings.Count(said.String(), "\n"); lines != 1 || strings.Contains(said.String(), "s3cret") {
			t.Errorf("said %q", said.String())
		}
	}
}

// hanging is a log that hangs until it is let go.
type hanging struct {
	slog.Handler
	began, release chan struct{}
}

func (h hanging) Handle(context.Context, slog.Record) error {
	close(h.began)
	<-h.release
	return nil
}

func TestALogThatHangsHoldsNoTurnUp(t *testing.T) {
	h := hanging{slog.NewTextHandler(io.Discard, nil), make(chan struct{}), make(chan struct{})}
	c := client(t, Options{Address: "unix:/nowhere", Logger: slog.New(h)})
	defer close(h.release)
	<-h.began
	began := time.Now()
	c.Turn(t.Context(), &pb.Turn{})
	if took := time.Since(began); took > patience/2 {
		t.Fatalf("took %s", took)
	}
}

// calling is a log that calls back, or hangs.
type calling struct {
	slog.Handler
	back func()
}

func (c calling) Handle(context.Context, slog.Record) error { c.back(); return nil }

func TestALogMayCloseTheClientOrHangAndCloseReturns(t *testing.T) {
	release, made := make(chan struct{}), make(chan *Client, 1)
	defer close(release)
	for what, back := range map[string]func(){
		"closes": func() { c := <-made; made <- c; c.Turn(t.Context(), nil); c.Close(t.Context(), &pb.Close{}) },
		"hangs":  func() { <-release },
	} {
		for _, address := range []string{"unix:/nowhere", "nowhere"} {
			log := slog.New(calling{slog.NewTextHandler(io.Discard, nil), back})
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				made <- New(Options{Address: address, Logger: log}) // which does not wait for the log either
				c := <-made
				made <- c
				c.Turn(t.Context(), nil)
				c.Close(t.Context(), &pb.Close{})
				<-made
			}()
			select {
			case <-ended:
			case <-time.After(patience):
				t.Fatalf("a log that %s, %s: not closed", what, address)
			}
		}
	}
}

func TestACallbackMayCloseTheClientThatCloses(t *testing.T) {
	var c *Client
	c = New(Options{Address: "unix:/nowhere", OnGiveUp: func(string) { c.Close(t.Context(), nil) }, Logger: slog.New(slog.DiscardHandler)})
	ended := make(chan struct{})
	go func() { defer close(ended); c.Close(t.Context(), &pb.Close{FinalAnswer: "\xff"}) }()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("not closed")
	}
}
