// Package hostile simulates a malicious client of the extender's port, which any pod that
// reaches the port could be. It has the best information that an attacker could have: the
// UID, owner and node of every pod. It asks about pods that do not exist, or that exist
// in another namespace, in order to change where moved pods land and to make nodes look
// full. It also floods the port. Report only counts requests and responses; the caller
// must check the effect on the cluster.
package hostile

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"golang.org/x/sync/errgroup"
)

// Attack is one kind of attack.
type Attack string

// The attacks.
const (
	// MadeUp asks about pods that do not exist but claim an owner whose pods are moved, and
	// offers one node.
	MadeUp Attack = "made-up UIDs"
	// Known asks about existing pods, first those without a node, and offers another node.
	Known Attack = "known UIDs"
	// Foreign asks about pods in another namespace with the same owners.
	Foreign Attack = "another namespace"
	// Heavy asks, for each node except one, about a pod that would fill it.
	Heavy Attack = "heavy pods"
	// Bodies sends large bodies except their last byte, and keeps them open.
	Bodies Attack = "vast bodies"
	// Trickle sends bodies a byte at a time.
	Trickle Attack = "slow bodies"
	// Crowd opens connections and sends nothing.
	Crowd Attack = "idle connections"
)

// Attacks returns all attacks.
func Attacks() []Attack { return []Attack{MadeUp, Known, Foreign, Heavy, Bodies, Trickle, Crowd} }

// Config defines what the client knows and how many requests it sends.
type Config struct {
	// Target is the host and port of the extender.
	Target string
	// Secure uses HTTPS, without a client certificate.
	Secure bool
	// Source is the address from which the client connects. If the extender counts by
	// client, it must differ from kube-scheduler's address.
	Source string
	// Kube reads what the client knows, with the administrator's permissions.
	Kube kubernetes.Interface `json:"-"`
	// Namespace is the namespace of the attacked pods.
	Namespace string
	// Nodes holds all nodes. Lair is the node to which the client tries to draw pods.
	Nodes []string
	Lair  string
	// Attacks holds the attacks to make.
	Attacks []Attack
}

// Count counts the responses to the requests of one attack.
type Count struct {
	Sent int64
	// Answered counts responses with status 200, Refused those with another status, Failed
	// requests without a response.
	Answered, Refused, Failed int64
}

// Report maps attacks to their counts.
type Report map[Attack]Count

// Total adds up all attacks.
func (r Report) Total() (total Count) {
	for _, c := range r {
		total.Sent += c.Sent
		total.Answered += c.Answered
		total.Refused += c.Refused
		total.Failed += c.Failed
	}
	return total
}

// counters holds the counters for a Count.
type counters struct{ sent, answered, refused, failed atomic.Int64 }

func (c *counters) count() Count {
	return Count{Sent: c.sent.Load(), Answered: c.answered.Load(), Refused: c.refused.Load(), Failed: c.failed.Load()}
}

const (
	// every is the time between two requests of a forging attack. It is shorter than for
	// kube-scheduler, but long enough not to use up the whole machine.
	every = 20 * time.Millisecond
	// patience bounds one forged request.
	patience = 5 * time.Second
)

// client is a running attack.
type client struct {
	config Config
	http   *http.Client
	dialer net.Dialer

	mu   sync.Mutex
	seen []*v1.Pod // pods without a node first
}

// Run attacks until the context ends.
func Run(ctx context.Context, config Config) (Report, error) {
	c := &client{config: config, dialer: net.Dialer{Timeout: patience}}
	if config.Source != "" {
		c.dialer.LocalAddr = &net.TCPAddr{IP: net.ParseIP(config.Source)}
	}
	transport := &http.Transport{DialContext: c.dialer.DialContext, MaxIdleConnsPerHost: 64}
	if config.Secure {
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} // the client accepts any server as the extender
	}
	defer transport.CloseIdleConnections()
	c.http = &http.Client{Transport: transport, Timeout: patience}
	if err := c.look(ctx); err != nil {
		return nil, err
	}
	counts := map[Attack]*counters{}
	var group errgroup.Group
	group.Go(func() error { return c.keepLooking(ctx) })
	for _, attack := range config.Attacks {
		count := &counters{}
		counts[attack] = count
		group.Go(func() error { return c.attack(ctx, attack, count) })
	}
	err := group.Wait()
	report := Report{}
	for attack, count := range counts {
		report[attack] = count.count()
	}
	return report, err
}

func (c *client) attack(ctx context.Context, attack Attack, count *counters) error {
	switch attack {
	case MadeUp, Known, Foreign, Heavy:
		return c.forge(ctx, attack, count)
	case Bodies:
		return c.flood(ctx, bodies, func(ctx context.Context) { c.vast(ctx, count) })
	case Trickle:
		return c.flood(ctx, trickles, func(ctx context.Context) { c.trickle(ctx, count) })
	case Crowd:
		return c.flood(ctx, crowd, func(ctx context.Context) { c.idle(ctx, count) })
	default:
		return fmt.Errorf("there is no attack %q", attack)
	}
}

func (c *client) url(verb string) string {
	scheme := "http"
	if c.config.Secure {
		scheme = "https"
	}
	return scheme + "://" + c.config.Target + "/" + verb
}

// forge sends an attack's requests one after the other.
func (c *client) forge(ctx context.Context, attack Attack, count *counters) error {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for n := 0; ; n++ {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		question, ok := c.question(attack, n)
		if !ok {
			continue
		}
		if err := c.ask(ctx, question, n, count); err != nil {
			return err
		}
	}
}

// ask sends a filter request, and every fourth time also a request for scores.
func (c *client) ask(ctx context.Context, question extenderv1.ExtenderArgs, n int, count *counters) error {
	body, err := json.Marshal(question)
	if err != nil {
		return fmt.Errorf("forging a request: %w", err)
	}
	verb := "filter"
	if n%4 == 3 {
		verb = "prioritize"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url(verb), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("forging a request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	c.send(request, count)
	return nil
}

// send sends a request and counts the result, unless the end of the attack has cut it
// off.
func (c *client) send(request *http.Request, count *counters) {
	count.sent.Add(1)
	response, err := c.http.Do(request)
	switch {
	case err != nil && errors.Is(request.Context().Err(), context.Canceled):
		return
	case err != nil:
		count.failed.Add(1)
		return
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20)) // the content does not matter
	if response.StatusCode == http.StatusOK {
		count.answered.Add(1)
	} else {
		count.refused.Add(1)
	}
}
