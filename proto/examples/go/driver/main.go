// Command driver lets `sidecar conformance --client` drive the client: requests as JSON lines on
// standard input, replies on standard output, as proto/conformance/README.md has them.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	sidecar "github.com/agent-sidecar/agent-sidecar/proto/examples/go"
	"github.com/agent-sidecar/agent-sidecar/proto/examples/go/sidecarv1"
)

const (
	lineBytesMax = 512 << 20
	// What gRPC's own goroutines may take to end after their connection was closed.
	settleMax = 2 * time.Second
)

type request struct {
	Do      string          `json:"do"`
	Options options         `json:"options"`
	Turn    json.RawMessage `json:"turn"`
	Close   json.RawMessage `json:"close"`
}

type options struct {
	Address           string            `json:"address"`
	SessionID         string            `json:"session_id"`
	AgentName         string            `json:"agent_name"`
	AgentVersion      string            `json:"agent_version"`
	Model             string            `json:"model"`
	Policy            string            `json:"policy"`
	Mode              string            `json:"mode"`
	Limits            json.RawMessage   `json:"limits"`
	Labels            map[string]string `json:"labels"`
	PreviousSessionID string            `json:"previous_session_id"`
	TimeoutMS         *float64          `json:"timeout_ms"`
	Token             string            `json:"token"`
	RootCertificates  string            `json:"root_certificates"`
	Certificate       string            `json:"certificate"`
	PrivateKey        string            `json:"private_key"`
}

type reply map[string]any

// driver has the client under test, and what was running before it was made.
type driver struct {
	client     *sidecar.Client
	goroutines int
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, lineBytesMax)
	replies := json.NewEncoder(os.Stdout)
	var d driver
	for lines.Scan() {
		answer, err := d.answer(lines.Bytes())
		if err != nil {
			answer = reply{"error": err.Error()}
		}
		if err := replies.Encode(answer); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (d *driver) answer(line []byte) (reply, error) {
	var asked request
	if err := json.Unmarshal(line, &asked); err != nil {
		return nil, err
	}
	if asked.Do == "start" {
		return d.start(asked.Options)
	}
	if d.client == nil {
		return nil, errors.New("no client: start goes first")
	}
	switch asked.Do {
	case "turn":
		turn := &sidecarv1.Turn{}
		if err := read(asked.Turn, turn); err != nil {
			return nil, err
		}
		return directed(func() sidecar.Directive { return d.client.Turn(context.Background(), turn) })
	case "wait_for_operator":
		return directed(func() sidecar.Directive { return d.client.WaitForOperator(context.Background()) })
	case "give_ups":
		return reply{"give_ups": d.client.GiveUps()}, nil
	case "close":
		goodbye := &sidecarv1.Close{}
		if err := read(asked.Close, goodbye); err != nil {
			return nil, err
		}
		began := time.Now()
		heard := d.client.Close(context.Background(), goodbye)
		return reply{"heard": heard, "elapsed_ms": milliseconds(time.Since(began))}, nil
	case "stop":
		return d.stop(), nil
	}
	return nil, fmt.Errorf("cannot do %q", asked.Do)
}

func (d *driver) start(given options) (reply, error) {
	if d.client != nil {
		return nil, errors.New("a client is there: stop goes first")
	}
	opening, err := opening(given)
	if err != nil {
		return nil, err
	}
	d.goroutines = runtime.NumGoroutine()
	made := sidecar.Options{
		Address: given.Address,
		Open:    opening,
		Token:   given.Token,
		Logger:  slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	if given.RootCertificates != "" {
		made.Credentials = credentials.NewTLS(certificates(given))
	}
	if given.TimeoutMS != nil {
		made.Timeout = time.Duration(*given.TimeoutMS * float64(time.Millisecond))
		if made.Timeout == 0 {
			made.Timeout = -1 // the client's zero is its default
		}
	}
	d.client = sidecar.New(made)
	return reply{"ok": true}, nil
}

func opening(given options) (*sidecarv1.Open, error) {
	open := &sidecarv1.Open{
		SessionId:         given.SessionID,
		AgentName:         given.AgentName,
		AgentVersion:      given.AgentVersion,
		Model:             given.Model,
		Policy:            given.Policy,
		Labels:            given.Labels,
		PreviousSessionId: given.PreviousSessionID,
	}
	switch given.Mode {
	case "", "enforce":
		open.Mode = sidecarv1.Mode_MODE_ENFORCE
	case "observe":
		open.Mode = sidecarv1.Mode_MODE_OBSERVE
	default:
		return nil, fmt.Errorf("no mode %q", given.Mode)
	}
	if given.Limits == nil {
		return open, nil
	}
	open.Limits = &sidecarv1.Limits{}
	return open, read(given.Limits, open.Limits)
}

// certificates are read when a connection is made; one that cannot be is a connection that fails.
func certificates(given options) *tls.Config {
	roots := x509.NewCertPool()
	if pem, err := os.ReadFile(given.RootCertificates); err == nil {
		roots.AppendCertsFromPEM(pem)
	}
	config := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	if given.Certificate != "" {
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			pair, err := tls.LoadX509KeyPair(given.Certificate, given.PrivateKey)
			return &pair, err
		}
	}
	return config
}

func (d *driver) stop() reply {
	d.client.Close(context.Background(), nil)
	d.client = nil
	left := runtime.NumGoroutine() - d.goroutines
	for end := time.Now().Add(settleMax); left > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
		left = runtime.NumGoroutine() - d.goroutines
	}
	return reply{"ok": true, "left": max(left, 0)}
}

func read(given json.RawMessage, into proto.Message) error {
	if given == nil {
		return nil
	}
	return protojson.Unmarshal(given, into)
}

func directed(report func() sidecar.Directive) (reply, error) {
	began := time.Now()
	directive := report()
	elapsed := time.Since(began)
	said := reply{
		"kind":             directive.Kind.String(),
		"instruction":      directive.Instruction,
		"late":             directive.Late,
		"fail_open_reason": directive.FailOpenReason,
		"wait_max_ms":      milliseconds(directive.WaitMax),
	}
	if directive.Decision != nil {
		decision, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(directive.Decision)
		if err != nil {
			return nil, err
		}
		said["decision"] = json.RawMessage(decision)
	}
	return reply{"directive": said, "elapsed_ms": milliseconds(elapsed)}, nil
}

func milliseconds(length time.Duration) float64 { return float64(length) / float64(time.Millisecond) }
