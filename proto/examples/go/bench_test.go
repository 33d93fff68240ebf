//go:build unix

package sidecar

import (
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/agent-sidecar/agent-sidecar/proto/examples/go/sidecarv1"
)

// What the client costs is the difference of the two, both with the fake sidecar in the same process.

func BenchmarkTurn(b *testing.B) {
	f := following(b, proceeding)
	c := New(Options{Address: f.address, Timeout: patience})
	defer c.Close(b.Context(), nil)
	measured(b, func() { c.Turn(b.Context(), usual()) })
}

func BenchmarkBareStream(b *testing.B) {
	f := following(b, proceeding)
	connection, err := grpc.NewClient(f.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		b.Fatal(err)
	}
	defer connection.Close()
	stream, err := pb.NewConvergenceServiceClient(connection).Observe(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	_ = stream.Send(&pb.ObserveRequest{Message: &pb.ObserveRequest_Open{Open: &pb.Open{}}})
	_, _ = stream.Recv()
	sequence := uint32(0)
	measured(b, func() {
		sequence++
		t := usual()
		t.Sequence = sequence
		_ = stream.Send(&pb.ObserveRequest{Message: &pb.ObserveRequest_Turn{Turn: t}})
		if _, err := stream.Recv(); err != nil {
			b.Fatal(err)
		}
	})
}

func usual() *pb.Turn {
	return &pb.Turn{Said: &pb.Turn_Text{Text: "the tests fail"}, ToolCalls: []*pb.ToolCall{{
		Name:      "bash",
		Arguments: &pb.ToolCall_ArgumentsJson{ArgumentsJson: `{"command": "pytest"}`},
		Result:    &pb.ToolCall_ResultText{ResultText: "1 failed"},
	}}}
}

func measured(b *testing.B, once func()) {
	for range 100 {
		once()
	}
	before := cpu()
	b.ResetTimer()
	for range b.N {
		once()
	}
	b.ReportMetric(float64(cpu()-before)/float64(b.N)/1e3, "cpu-us/op")
}

func cpu() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
