package answer

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"testing"
)

// client sends requests over one connection at almost no cost: its reads block in the kernel,
// outside Go's poller, and it allocates nothing.
type client struct {
	conn     *os.File
	incoming *bufio.Reader
	body     []byte // of the newest reply, truncated to its capacity
}

func dial(b *testing.B, address string) *client {
	b.Helper()
	conn, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		b.Fatalf("%T is no TCP connection", conn)
	}
	file, err := tcp.File()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = file.Close() })
	file.Fd() // makes the file blocking
	return &client{conn: file, incoming: bufio.NewReaderSize(file, 64<<10), body: make([]byte, 0, 64)}
}

// ask sends a request and reads the reply.
func (c *client) ask(request []byte) error {
	if _, err := c.conn.Write(request); err != nil {
		return err
	}
	return c.reply()
}

// mallocs returns how many allocations the server has made.
func (c *client) mallocs(b *testing.B) uint64 {
	b.Helper()
	if err := c.ask([]byte("GET " + mallocsPath + " HTTP/1.1\r\nHost: bench\r\n\r\n")); err != nil {
		b.Fatal(err)
	}
	count, err := strconv.ParseUint(string(c.body), 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return count
}

// reply reads one HTTP reply, whether it has a length or is chunked.
func (c *client) reply() error {
	length, err := c.head("HTTP/1.1 200")
	if err != nil {
		return err
	}
	c.body = c.body[:0]
	if length >= 0 {
		return c.swallow(length)
	}
	return c.chunks()
}

// request reads one HTTP request and discards it.
func (c *client) request() error {
	length, err := c.head("")
	if err != nil {
		return err
	}
	_, err = c.incoming.Discard(max(length, 0))
	return err
}

// head reads lines up to an empty one. The first must start with prefix. length is -1 if the lines
// set none.
func (c *client) head(prefix string) (length int, err error) {
	length = -1
	for first := true; ; first = false {
		line, err := c.incoming.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if first && !bytes.HasPrefix(line, []byte(prefix)) {
			return 0, fmt.Errorf("status %q", line)
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, err
			}
		}
		if len(bytes.TrimSpace(line)) == 0 {
			return length, nil
		}
	}
}

func (c *client) chunks() error {
	for {
		line, err := c.incoming.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 64)
		if err != nil {
			return err
		}
		if err := c.swallow(int(size)); err != nil {
			return err
		}
		if _, err := c.incoming.Discard(2); err != nil || size == 0 {
			return err
		}
	}
}

// swallow reads part of a body and keeps as much of it as fits.
func (c *client) swallow(length int) error {
	kept := min(length, cap(c.body)-len(c.body))
	at := len(c.body)
	c.body = c.body[:at+kept]
	if _, err := io.ReadFull(c.incoming, c.body[at:]); err != nil {
		return err
	}
	_, err := c.incoming.Discard(length - kept)
	return err
}
