package admission

import (
	"io"
	"net"
	"sync"
	"testing"
)

// door is the endpoint that the API server calls. It forwards to the address where Evenkeel
// answers.
type door struct {
	t               *testing.T
	address, behind string
	running         sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener // nil while it is shut
	conns    []net.Conn
}

func newDoor(t *testing.T, address, behind string) *door {
	t.Helper()
	d := &door{t: t, address: address, behind: behind}
	d.open()
	t.Cleanup(d.shut)
	return d
}

// open forwards connections to the process.
func (d *door) open() {
	d.t.Helper()
	d.become(func(conn net.Conn) {
		there, err := new(net.Dialer).DialContext(d.t.Context(), "tcp", d.behind)
		if err != nil {
			return
		}
		d.keep(there)
		d.running.Go(func() {
			_, _ = io.Copy(there, conn)
			_ = there.Close()
		})
		_, _ = io.Copy(conn, there)
	})
}

// hang accepts connections and never answers.
func (d *door) hang() {
	d.t.Helper()
	d.become(func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
}

// shut refuses new connections and closes the existing ones.
func (d *door) shut() {
	d.mu.Lock()
	if d.listener != nil {
		_ = d.listener.Close()
	}
	for _, conn := range d.conns {
		_ = conn.Close()
	}
	d.listener, d.conns = nil, nil
	d.mu.Unlock()
	d.running.Wait()
}

func (d *door) become(lead func(net.Conn)) {
	d.t.Helper()
	d.shut()
	listener, err := new(net.ListenConfig).Listen(d.t.Context(), "tcp", d.address)
	if err != nil {
		d.t.Fatal(err)
	}
	d.mu.Lock()
	d.listener = listener
	d.mu.Unlock()
	d.running.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			d.keep(conn)
			d.running.Go(func() {
				lead(conn)
				_ = conn.Close()
			})
		}
	})
}

// keep closes a connection when the door is shut.
func (d *door) keep(conn net.Conn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.listener == nil {
		_ = conn.Close()
	}
	d.conns = append(d.conns, conn)
}
