// Command example is an agent with a tool that leads nowhere: it runs the same failing tests again and
// again, and is told so by the sidecar.
//
//	sidecar serve &
//	go run ./example
package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	sidecar "github.com/agent-sidecar/agent-sidecar/proto/examples/go"
	"github.com/agent-sidecar/agent-sidecar/proto/examples/go/sidecarv1"
	"google.golang.org/protobuf/proto"
)

// approaches are what the agent tries, one after the other as it is told to.
var approaches = []struct{ name, tool, arguments, result string }{
	{"run the tests", "bash", `{"command": "pytest -q"}`, "FAILED test_cart.py::test_total - assert 19.9 == 20\n1 failed"},
	{"read the code", "read", `{"path": "cart.py"}`, "def total(self):\n    return sum(self.prices)"},
	{"search the log", "bash", `{"command": "grep ERROR app.log"}`, "grep: app.log: No such file or directory"},
}

func main() {
	address := flag.String("address", "", "unix:PATH or HOST:PORT; empty: where a sidecar of this user listens")
	turnsMax := flag.Int("turns", 60, "turns after which the agent ends by itself")
	timeout := flag.Duration("timeout", 0, "longest wait for a decision; 0: what the client waits by default")
	flag.Parse()

	ctx := context.Background()
	run := sidecar.New(sidecar.Options{
		Address: *address,
		Timeout: *timeout,
		Open:    &sidecarv1.Open{AgentName: "looping-example", Model: "none"},
	})
	outcome := agent(ctx, run, *turnsMax)
	heard := run.Close(ctx, &sidecarv1.Close{Outcome: outcome})
	fmt.Printf("closed, heard: %v, give-ups: %v\n", heard, run.GiveUps())
}

func agent(ctx context.Context, run *sidecar.Client, turnsMax int) sidecarv1.RunOutcome {
	trying := 0
	for number := 1; number <= turnsMax; number++ {
		approach := approaches[trying%len(approaches)]
		began := time.Now()
		directive := run.Turn(ctx, &sidecarv1.Turn{
			Approach: approach.name,
			ToolCalls: []*sidecarv1.ToolCall{{
				Name:      approach.tool,
				Arguments: &sidecarv1.ToolCall_ArgumentsJson{ArgumentsJson: approach.arguments},
				Result:    &sidecarv1.ToolCall_ResultText{ResultText: approach.result},
			}},
			Usage: &sidecarv1.Usage{InputTokens: proto.Int64(int64(2000 + 100*number))},
		})
		fmt.Printf("turn %2d  %-14s  %-7s  %4.1f ms  %s\n", number, approach.name, directive.Kind,
			float64(time.Since(began))/float64(time.Millisecond), directive.Instruction)
		switch directive.Kind {
		case sidecar.Rotate:
			trying++
		case sidecar.Commit:
			return sidecarv1.RunOutcome_RUN_OUTCOME_SUCCEEDED
		case sidecar.Halt:
			return sidecarv1.RunOutcome_RUN_OUTCOME_FAILED
		}
	}
	return sidecarv1.RunOutcome_RUN_OUTCOME_CANCELLED
}
