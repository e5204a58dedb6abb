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
	// pollEvery is how often local processes are polled. It is short, because most waits end
	// within a second.
	pollEvery = 50 * time.Millisecond

	// The ports from firstPort to firstPort + blocks*blockPorts are below those that Linux
	// uses for outgoing connections, so that no connection occupies a part's port while the
	// part restarts.
	firstPort, blockPorts, blocks = 20000, 200, 60
)

// block is the range of ports reserved for this process until it ends.
var block struct {
	mu sync.Mutex
	// lock stays open as long as the process runs.
	lock *os.File
	// number is the block's number, counted from 0. next is the offset in the block to try
	// next.
	number, next int
}

// takeBlock reserves a block of ports unless this process already has one. The caller
// must hold block.mu.
func takeBlock() error {
	if block.lock != nil {
		return nil
	}
	// The folder is shared by all processes of this user. TMPDIR may differ between them.
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

// FreePort returns an unused loopback port that no other process with a cluster uses.
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

// firstNodeAddress returns the first of the loopback addresses that this process may
// assign to nodes; see NodeTemplate.
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

// waitPortFree waits until the port is free again.
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
