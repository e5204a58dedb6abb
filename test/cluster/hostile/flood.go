package hostile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// bodies is the number of large bodies sent concurrently, trickles the number of slow
	// ones, crowd the number of idle connections.
	bodies, trickles, crowd = 64, 128, 512
	// vastBytes is just below the extender's limit for a body.
	vastBytes = 31 << 20
	// openFor is how long a large body stays incomplete, or an idle connection open.
	openFor = 10 * time.Second
	// dripEvery is the time between two bytes of a slow body.
	dripEvery = 500 * time.Millisecond
	// again is the pause after the other side has closed a connection.
	again = 100 * time.Millisecond
)

// flood keeps n senders running until the context ends.
func (c *client) flood(ctx context.Context, n int, one func(context.Context)) error {
	var group errgroup.Group
	for range n {
		group.Go(func() error {
			for ctx.Err() == nil {
				one(ctx)
				pause(ctx, again)
			}
			return nil
		})
	}
	return group.Wait()
}

// vast sends one large body.
func (c *client) vast(ctx context.Context, count *counters) {
	c.post(ctx, &dripping{ctx: ctx, quick: vastBytes, then: openFor, most: vastBytes + 1}, vastBytes+1, count)
}

// trickle sends one slow body.
func (c *client) trickle(ctx context.Context, count *counters) {
	c.post(ctx, &dripping{ctx: ctx, quick: 1, then: dripEvery, most: 1 << 10}, 1<<10, count)
}

func (c *client) post(ctx context.Context, body io.Reader, length int64, count *counters) {
	ctx, cancel := context.WithTimeout(ctx, 2*openFor)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url("filter"), body)
	if err != nil {
		return // impossible: the address was used before
	}
	request.ContentLength = length
	patient := *c.http
	patient.Timeout = 0
	flooder := client{config: c.config, http: &patient}
	flooder.send(request, count)
}

// idle opens a connection and sends nothing.
func (c *client) idle(ctx context.Context, count *counters) {
	connection, err := c.dialer.DialContext(ctx, "tcp", c.config.Target)
	if err != nil {
		if ctx.Err() == nil {
			count.sent.Add(1)
			count.failed.Add(1)
		}
		return
	}
	count.sent.Add(1)
	pause(ctx, openFor)
	_ = connection.Close()
}

// dripping is a body that consists of one long JSON string. It first provides a number of
// bytes immediately, and then one byte at a time.
type dripping struct {
	ctx   context.Context
	quick int
	then  time.Duration
	sent  int
	most  int
}

var chunk = append([]byte(`{"Pod":{"metadata":{"name":"`), bytes.Repeat([]byte("a"), 64<<10)...)

// Read implements io.Reader.
func (d *dripping) Read(b []byte) (int, error) {
	switch {
	case d.sent >= d.most:
		return 0, io.EOF
	case d.sent < d.quick:
		from := chunk
		if d.sent > 0 {
			from = chunk[len(chunk)-64<<10:]
		}
		n := copy(b, from[:min(len(from), d.quick-d.sent)])
		d.sent += n
		return n, nil
	}
	pause(d.ctx, d.then)
	if d.ctx.Err() != nil {
		return 0, errors.New("the attack is over")
	}
	d.sent++
	b[0] = 'a'
	return 1, nil
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
