package sidecar

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

const (
	// Pauses between attempts, half of them random; the latter to a sidecar that refuses.
	soonFirst, soonMax, laterFirst, laterMax = 50 * time.Millisecond, time.Second, time.Second, 30 * time.Second
	retryDelayMax, doublingsMax              = time.Hour, 16
	// A stream that was open for so long was no failed attempt, decisions or not.
	healthyMin = 5 * time.Second
	domain     = "sidecar" // of the sidecar's own ErrorInfo
)

// What the end of a stream asks for.
const (
	again  = iota // soon
	later         // more slowly: what answered is alive, and said no
	replay        // a new session that is told all turns kept
	follow        // a new session after this one, that is told the turns not yet answered
	halt          // nothing: asking again cannot help
)

// meanings by ErrorInfo.reason, or else by status code. What is not here is a break: again.
var meanings = []struct {
	course        int
	reason, names string
}{
	{again, "draining", "DRAINING"},
	{again, "timeout", "SILENCE"},
	{again, "rejected", "SEQUENCE_GAP"},
	{replay, "rejected", "SEQUENCE_CONFLICT SESSION_NOT_FOUND"},
	{follow, "rejected", "SESSION_CLOSED"},
	{halt, "rejected", "SESSION_TAKEN_OVER SESSION_STREAMING OPEN_REQUIRED ALREADY_OPEN OPEN_MISMATCH POLICY_UNKNOWN"},
	{halt, "rejected", "InvalidArgument"},
	{later, "rejected", "NotFound AlreadyExists PermissionDenied ResourceExhausted FailedPrecondition"},
	{later, "rejected", "OutOfRange Unimplemented Unauthenticated"},
	{later, "internal", "NONSENSE"},
}

// own is an ending that the client makes itself, under a name as the sidecar's have.
func own(name string) error {
	made, _ := status.New(codes.Unavailable, name).WithDetails(&errdetails.ErrorInfo{Domain: domain, Reason: name})
	return made.Err()
}

// ended makes of a stream's end what is to come after it.
func (c *Client) ended(s *stream, end *status.Status) {
	course, reason, info, delay := c.meaning(s, end)
	c.reopening = s.hole > 0 && end.Code() == codes.OK // the client itself has asked for it
	if c.reopening || s.decided || c.stage != opening && c.now()-s.since >= healthyMin {
		c.attempts = 0
	}
	// gRPC itself, in the sidecar or in a proxy, has a limit of its own and no reason but these words.
	isGRPCs := end.Code() == codes.ResourceExhausted && strings.Contains(end.Message(), "larger than max")
	if isGRPCs || info.GetReason() == "MESSAGE_BYTES_MAX" {
		bytesMax, _ := strconv.Atoi(info.GetMetadata()["message_bytes_max"])
		if bytesMax -= envelopeBytes; bytesMax <= 0 || bytesMax >= c.turnBytesMax {
			bytesMax = c.turnBytesMax / 4 // the same turn again would end each stream
		}
		c.turnBytesMax = max(turnBytesMin, bytesMax)
	}
	expected, _ := strconv.ParseUint(info.GetMetadata()["expected"], 10, 32)
	c.stream, c.stage, c.hole, c.expected, c.downSince = nil, paused, s.hole, uint32(expected), min(c.downSince, c.now())
	c.renewing = course == replay || course == follow
	if c.renewing && c.goodbyeOn != nil || c.goodbyeOn == s && end.Code() == codes.OK {
		c.heard, c.stage = true, stopped
		return
	}
	if !c.reopening {
		c.goOn(reason, end.Message(), course == halt)
	}
	first, most := soonFirst, soonMax
	switch course {
	case later:
		first, most = laterFirst, laterMax
	case replay, follow:
		c.renew(course == follow)
	}
	pause := min(first<<min(c.attempts, doublingsMax), most)
	c.connectAt = c.now() + max(pause/2+rand.N(pause/2), delay)
	c.attempts++
}

// goOn begins an outage, or goes on with it. That it is refused there is news to who reads the log, and
// that it is for good.
func (c *Client) goOn(reason, why string, forGood bool) {
	if c.outage == "" || forGood || reason == "rejected" && c.outage != reason {
		with := []any{"address", c.target, "reason", reason, "why", why, "for_good", forGood}
		c.say(func() { c.options.Logger.Warn("the agent goes on without the sidecar", with...) })
	}
	c.outage = reason
	if forGood {
		c.stage = stopped
	}
}

// renew gives the session another name, and its turns other numbers.
func (c *Client) renew(following bool) {
	c.open.PreviousSessionId = ""
	if following {
		c.open.PreviousSessionId, c.lost, c.personUntil = c.open.SessionId, 0, 0 // nobody is left to be waited for
		for len(c.turns) > 0 && c.turns[0].answered {
			c.drop()
		}
	}
	c.renumber()
	c.renamed++
	suffix := fmt.Sprintf(".%.8s.%d", c.open.ClientInstance, c.renamed)
	c.open.SessionId = fit(c.sessionID, idBytesMax-len(suffix)) + suffix
}

// meaning reads an ending; info and delay are what the sidecar has added to it, nil and 0 without.
func (c *Client) meaning(s *stream, end *status.Status) (course int, reason string, info *errdetails.ErrorInfo, delay time.Duration) {
	for _, detail := range end.Details() {
		switch detail := detail.(type) {
		case *errdetails.ErrorInfo:
			if detail.Domain == domain {
				info = detail
			}
		case *errdetails.RetryInfo:
			delay = min(detail.RetryDelay.AsDuration(), retryDelayMax)
		}
	}
	for _, key := range []string{info.GetReason(), end.Code().String()} {
		for _, one := range meanings {
			if slices.Contains(strings.Fields(one.names), key) {
				return one.course, one.reason, info, delay
			}
		}
	}
	switch {
	case s.draining:
		reason = "draining"
	case c.stage == opening && end.Code() == codes.Unavailable:
		reason = "connect"
	default:
		reason = "stream"
	}
	return again, reason, info, delay
}
