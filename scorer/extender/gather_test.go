package extender

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"
)

// A client gets the same replies whatever their length, and on one connection each short reply
// arrives in one piece.
func TestRepliesInOnePiece(t *testing.T) {
	names := nodeNames(3000)
	listener := &countingListener{Listener: listen(t)}
	s := newTestServer(t, Config{Answerer: newFakeAnswerer(names...), Listener: listener})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	client := &http.Client{Transport: &http.Transport{MaxConnsPerHost: 1}}
	t.Cleanup(client.CloseIdleConnections)
	short, long := 0, 0
	for _, count := range []int{1, 3000, 100, 180, 190, 200, 500, 2, 1000, 2000} {
		request := namesRequest(t, realisticPod(), names[:count]...)
		direct := do(t, s, "/filter", request)
		before := listener.writes.Load()
		got := ask(t, client, "http://"+listener.Addr().String()+"/filter", request)
		if !bytes.Equal(got, direct) {
			t.Errorf("%d names: %d bytes %.80q, want %d bytes %.80q", count, len(got), got, len(direct), direct)
		}
		wrote := listener.writes.Load() - before
		if len(direct) > gatherUpTo {
			long++
			continue
		}
		if short++; wrote != 1 {
			t.Errorf("%d names: %d bytes arrived in %d pieces", count, len(direct), wrote)
		}
	}
	if short < 5 || long < 2 {
		t.Errorf("%d replies were short and %d long", short, long)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// After a reply that could not be sent completely, the connection is closed, and the part held back
// is never sent.
func TestUnsentReplyIsForgotten(t *testing.T) {
	ours, theirs := net.Pipe()
	go func() {
		_, _ = theirs.Read(make([]byte, 2))
		_ = ours.SetWriteDeadline(time.Now())
	}()
	c := &gathering{Conn: ours}
	if err := c.reply(pieces{c}, []byte("first")); err == nil {
		t.Error("the client did not read all of it, but there was no error")
	}
	if len(c.held) > 0 || c.on {
		t.Errorf("still held: %q, gathering: %v", c.held, c.on)
	}
	if rest, err := io.ReadAll(theirs); len(rest) > 0 || err != nil {
		t.Errorf("afterwards %q arrived with error %v, want the end", rest, err)
	}
}

func do(t *testing.T, s *Server, path string, body []byte) []byte {
	t.Helper()
	w := &wholeReply{header: http.Header{}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	s.ServeHTTP(w, r)
	return w.Bytes()
}

func ask(t *testing.T, client *http.Client, url string, body []byte) []byte {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// wholeReply stores a response.
type wholeReply struct {
	bytes.Buffer
	header http.Header
}

func (w *wholeReply) Header() http.Header { return w.header }
func (w *wholeReply) WriteHeader(int)     {}

// pieces writes a response in the pieces in which it arrives.
type pieces struct{ net.Conn }

func (pieces) Header() http.Header { return http.Header{} }
func (pieces) WriteHeader(int)     {}
func (pieces) FlushError() error   { return nil }

// countingListener counts the writes to its connections.
type countingListener struct {
	net.Listener
	writes atomic.Int64
}

func (l *countingListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return countedConn{conn, &l.writes}, nil
}

type countedConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c countedConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}
