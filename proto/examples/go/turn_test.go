package sidecar

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	pb "github.com/agent-sidecar/agent-sidecar/proto/examples/go/sidecarv1"
)

func TestWhatCannotBeSentIsLeftOut(t *testing.T) {
	for what, row := range map[string]struct{ given, sent *pb.Turn }{
		"not a number": {
			&pb.Turn{Confidence: proto.Float64(math.NaN()), OutputLines: proto.Int64(3)},
			&pb.Turn{OutputLines: proto.Int64(3)},
		},
		"infinite": {&pb.Turn{Reward: proto.Float64(math.Inf(-1))}, &pb.Turn{}},
		"a negative count": {
			&pb.Turn{Usage: &pb.Usage{InputTokens: proto.Int64(-1), OutputTokens: proto.Int64(0)}},
			&pb.Turn{Usage: &pb.Usage{OutputTokens: proto.Int64(0)}},
		},
		"no UTF-8": {
			&pb.Turn{ToolCalls: []*pb.ToolCall{{Name: "a\xffb"}}},
			&pb.Turn{ToolCalls: []*pb.ToolCall{{Name: "a\uFFFDb"}}},
		},
	} {
		if fault := cutTexts(row.given, textBytesMax); fault != "internal" || !proto.Equal(row.given, row.sent) {
			t.Errorf("%s: %q, sent as %v", what, fault, row.given)
		}
	}
	fine := &pb.Turn{Reward: proto.Float64(-3), Confidence: proto.Float64(0), FinalAnswer: "ü"}
	if fault := cutTexts(fine, textBytesMax); fault != "" || fine.GetReward() != -3 {
		t.Errorf("%q, sent as %v", fault, fine)
	}
}

func TestALabelThatIsNoTextIsLeftOut(t *testing.T) {
	open := &pb.Open{Labels: map[string]string{"a": "\xff", "\xff": "b", "c": "d"}}
	fault := tidyLabels(open)
	if _, err := proto.Marshal(open); err != nil || fault != "internal" || len(open.Labels) != 1 {
		t.Fatalf("%v, %q: %v", err, fault, open)
	}
}

func TestLabelsFitIntoAMessage(t *testing.T) {
	given := map[string]string{"0": strings.Repeat("v", 5<<20), strings.Repeat("0", 5<<20): "long"}
	for number := range labelsMax + 5 {
		given[fmt.Sprintf("%04d%s", number, strings.Repeat("k", 2000))] = strings.Repeat("v", 2000)
	}
	c := client(t, Options{Address: "unix:/nowhere", Open: &pb.Open{AgentName: "fixer", Labels: given}})
	if size := proto.Size(c.open); size > turnBytesDefault || len(c.open.Labels) != labelsMax || c.open.AgentName != "fixer" {
		t.Fatalf("%d labels, %d bytes", len(c.open.Labels), size)
	}
	if short := c.open.Labels["0"]; len(short) != labelBytesMax || c.GiveUps()["internal"] != 1 || len(given["0"]) != 5<<20 {
		t.Fatalf("of %d bytes %d are left, give-ups %v", len(given["0"]), len(short), c.GiveUps())
	}
}

func TestACutTextKeepsItsEndsAndItsCharacters(t *testing.T) {
	text := "begin" + strings.Repeat("ü", textBytesMax) + "end"
	short := cut(text, textBytesMax)
	if len(short) > textBytesMax || len(short) < textBytesMax-8 || !utf8.ValidString(short) ||
		!strings.HasPrefix(short, "beginü") || !strings.HasSuffix(short, "üend") {
		t.Fatalf("%d bytes", len(short))
	}
	if cut("short", 5) != "short" || len(cut("longer", 5)) != 5 {
		t.Fatal("small texts are cut wrongly")
	}
}

func TestATurnIsCutUntilItFits(t *testing.T) {
	given := &pb.Turn{
		Said:        &pb.Turn_Text{Text: strings.Repeat("t", 60_000)},
		FinalAnswer: strings.Repeat("f", 60_000),
		OutputLines: proto.Int64(7),
	}
	for range callsMax {
		given.ToolCalls = append(given.ToolCalls, &pb.ToolCall{
			Name:      "tool",
			Arguments: &pb.ToolCall_ArgumentsJson{ArgumentsJson: `{"a": "` + strings.Repeat("a", 9_000) + `"}`},
			Result:    &pb.ToolCall_ResultText{ResultText: strings.Repeat("r", 9_000)},
		})
	}
	for _, bytesMax := range []int{1 << 20, 100_000, turnBytesMin} {
		kept := &turn{wire: shrunk(onWire(given), bytesMax)}
		if size := len(kept.wire); size > bytesMax || sent(t, kept).GetOutputLines() != 7 {
			t.Errorf("%d bytes of %d: %v", size, bytesMax, sent(t, kept))
		}
	}
}

func TestLongNamesThatDifferStayDifferent(t *testing.T) {
	long := strings.Repeat("n", 200)
	one, other := fit(long+"1", idBytesMax), fit(long+"2", idBytesMax)
	if one == other || len(one) != idBytesMax || fit("short", idBytesMax) != "short" {
		t.Fatalf("%q, %q", one, other)
	}
}

func TestALateTurnFallsOutOfTheRingAndKeepsItsPlace(t *testing.T) {
	c := &Client{open: &pb.Open{}, changed: make(chan struct{}), giveUps: map[string]uint64{}}
	for range turnsMax + 3 {
		c.report(&pb.Turn{}, 0)
	}
	if len(c.turns) != turnsMax || c.lost != 3 || c.firstSequence() != 4 {
		t.Fatalf("%d kept, %d lost, first %d", len(c.turns), c.lost, c.firstSequence())
	}
	c.report(&pb.Turn{FinalAnswer: "x"}, 0)
	huge := strings.Repeat("h", textBytesMax)
	for range 20 {
		calls := make([]*pb.ToolCall, callsMax)
		for index := range calls {
			calls[index] = &pb.ToolCall{Result: &pb.ToolCall_ResultText{ResultText: huge}}
		}
		c.report(&pb.Turn{ToolCalls: calls}, 0)
	}
	if c.turnsBytes > turnsBytesMax || len(c.turns) < 8 || len(c.turns[0].wire) > turnBytesDefault {
		t.Fatalf("%d turns of %d bytes", len(c.turns), c.turnsBytes)
	}
}

func TestOneTurnIsKeptNoLargerThanItIsSent(t *testing.T) {
	c := &Client{open: &pb.Open{}, changed: make(chan struct{}), giveUps: map[string]uint64{}}
	text := strings.Repeat("t", textBytesMax)
	call := &pb.ToolCall{Id: text, Name: text, Result: &pb.ToolCall_ResultText{ResultText: text}}
	if kept := c.report(&pb.Turn{ToolCalls: slices.Repeat([]*pb.ToolCall{call}, callsMax)}, 0); len(kept.wire) > turnBytesDefault {
		t.Fatalf("%d bytes", len(kept.wire))
	}
}

// What a turn takes is bound by what is sent of it: read whole, this would take a minute, and hold the client up.
func TestALongTextThatIsInManyCallsIsNotReadWhole(t *testing.T) {
	c := &Client{open: &pb.Open{}, changed: make(chan struct{}), giveUps: map[string]uint64{}}
	text := strings.Repeat("t", 200<<20)
	call := &pb.ToolCall{Arguments: &pb.ToolCall_ArgumentsJson{ArgumentsJson: text}, Result: &pb.ToolCall_ResultText{ResultText: text}}
	began := time.Now()
	c.report(&pb.Turn{ToolCalls: slices.Repeat([]*pb.ToolCall{call}, 1000)}, 0)
	if took := time.Since(began); took > patience/2 {
		t.Fatalf("took %s", took)
	}
	if digest(text) == digest(text+"t") || digest(text) == digest(text[:len(text)-1]+"u") {
		t.Fatal("texts that differ have one digest")
	}
}

func TestWhatTheClientDoesNotKnowIsLeftOut(t *testing.T) {
	c := &Client{open: &pb.Open{}, changed: make(chan struct{}), giveUps: map[string]uint64{}}
	given, call := &pb.Turn{Id: "one"}, &pb.ToolCall{Name: "ls"}
	given.ProtoReflect().SetUnknown([]byte{0xff, 0xff}) // which no sidecar can read, however often it is sent
	call.ProtoReflect().SetUnknown(make([]byte, 8<<20))
	given.ToolCalls = append(given.ToolCalls, call)
	m := sent(t, c.report(given, 0))
	if m.Id != "one" || m.ToolCalls[0].Name != "ls" || proto.Size(m) > 100 || c.giveUps["internal"] != 1 {
		t.Fatalf("%d bytes, give-ups %v", proto.Size(m), c.giveUps)
	}
}

func TestALongTextThatIsNoneIsCounted(t *testing.T) {
	m := &pb.Turn{Said: &pb.Turn_Text{Text: strings.Repeat("a\xff", textBytesMax)}}
	if fault := cutTexts(m, textBytesMax); fault != "internal" || !utf8.ValidString(m.GetText()) {
		t.Fatalf("%q", fault)
	}
}

func TestMoreCallsThanATurnMayHaveAreLeftOut(t *testing.T) {
	c := &Client{open: &pb.Open{}, changed: make(chan struct{}), giveUps: map[string]uint64{}}
	kept := c.report(&pb.Turn{ToolCalls: make([]*pb.ToolCall, callsMax+1)}, 0)
	if calls := sent(t, kept).ToolCalls; len(calls) != callsMax || c.giveUps["internal"] != 1 {
		t.Fatalf("%d calls, give-ups %v", len(calls), c.giveUps)
	}
}

func TestWhatIsSentHasTheTurnAndItsNumbersOnce(t *testing.T) {
	c := &Client{open: &pb.Open{}, changed: make(chan struct{}), giveUps: map[string]uint64{}, seen: 3}
	kept := c.report(&pb.Turn{Sequence: 77, DirectiveSeen: proto.Uint32(78), Id: "one"}, 0)
	kept.sequence = 5
	m := sent(t, kept)
	if m.Sequence != 5 || m.GetDirectiveSeen() != 3 || m.Id != "one" || len(m.ProtoReflect().GetUnknown()) > 0 {
		t.Fatalf("%v", m)
	}
	if size := proto.Size(m); size != len(onWire(kept.numbered())) {
		t.Fatalf("%d bytes are more than the %d of the turn", len(onWire(kept.numbered())), size)
	}
}

// sent is a turn as the sidecar reads it.
func sent(t *testing.T, kept *turn) *pb.Turn {
	m := &pb.Turn{}
	if err := proto.Unmarshal(onWire(kept.numbered()), m); err != nil {
		t.Fatal(err)
	}
	return m
}
