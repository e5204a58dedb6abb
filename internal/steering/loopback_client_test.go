package steering

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

// client asks over one connection and costs next to nothing itself: its reads block in the kernel, past Go's poller, and it
// allocates nothing.
type client struct {
	conn    *os.File
	replies *bufio.Reader
	body    []byte // of the newest reply, cut to its capacity
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
	file.Fd() // makes it blocking
	return &client{conn: file, replies: bufio.NewReaderSize(file, 64<<10), body: make([]byte, 0, 64)}
}

// ask sends a request and reads the reply.
func (c *client) ask(request []byte) error {
	if _, err := c.conn.Write(request); err != nil {
		return err
	}
	return c.reply()
}

// mallocs asks how many allocations the server has made.
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

// reply reads one HTTP reply, by length or in chunks.
func (c *client) reply() error {
	length, first := -1, true
	for {
		line, err := c.replies.ReadSlice('\n')
		if err != nil {
			return err
		}
		if first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) {
			return fmt.Errorf("status %q", line)
		}
		first = false
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return err
			}
		}
		if len(bytes.TrimSpace(line)) == 0 {
			break
		}
	}
	c.body = c.body[:0]
	if length >= 0 {
		return c.swallow(length)
	}
	return c.chunks()
}

func (c *client) chunks() error {
	for {
		line, err := c.replies.ReadSlice('\n')
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
		if _, err := c.replies.Discard(2); err != nil || size == 0 {
			return err
		}
	}
}

// swallow reads part of a body and keeps as much as there is room for.
func (c *client) swallow(length int) error {
	kept := min(length, cap(c.body)-len(c.body))
	at := len(c.body)
	c.body = c.body[:at+kept]
	if _, err := io.ReadFull(c.replies, c.body[at:]); err != nil {
		return err
	}
	_, err := c.replies.Discard(length - kept)
	return err
}
