package sidecar

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "github.com/agent-sidecar/agent-sidecar/proto/examples/go/sidecarv1"
)

const (
	// The protocol: an agent keeps its last 256 turns, answered ones too. The usual ones are below
	// 13 MiB together; huge ones must not become the agent's memory.
	turnsMax, turnsBytesMax = 256, 32 << 20
	// What a turn may have: calls, and failures; bytes of a text; bytes of a name.
	callsMax, textBytesMax, idBytesMax, digestBytesMax = 256, 64 << 10, 128, 1 << 20
	// No sidecar keeps more labels, or more of one; half of what gRPC lets through holds them all.
	labelsMax, labelBytesMax = 1024, 1024
	// What an ObserveRequest adds to its turn, its two numbers and more: the limit holds for the whole message.
	envelopeBytes = 24
	// Before the sidecar has stated its limit gRPC's holds; a lower one than the least is not heeded,
	// since it would not let a turn's measurements through.
	turnBytesDefault, turnBytesMin = 4<<20 - envelopeBytes, 1024
)

// turn is one that is kept, and what has become of it. It is numbered when it is first sent: where the
// session's count stands is known only then.
type turn struct {
	wire           []byte // a pb.Turn without its two numbers, which takes half the memory of one
	sequence, seen uint32
	deadline, sent moment
	stream         *stream // that it was last sent on
	final          bool    // the run has its answer with it
	answered, left bool    // left: nobody waits for its answer any more
	decision       *pb.Decision
}

// report takes in a turn as the wire has it, and keeps it to be sent.
func (c *Client) report(given *pb.Turn, deadline moment) *turn {
	m, end := &pb.Turn{}, timestamppb.Now()
	proto.Merge(m, given)
	m.StartTime, m.EndTime, c.began = cmp.Or(m.StartTime, c.began), cmp.Or(m.EndTime, end), end
	fault := ""
	if max(len(m.ToolCalls), len(m.Failures)) > callsMax {
		m.ToolCalls, m.Failures = m.ToolCalls[:min(len(m.ToolCalls), callsMax)], m.Failures[:min(len(m.Failures), callsMax)]
		fault = "internal"
	}
	c.count(cmp.Or(cutTexts(m, textBytesMax), fault))
	t := &turn{deadline: deadline, seen: c.seen, final: m.FinalAnswer != ""}
	if c.over() {
		return t
	}
	m.Sequence, m.DirectiveSeen = 0, nil
	t.wire = shrunk(onWire(m), turnBytesDefault)
	c.turns, c.turnsBytes = append(c.turns, t), c.turnsBytes+len(t.wire)
	for len(c.turns) > turnsMax || c.turnsBytes > turnsBytesMax && len(c.turns) > 1 {
		if c.turns[0].sequence == 0 {
			c.lastSequence++ // it keeps its place, so that the sidecar can tell that it is lost
		}
		c.lost++
		c.drop()
	}
	c.notify()
	return t
}

func (c *Client) drop() {
	c.turnsBytes -= len(c.turns[0].wire)
	c.turns = slices.Delete(c.turns, 0, 1)
}

// firstSequence is the earliest that can still be sent.
func (c *Client) firstSequence() uint32 {
	if len(c.turns) > 0 && c.turns[0].sequence > 0 {
		return c.turns[0].sequence
	}
	return c.lastSequence + 1
}

// renumber counts the turns kept anew, for a new session, and with them all that refers to them.
func (c *Client) renumber() {
	fall := c.firstSequence() - uint32(c.lost+1)
	lower := func(sequence uint32) uint32 { return sequence - min(sequence, fall) }
	c.lastSequence, c.seen = uint32(c.lost), lower(c.seen)
	for _, t := range c.turns {
		t.sequence, t.seen = 0, lower(t.seen)
	}
	for _, d := range c.held {
		if d != nil {
			d.Sequence = 0 // it stays of use, but answers no turn of the new session
		}
	}
}

// numbered is the turn as it goes out. To the encoder what is kept of it is unknown fields, which it copies.
func (t *turn) numbered() *pb.Turn {
	m := &pb.Turn{Sequence: t.sequence, DirectiveSeen: proto.Uint32(t.seen)}
	m.ProtoReflect().SetUnknown(t.wire)
	return m
}

// shrunk cuts a turn down to so many bytes; its measurements stay to the last.
func shrunk(wire []byte, bytesMax int) []byte {
	if len(wire) <= bytesMax {
		return wire
	}
	m := &pb.Turn{}
	_ = proto.Unmarshal(wire, m)
	for size := textBytesMax / 4; proto.Size(m) > bytesMax && size > 0; size /= 2 {
		cutTexts(m, size)
		if size < 256 {
			m.ToolCalls, m.Failures = m.ToolCalls[:len(m.ToolCalls)/2], m.Failures[:len(m.Failures)/2]
		}
	}
	return onWire(m)
}

// onWire cannot fail: the texts are UTF-8 by now.
func onWire(m proto.Message) []byte {
	wire, _ := proto.Marshal(m)
	return wire
}

// cutTexts cuts each text of a turn; arguments become a digest, since cut JSON would not be JSON.
func cutTexts(t *pb.Turn, bytesMax int) string {
	for _, call := range t.ToolCalls {
		if arguments := call.GetArgumentsJson(); len(arguments) > bytesMax {
			call.Arguments = &pb.ToolCall_ArgumentsDigest{ArgumentsDigest: digest(arguments)}
		}
	}
	return tidy(t.ProtoReflect(), bytesMax)
}

// tidy makes a message fit for the wire; "internal" where that left out more than a text's middle.
func tidy(m protoreflect.Message, bytesMax int) (fault string) {
	if len(m.GetUnknown()) > 0 { // of any length, and of any bytes
		m.SetUnknown(nil)
		fault = "internal"
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap(): // labels have their own
		case field.IsList():
			for i := range value.List().Len() {
				fault = cmp.Or(tidy(value.List().Get(i).Message(), bytesMax), fault)
			}
		case field.Message() != nil:
			fault = cmp.Or(tidy(value.Message(), bytesMax), fault)
		case field.Kind() == protoreflect.StringKind:
			given, text := value.String(), cut(value.String(), bytesMax) // first: a text may be of any length
			sound := strings.ToValidUTF8(text, "\uFFFD")
			if sound != text || len(given) > bytesMax && len(text) < bytesMax-2*utf8.UTFMax { // cut left more out
				fault = "internal"
			}
			m.Set(field, protoreflect.ValueOfString(cut(sound, bytesMax)))
		case field.Kind() == protoreflect.DoubleKind && math.Abs(value.Float()) <= math.MaxFloat64:
		case field.Kind() == protoreflect.DoubleKind, field.Kind() == protoreflect.Int64Kind && value.Int() < 0:
			m.Clear(field)
			fault = "internal"
		}
		return true
	})
	return fault
}

// tidyLabels does that for labels: the first stay, in the order of their keys, as in the sidecar.
func tidyLabels(o *pb.Open) (fault string) {
	for at, key := range slices.Sorted(maps.Keys(o.Labels)) {
		text := o.Labels[key]
		delete(o.Labels, key)
		if at < labelsMax && utf8.ValidString(key+text) {
			o.Labels[fit(key, labelBytesMax)] = cut(text, labelBytesMax)
		} else {
			fault = "internal"
		}
	}
	return fault
}

// cut leaves out the middle of a text that is too long: errors tend to stand at one of its ends.
func cut(text string, bytesMax int) string {
	if len(text) <= bytesMax {
		return text
	}
	mark := fmt.Sprintf("\n[... of %d bytes the middle is left out ...]\n", len(text))
	if 2*len(mark) > bytesMax {
		mark = ""
	}
	tail := (bytesMax - len(mark)) / 4
	head := bytesMax - len(mark) - tail
	return strings.ToValidUTF8(text[:head], "") + mark + strings.ToValidUTF8(text[len(text)-tail:], "")
}

// fit cuts a name; long ones that differ stay different.
func fit(name string, bytesMax int) string {
	if len(name) <= bytesMax {
		return name
	}
	return strings.ToValidUTF8(name[:bytesMax-17], "") + "~" + digest(name)
}

// digest stands in for a text; a very long one is told from others by its ends and its length.
func digest(text string) string {
	if size := len(text); size > digestBytesMax {
		text = fmt.Sprint(text[:digestBytesMax/2], size, text[size-digestBytesMax/2:])
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16]
}
