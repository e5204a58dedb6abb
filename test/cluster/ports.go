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
	// pollEvery is the pace of waiting for a local process: short, since most
	// waits end within a second.
	pollEvery = 50 * time.Millisecond

	// firstPort to firstPort + blocks*blockPorts lie below the ports that Linux
	// gives to outgoing connections, so that none of those is in the way when a
	// part comes back on its port.
	firstPort, blockPorts, blocks = 20000, 200, 60
)

// block is the range of ports that belongs to this process until it ends.
var block struct {
	mu sync.Mutex
	// lock is open for as long as the process lives.
	lock *os.File
	// number is from 0, next the place within the block that is tried next.
	number, next int
}

// takeBlock makes a block of ports ours, if none is yet. The caller holds
// block.mu.
func takeBlock() error {
	if block.lock != nil {
		return nil
	}
	// Shared by all users of the machine's temporary folder; not by TMPDIR,
	// which may be of one process.
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
	return errors.New("locking a block of ports: all are taken")
}

// FreePort returns a port on loopback that nobody listens on and that no other
// process with a cluster is given.
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
	return 0, errors.New("finding a free port: all of this process are taken")
}

// firstNodeAddress is the first of the loopback addresses that this process may
// give to nodes; see NodeTemplate.
func firstNodeAddress() (string, error) {
	block.mu.Lock()
	defer block.mu.Unlock()
	if err := takeBlock(); err != nil {
		return "", err
	}
	return fmt.Sprintf("127.%d.0.1", 1+block.number), nil
}

// freePorts picks n different ports that nobody listens on.
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
