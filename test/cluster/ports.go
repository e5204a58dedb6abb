package cluster

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	loopback = "127.0.0.1"
	// pollEvery is the pace of waiting for a local process: short, since most waits end within a second.
	pollEvery = 50 * time.Millisecond
)

// freePorts picks n different ports that nobody listens on. All are held until the last is found; between then and the
// part's own listening somebody else could take one, in which case Start fails with the part's log.
func freePorts(n int) ([]int, error) {
	ports := make([]int, 0, n)
	for range n {
		listener, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
		if err != nil {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		defer func() { _ = listener.Close() }()
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// waitPortFree waits until the port can be listened on again.
func waitPortFree(ctx context.Context, port int) error {
	address := net.JoinHostPort(loopback, strconv.Itoa(port))
	err := wait.PollUntilContextCancel(ctx, pollEvery, true, func(context.Context) (bool, error) {
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return false, nil
		}
		return true, listener.Close()
	})
	if err != nil {
		return fmt.Errorf("waiting for port %d to be free: %w", port, err)
	}
	return nil
}
