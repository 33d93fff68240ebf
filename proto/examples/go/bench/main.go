// Command bench is what `make bench-clients` measures from outside: sessions in one process, each by a
// client or, to compare, by a bare stream of gRPC.
//
//	bench ADDRESS client|bare SESSIONS
//
// For each line on standard input, a number, every session takes so many turns, one at a time; then it
// says "done".
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	sidecar "github.com/agent-sidecar/agent-sidecar/proto/examples/go"
	pb "github.com/agent-sidecar/agent-sidecar/proto/examples/go/sidecarv1"
)

// patience is how long a decision is waited for: what is measured is cost, not time.
const patience = 20 * time.Second

// taker takes a turn and waits for what is decided.
type taker func() error

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: bench ADDRESS client|bare SESSIONS")
	}
	sessions, err := strconv.Atoi(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	made := make([]taker, sessions)
	for i := range made {
		if made[i], err = begin(os.Args[1], os.Args[2]); err != nil {
			log.Fatal(err)
		}
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		turns, err := strconv.Atoi(lines.Text())
		if err != nil {
			log.Fatal(err)
		}
		if err := taken(made, turns); err != nil {
			log.Fatal(err)
		}
		fmt.Println("done")
	}
}

func begin(address, kind string) (taker, error) {
	if kind == "bare" {
		return bare(address)
	}
	client := sidecar.New(sidecar.Options{Address: address, Timeout: patience})
	return func() error {
		if directive := client.Turn(context.Background(), turn()); directive.FailOpenReason != "" {
			return fmt.Errorf("no decision: %s", directive.FailOpenReason)
		}
		return nil
	}, nil
}

func bare(address string) (taker, error) {
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	stream, err := pb.NewConvergenceServiceClient(connection).Observe(context.Background())
	if err != nil {
		return nil, err
	}
	exchange := func(request *pb.ObserveRequest) error {
		if err := stream.Send(request); err != nil {
			return err
		}
		_, err := stream.Recv()
		return err
	}
	sequence := uint32(0)
	opening := &pb.ObserveRequest{Message: &pb.ObserveRequest_Open{Open: &pb.Open{}}}
	return func() error {
		sequence++
		next := turn()
		next.Sequence = sequence
		return exchange(&pb.ObserveRequest{Message: &pb.ObserveRequest_Turn{Turn: next}})
	}, exchange(opening)
}

func taken(sessions []taker, turns int) error {
	for range turns {
		for _, take := range sessions {
			if err := take(); err != nil {
				return err
			}
		}
	}
	return nil
}

// turn is one of about 2 kB, as a coding agent makes it.
func turn() *pb.Turn {
	return &pb.Turn{Said: &pb.Turn_Text{Text: "The tests fail. I will run them again."}, ToolCalls: []*pb.ToolCall{{
		Name:      "bash",
		Arguments: &pb.ToolCall_ArgumentsJson{ArgumentsJson: `{"command": "pytest"}`},
		Result:    &pb.ToolCall_ResultText{ResultText: strings.Repeat("tests/test_part.py::test_case PASSED [50 %] in 0.01 s\n", 36)},
	}}}
}
