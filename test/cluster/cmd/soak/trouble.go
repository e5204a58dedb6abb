package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/apifault"
	"github.com/evenkeel/evenkeel/test/cluster/hostile"
	"github.com/evenkeel/evenkeel/test/cluster/soak"
)

const (
	// elsewhere is the address from which the hostile client connects.
	elsewhere = "127.0.0.66"
	// calm is the minimum time between two faults, storm the minimum duration of a fault.
	// Both may be up to three times as long.
	calm, storm = 20 * time.Second, 7 * time.Second
)

// fault is one way in which the API server fails for a process.
type fault struct {
	name  string
	rules []apifault.Rule
	// silent holds back all bytes, refused closes connections and accepts no new ones, and
	// blind closes the watches.
	silent, refused, blind bool
}

func faults() []fault {
	const second = time.Second
	writes := []string{"create", "update", "patch"}
	return []fault{
		{name: "silent", silent: true},
		{name: "refused", refused: true},
		{name: "slow", rules: []apifault.Rule{{Effect: apifault.SlowBy(5 * second)}}},
		{name: "429", rules: []apifault.Rule{{Percent: 66, Effect: apifault.WithStatus(http.StatusTooManyRequests, second)}}},
		{name: "500", rules: []apifault.Rule{{Effect: apifault.WithStatus(http.StatusInternalServerError, 0)}}},
		{name: "lost answers", rules: []apifault.Rule{{Verbs: writes, Percent: 50, Effect: apifault.OfKind(apifault.Lost)}}},
		{name: "no lists", blind: true, rules: []apifault.Rule{
			{Verbs: []string{"list"}, Effect: apifault.WithStatus(http.StatusTooManyRequests, second)},
			{Verbs: []string{"watch"}, Effect: apifault.WithStatus(http.StatusGone, 0)},
		}},
	}
}

// wayToAPIServer returns the kubeconfig file for a process: the given one or, with
// --faults, one that leads through a proxy.
func (s *stage) wayToAPIServer(ctx context.Context, kubeconfig string, number int) (string, error) {
	if !s.flags.faults {
		return kubeconfig, nil
	}
	dir := s.Cluster.StateDir()
	p, err := apifault.Start(context.WithoutCancel(ctx), apifault.Config{
		Target: s.Cluster.Config(), Seed: s.flags.shape.Seed,
		CertFile: filepath.Join(dir, "serving.crt"), KeyFile: filepath.Join(dir, "serving.key"),
	})
	if err != nil {
		return "", err
	}
	s.OnClose(p.Stop)
	s.proxies = append(s.proxies, p)
	through := filepath.Join(s.Dir, fmt.Sprintf("evenkeel-%d.kubeconfig", number))
	return through, p.Kubeconfig(kubeconfig, through)
}

// makeTrouble starts the trouble that the flags request. It returns a function that ends
// the trouble and reports it; nil if none was requested.
func (s *stage) makeTrouble(ctx context.Context) (end func() (*soak.Trouble, error), err error) {
	if !s.flags.hostile && !s.flags.faults {
		return func() (*soak.Trouble, error) { return nil, nil }, nil
	}
	mark, err := s.Cluster.AuditMark()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var group errgroup.Group
	trouble := &soak.Trouble{Faults: map[string]int{}}
	var client *hostile.Apart
	if s.flags.hostile {
		client, err = hostile.Start(context.WithoutCancel(ctx), hostile.Config{
			Target: s.processes[0].listen, Source: elsewhere, Namespace: namespace, Nodes: s.nodes, Lair: s.nodes[0], Attacks: hostile.Attacks(),
		}, s.Cluster.Kubeconfig())
		if err != nil {
			cancel()
			return nil, err
		}
	}
	if s.flags.faults {
		group.Go(func() error { return s.strike(ctx, trouble.Faults) })
	}
	return func() (*soak.Trouble, error) {
		cancel()
		err := group.Wait()
		if client != nil {
			report, failed := client.Stop()
			total := report.Total()
			trouble.HostileSent, trouble.HostileAnswered = total.Sent, total.Answered
			err = errors.Join(err, failed)
		}
		if err != nil {
			return nil, err
		}
		trouble.EvictedTwice, err = s.evictedTwice(mark)
		return trouble, err
	}, nil
}

// strike makes one randomly chosen process after another fail, until the
// context ends.
func (s *stage) strike(ctx context.Context, made map[string]int) error {
	lots, all := rand.New(rand.NewPCG(s.flags.shape.Seed, 1)), faults()
	length := func(least time.Duration) time.Duration { return least + time.Duration(lots.Int64N(int64(2*least))) }
	for pause(ctx, length(calm)) {
		next, n := all[lots.IntN(len(all))], lots.IntN(len(s.proxies))
		proxy, lasts := s.proxies[n], length(storm)
		s.Tell("  for %v: %s between %s and the API server", lasts.Round(time.Second), next.name, s.processes[n].name)
		made[next.name]++
		if err := next.begin(proxy); err != nil {
			return err
		}
		pause(ctx, lasts)
		if err := end(context.WithoutCancel(ctx), proxy); err != nil {
			return err
		}
	}
	return nil
}

func (f *fault) begin(p *apifault.Proxy) error {
	p.Apply(f.rules...)
	p.Partition(f.silent)
	if f.blind {
		p.CloseWatches()
	}
	if f.refused {
		return p.Refuse()
	}
	return nil
}

func end(ctx context.Context, p *apifault.Proxy) error {
	p.Apply()
	p.Partition(false)
	return p.Accept(ctx)
}

// pause pauses for the given duration. It returns false if the context ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// evictedTwice lists the pods for which the API server has granted two evictions. The
// names of a Deployment's pods are never reused.
func (s *stage) evictedTwice(since cluster.AuditMark) ([]string, error) {
	requests, err := s.Cluster.Audit(since)
	if err != nil {
		return nil, err
	}
	granted, twice := map[string]bool{}, map[string]bool{}
	for _, r := range requests.To("create", "pods/eviction") {
		if r.Code != http.StatusCreated || r.DryRun {
			continue
		}
		name := r.Namespace + "/" + r.Name
		twice[name] = granted[name]
		granted[name] = true
	}
	maps.DeleteFunc(twice, func(_ string, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(twice)), nil
}
