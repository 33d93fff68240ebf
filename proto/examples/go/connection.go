package sidecar

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	pb "github.com/agent-sidecar/agent-sidecar/proto/examples/go/sidecarv1"
)

const (
	// A decision is small; this only keeps a huge one from ending each stream.
	decisionBytesMax = 64 << 20
	// Servers cut clients that ping more often than every 5 minutes.
	keepaliveTime = 330 * time.Second
	// sun_path of Linux less its final zero.
	socketPathBytesMax = 107
)

// locate finds the sidecar's address. It fails for one that nothing can listen on, and for a token that
// cannot be sent there.
func (c *Client) locate() error {
	address := cmp.Or(c.options.Address, os.Getenv("SIDECAR_ADDRESS"))
	if address == "" {
		directory := filepath.Join(os.Getenv("XDG_RUNTIME_DIR"), "sidecar")
		if !filepath.IsAbs(directory) {
			directory = fmt.Sprintf("/tmp/sidecar-%d", os.Getuid())
			c.private = directory // anybody may have made it
		}
		address = "unix:" + filepath.Join(directory, "agent.sock")
	}
	c.network, c.target, c.authority = "tcp", address, address
	host, port, _ := net.SplitHostPort(address)
	number, err := strconv.ParseUint(port, 10, 16)
	usable := err == nil && number > 0 && host != ""
	if path, isSocket := strings.CutPrefix(address, "unix:"); isSocket || strings.HasPrefix(path, "/") {
		c.network, c.target, c.authority = "unix", strings.TrimPrefix(path, "//"), "localhost"
		usable = c.target != "" && len(c.target) <= socketPathBytesMax
	}
	if !usable {
		return fmt.Errorf("neither unix:PATH (at most %d bytes) nor HOST:PORT: %q", socketPathBytesMax, address)
	}
	c.options.Token = strings.TrimSpace(c.options.Token) // read from a file it ends with a newline
	if strings.ContainsFunc(c.options.Token, func(r rune) bool { return r < ' ' || r > '~' }) {
		return errors.New("the token has a character that cannot be sent")
	}
	return nil
}

func (c *Client) dial(ctx context.Context, _ string) (net.Conn, error) {
	if info, err := os.Lstat(c.private); err == nil && !isPrivate(info) {
		return nil, fmt.Errorf("%s is not this user's own, with mode 0700", c.private)
	}
	// So that the second address of a name has a second left: net gives the first two.
	return (&net.Dialer{Timeout: attemptMax}).DialContext(ctx, c.network, c.target)
}

// converse has a stream from its beginning to its end.
func (c *Client) converse(s *stream) {
	err := c.exchange(s)
	s.cancel()
	defer c.lock()()
	if c.stream == s {
		c.ended(s, status.Convert(cmp.Or(s.cut, err)))
		c.notify()
	}
}

func (c *Client) exchange(s *stream) error {
	connection, err := grpc.NewClient("passthrough:///sidecar", grpc.WithContextDialer(c.dial),
		grpc.WithTransportCredentials(cmp.Or(c.options.Credentials, insecure.NewCredentials())),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{Time: keepaliveTime}),
		grpc.WithAuthority(c.authority), grpc.WithIdleTimeout(0), grpc.WithDisableRetry(),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(decisionBytesMax)))
	if err != nil {
		return err
	}
	defer connection.Close()
	ctx := s.context
	if c.options.Token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+c.options.Token)
	}
	call, err := pb.NewConvergenceServiceClient(connection).Observe(ctx)
	if err != nil {
		return err
	}
	var sender sync.WaitGroup
	sender.Go(func() { c.send(s, call) })
	defer func() { s.cancel(); sender.Wait() }() // what is being sent may be renumbered after this
	for err == nil {
		var response *pb.ObserveResponse
		if response, err = call.Recv(); err == nil {
			err = c.received(s, response)
		}
	}
	if err == io.EOF {
		return nil
	}
	return err
}

func (c *Client) send(s *stream, call grpc.BidiStreamingClient[pb.ObserveRequest, pb.ObserveResponse]) {
	defer c.lock()()
	for {
		var request *pb.ObserveRequest
		var until moment
		c.wait(s.context, func() moment { request, until = c.nextRequest(s); return until })
		if s.context.Err() != nil || request == nil && until == 0 {
			_ = call.CloseSend()
			return
		}
		if request != nil {
			c.mu.Unlock()
			err := call.Send(request)
			c.mu.Lock()
			if err != nil {
				return // the reader sees why
			}
		}
	}
}
