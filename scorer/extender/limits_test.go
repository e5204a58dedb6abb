package extender

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// asks starts a request of a client with a body of the given size.
func (l *limits) asks(t *testing.T, client string, bytes int64) (*hold, bool) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "POST", "/filter", nil)
	r.RemoteAddr = "10.0.0." + client + ":999"
	h := &hold{}
	return h, l.enter(h, bytes, httptest.NewRecorder(), r)
}

// At a limit, the client with the most requests yields to one with fewer: its oldest waiting
// request ends. No client takes more than its share, and no request ends while it is being worked
// on.
func TestLimitsAreShared(t *testing.T) {
	for name, tc := range map[string]struct {
		// before lists clients in order; a "!" means that the request is being worked on.
		before, client string
		ok             bool
		// ended are the positions in before of the requests that had to yield.
		ended []int
	}{
		"room for all":                         {before: "1 2 1", client: "1", ok: true},
		"a client's share":                     {before: "1 1 1 1", client: "1"},
		"another's share":                      {before: "1 1 1 1", client: "2", ok: true},
		"the one with most yields, the oldest": {before: "2 1 1 1 2 1 2 3", client: "3", ok: true, ended: []int{1}},
		"many clients with one each":           {before: "1 2 3 4 5 6 7 8", client: "9", ok: true, ended: []int{0}},
		"no more than those that would yield":  {before: "1 1 2 2 3 3 4 4", client: "4"},
		"not while it is worked for":           {before: "1! 1! 1 2 2 2 3 3", client: "3", ok: true, ended: []int{2}},
		"all are worked for":                   {before: "1! 2! 3! 4! 5! 6! 7! 8!", client: "9"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLimits(&Config{MaxConcurrent: 2, MaxBodyBytes: 1 << 20})
			var holds []*hold
			for text := range strings.FieldsSeq(tc.before) {
				client, working := strings.CutSuffix(text, "!")
				h, ok := l.asks(t, client, 0)
				if !ok {
					t.Fatalf("client %s was not admitted", client)
				}
				if working {
					l.received(h)
				}
				holds = append(holds, h)
			}
			last, ok := l.asks(t, tc.client, 0)
			var ended []int
			for i, h := range holds {
				if h.ended {
					ended = append(ended, i)
				}
			}
			if diff := cmp.Diff(tc.ended, ended); ok != tc.ok || diff != "" {
				t.Errorf("admitted %t, want %t; ended (-want +got):\n%s", ok, tc.ok, diff)
			}
			for _, h := range append(holds, last) {
				l.leave(h)
			}
			if len(l.holds) > 0 {
				t.Errorf("%d requests are left", len(l.holds))
			}
		})
	}
}

// Buffers grow up to a client's share, and the largest holder yields to others.
func TestBytesAreShared(t *testing.T) {
	const size = 1 << 20
	l := newLimits(&Config{MaxConcurrent: 8, MaxBodyBytes: size})
	enter := func(client string) *hold {
		h, ok := l.asks(t, client, 0)
		if !ok {
			t.Fatalf("client %s was not admitted", client)
		}
		return h
	}
	first, second, other, third := enter("1"), enter("1"), enter("2"), enter("3")
	for _, step := range []struct {
		h    *hold
		more int64
		want bool
	}{
		{first, size / 2, true},
		{second, size / 4, true},
		{second, size / 2, false}, // beyond its share
		{other, size, true},
		{third, 3 * size / 4, false}, // the other has the most, but less than twice as much
		{third, size / 2, true},      // now the other has twice as much, and yields
		{other, 1, false},
		{third, 2 * size, false},
	} {
		if got := l.grow(step.h, step.more); got != step.want {
			t.Errorf("%d more bytes: %t, want %t", step.more, got, step.want)
		}
	}
	if all, _ := l.taken(first.client, (*hold).size); all > l.bytes.all || !other.ended || l.received(other) {
		t.Errorf("%d bytes are taken, ended %t", all, other.ended)
	}
}

// For one client, the Answerer works on at most half of all requests. It always works on one
// request of each client, however many clients there are, because all the others may be strangers.
func TestTurnsAreShared(t *testing.T) {
	l := newLimits(&Config{MaxConcurrent: 4, MaxBodyBytes: 1})
	var got []bool
	for client := range strings.FieldsSeq("1 1 1 2 2 3 3") {
		h, _ := l.asks(t, client, 0)
		l.received(h)
		got = append(got, l.ask(h))
	}
	if diff := cmp.Diff([]bool{true, true, false, true, true, true, false}, got); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
}
