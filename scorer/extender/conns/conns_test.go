package conns

import (
	"net"
	"slices"
	"testing"
)

// When a client that has used up its share opens a new connection, it loses one of its own. If all
// connections are taken, one yields: the oldest of the client with the most connections that were
// never answered or, if there is none, the one that has been unused for longest.
func TestConnectionsAreShared(t *testing.T) {
	l := Bounded(nil).(*boundedListener)
	connect := func(client, count int) (conns []*boundedConn) {
		for range count {
			c := &boundedConn{listener: l, client: ClientOf(net.IPv4(10, 0, byte(client>>8), byte(client)).String() + ":1")}
			if yields := l.enter(c); yields != nil {
				t.Fatalf("%v yields with %d connections open", yields.client, len(l.open))
			}
			conns = append(conns, c)
		}
		return conns
	}
	var scheduler, greedy, others []*boundedConn
	for name, tc := range map[string]struct {
		before func()
		client int
		yields func() *boundedConn
	}{
		"room for all": {
			before: func() { connect(1, maxConnectionsOfOne-1) },
			client: 1, yields: func() *boundedConn { return nil },
		},
		"a client's share, none of it answered": {
			before: func() { greedy = connect(1, maxConnectionsOfOne); connect(2, 1) },
			client: 1, yields: func() *boundedConn { return greedy[0] },
		},
		"a client's share, some of it answered": {
			before: func() { greedy = connect(1, maxConnectionsOfOne); l.use(greedy[0], true) },
			client: 1, yields: func() *boundedConn { return greedy[1] },
		},
		"the client with most": {
			before: func() {
				others = connect(2, 100)
				greedy = connect(1, 110)
				for client := 3; len(l.open) < maxConnections; client++ {
					connect(client, 1)
				}
			},
			client: 9, yields: func() *boundedConn { return greedy[0] },
		},
		"many clients with one each": {
			before: func() {
				scheduler = connect(1, 2)
				l.use(scheduler[0], true)
				l.use(scheduler[1], true)
				others = connect(2, 1)
				for client := 3; len(l.open) < maxConnections; client++ {
					connect(client, 1)
				}
			},
			client: 1, yields: func() *boundedConn { return others[0] },
		},
		"all were answered": {
			before: func() {
				scheduler = connect(1, 2)
				for client := 2; len(l.open) < maxConnections; client++ {
					others = connect(client, 1)
					l.use(others[0], true)
				}
				l.use(scheduler[1], true)
				l.use(scheduler[0], true)
				l.use(others[0], false)
			},
			client: 9999, yields: func() *boundedConn { return l.open[2] },
		},
		"a request alone shows nothing": {
			before: func() {
				others = connect(1, 1)
				for client := 2; len(l.open) < maxConnections; client++ {
					connect(client, 1)
				}
				l.use(others[0], false)
			},
			client: 9999, yields: func() *boundedConn { return others[0] },
		},
	} {
		t.Run(name, func(t *testing.T) {
			l = Bounded(nil).(*boundedListener)
			tc.before()
			want := tc.yields()
			client := ClientOf(net.IPv4(10, 0, byte(tc.client>>8), byte(tc.client)).String() + ":1")
			if got := l.enter(&boundedConn{listener: l, client: client}); got != want {
				t.Errorf("%+v yields, want %+v", got, want)
			}
			for _, c := range slices.Clone(l.open) {
				l.leave(c)
				l.leave(c)     // changes nothing
				l.use(c, true) // does not change anything either
			}
			if len(l.open) != 0 || len(l.clients) != 0 {
				t.Errorf("%d connections are left, of %d clients", len(l.open), len(l.clients))
			}
		})
	}
}
