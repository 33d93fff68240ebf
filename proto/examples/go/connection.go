package sidecar

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
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
)

// locate finds the sidecar's address.
func (c *Client) locate() {
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
	if path, isSocket := strings.CutPrefix(address, "unix:"); isSocket {
		c.network, c.target, c.authority = "unix", strings.TrimPrefix(path, "//"), "localhost"
	}
}

func (c *Client) dial(ctx context.Context, _ string) (net.Conn, error) {
	if info, err := os.Lstat(c.private); err == nil && !isPrivate(info) {
		return nil, fmt.Errorf("%s is not this user's own, with mode 0700", c.private)
	}
	return (&net.Dialer{}).DialContext(ctx, c.network, c.target)
}

// converse has a stream from its beginning to its end.
func (c *Client) converse(s *stream) {
	err := c.exchange(s)
	s.cancel()
	c.mu.Lock()
	defer c.mu.Unlock()
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
	for {
		response, err := call.Recv()
		if err == nil {
			err = c.received(s, response)
		}
		if err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func (c *Client) send(s *stream, call grpc.BidiStreamingClient[pb.ObserveRequest, pb.ObserveResponse]) {
	c.mu.Lock()
	defer c.mu.Unlock()
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
