package main

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/evenkeel/evenkeel/hack/measure"
	"github.com/evenkeel/evenkeel/test/cluster/cmd/internal/workshop"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// policy shortens the default waits, but keeps the sampling interval.
const policy = `
apiVersion: evenkeel.io/v1alpha1
kind: LoadPolicy
usage: {sampleInterval: 15s, maxAge: 90s, observationPeriod: 30s}
hot: {windows: [avg_5m], consecutiveSamples: 1, minWindow: 10s, startup: 0s}
`

// startEvenkeel starts the extender and waits until it knows the hot nodes.
func (s *stage) startEvenkeel(ctx context.Context) (*handler, error) {
	listen, err := evenkeel.FreeAddress()
	if err != nil {
		return nil, err
	}
	metrics, err := evenkeel.FreeAddress()
	if err != nil {
		return nil, err
	}
	process, err := evenkeel.Start(s.binary, filepath.Join(s.Dir, "evenkeel.log"),
		"extender", "--kubeconfig", s.access.Extender, "--namespace", evenkeel.Namespace, "--policy-config-file", s.policy,
		"--listen-address", listen, "--metrics-address", metrics)
	if err != nil {
		return nil, err
	}
	s.OnClose(process.Stop)
	h := &handler{
		url: "http://" + listen, page: "http://" + metrics + "/metrics",
		metric: "evenkeel_extender_requests_total", label: `result="OK"`,
	}
	return h, s.waitHot(ctx, http.DefaultClient, h.page)
}

// waitHot waits until a process's metrics show the hot nodes as hot.
func (s *stage) waitHot(ctx context.Context, client *http.Client, page string) error {
	last := 0.0
	err := eventually(ctx, upWithin, "the hot nodes are known", func(ctx context.Context) (bool, error) {
		text, err := workshop.Fetch(ctx, client, page)
		if err != nil {
			return false, nil
		}
		last, _ = measure.Metric(text, "evenkeel_nodes", `state="hot"`)
		return int(last) >= len(s.hot), nil
	})
	if err != nil {
		return fmt.Errorf("%w (%v of %d)", err, last, len(s.hot))
	}
	return nil
}
