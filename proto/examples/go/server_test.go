package sidecar

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	pb "github.com/agent-sidecar/agent-sidecar/proto/examples/go/sidecarv1"
)

// patience is how long a test waits for what is to happen; nearly all of it is slack for a busy machine.
const patience = 30 * time.Second

type call = grpc.BidiStreamingServer[pb.ObserveRequest, pb.ObserveResponse]

// fakeSidecar plays each stream of a client as a test says, over a real socket.
type fakeSidecar struct {
	pb.UnimplementedConvergenceServiceServer
	address string
	play    func(number int, stream call, open *pb.Open) error

	mu     sync.Mutex
	turns  []*pb.Turn
	opens  []*pb.Open
	closes []*pb.Close
	calls  int
}

func (f *fakeSidecar) Observe(stream call) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.calls++
	number := f.calls
	f.opens = append(f.opens, first.GetOpen())
	f.mu.Unlock()
	return f.play(number, stream, first.GetOpen())
}

// serve listens until the test is over.
func serve(t testing.TB, play func(number int, stream call, open *pb.Open) error) *fakeSidecar {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	f := &fakeSidecar{address: "unix:" + path, play: play}
	server := grpc.NewServer()
	pb.RegisterConvergenceServiceServer(server, f)
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Stop(); <-done })
	return f
}

// opened answers `open`, and each turn with what decide makes of it until the client half-closes.
func (f *fakeSidecar) opened(stream call, decide func(*pb.Turn) *pb.Decision) error {
	if err := stream.Send(openedWith(&pb.Opened{})); err != nil {
		return err
	}
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		f.mu.Lock()
		if goodbye := request.GetClose(); goodbye != nil {
			f.closes = append(f.closes, goodbye)
		}
		turn := request.GetTurn()
		if turn != nil {
			f.turns = append(f.turns, turn)
		}
		f.mu.Unlock()
		if turn == nil {
			continue
		}
		if decision := decide(turn); decision != nil {
			if err := stream.Send(decided(decision)); err != nil {
				return err
			}
		}
	}
}

func (f *fakeSidecar) received() []*pb.Turn {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.turns)
}

// following is a sidecar whose every stream is opened and decided by one function.
func following(t testing.TB, decide func(*pb.Turn) *pb.Decision) *fakeSidecar {
	t.Helper()
	var f *fakeSidecar
	f = serve(t, func(_ int, stream call, _ *pb.Open) error { return f.opened(stream, decide) })
	return f
}

func openedWith(opened *pb.Opened) *pb.ObserveResponse {
	return &pb.ObserveResponse{Message: &pb.ObserveResponse_Opened{Opened: opened}}
}

func decided(decision *pb.Decision) *pb.ObserveResponse {
	return &pb.ObserveResponse{Message: &pb.ObserveResponse_Decision{Decision: decision}}
}

func proceeding(turn *pb.Turn) *pb.Decision {
	return &pb.Decision{Sequence: turn.Sequence, Cause: pb.Cause_CAUSE_TURN}
}

func rotating(turn *pb.Turn, instruction string) *pb.Decision {
	decision := proceeding(turn)
	decision.Directive = &pb.Decision_Rotate{Rotate: &pb.Rotate{Instruction: instruction}}
	return decision
}

// client is one that a test needs not close.
func client(t *testing.T, options Options) *Client {
	t.Helper()
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	c := New(options)
	t.Cleanup(func() { c.Close(t.Context(), nil) })
	return c
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("not within %s: %s\n%s", patience, what, stacks[:runtime.Stack(stacks, true)])
		}
	}
}
