package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	loopback = "127.0.0.1"
	// pollEvery is the polling interval for local processes: short, since most
	// waits end within a second.
	pollEvery = 50 * time.Millisecond

	// firstPort to firstPort + blocks*blockPorts are below the ports that Linux
	// uses for outgoing connections, so that none of those occupies a part's port
	// while it restarts.
	firstPort, blockPorts, blocks = 20000, 200, 60
)

// block is the range of ports that belongs to this process until it ends.
var block struct {
	mu sync.Mutex
	// lock stays open as long as the process lives.
	lock *os.File
	// number counts from 0; next is the offset within the block to try next.
	number, next int
}

// takeBlock acquires a block of ports unless there is one. The caller holds
// block.mu.
func takeBlock() error {
	if block.lock != nil {
		return nil
	}
	// Shared by all processes of this user, unlike TMPDIR, which may differ.
	dir := filepath.Join("/tmp", fmt.Sprintf("evenkeel-ports-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of port locks: %w", err)
	}
	for number := range blocks {
		lock, err := os.OpenFile(filepath.Join(dir, strconv.Itoa(number)), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return fmt.Errorf("locking a block of ports: %w", err)
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
			_ = lock.Close() // another process has it
			continue
		}
		block.lock, block.number = lock, number
		return nil
	}
	return errors.New("locking a block of ports: all are in use")
}

// FreePort returns an unused loopback port that no other process with a cluster
// is given.
func FreePort() (int, error) {
	block.mu.Lock()
	defer block.mu.Unlock()
	if err := takeBlock(); err != nil {
		return 0, err
	}
	for range blockPorts {
		port := firstPort + block.number*blockPorts + block.next
		block.next = (block.next + 1) % blockPorts
		listener, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
		if err != nil {
			continue
		}
		return port, listener.Close()
	}
	return 0, errors.New("finding a free port: all of this process's are in use")
}

// firstNodeAddress returns the first of the loopback addresses that this
// process may give to nodes; see NodeTemplate.
func firstNodeAddress() (string, error) {
	block.mu.Lock()
	defer block.mu.Unlock()
	if err := takeBlock(); err != nil {
		return "", err
	}
	return fmt.Sprintf("127.%d.0.1", 1+block.number), nil
}

// freePorts returns n different unused ports.
func freePorts(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		var err error
		if ports[i], err = FreePort(); err != nil {
			return nil, err
		}
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
