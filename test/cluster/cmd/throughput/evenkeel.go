package main

import (
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"

	"github.com/evenkeel/evenkeel/hack/measure"
	"github.com/evenkeel/evenkeel/test/cluster/cmd/internal/workshop"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/throughput"
)

// policy shortens the default waiting times but keeps the sampling interval.
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
	h := &handler{
		url: "http://" + listen, page: "http://" + metrics + "/metrics",
		metric: "evenkeel_extender_responses_total", label: `result="ok"`,
	}
	args := []string{
		"extender", "--kubeconfig", s.access.Extender, "--namespace", evenkeel.Namespace, "--policy-config-file", s.policy, "--metrics-address", metrics,
	}
	if s.needs(func(v throughput.Variant) bool { return v.Secure }) {
		secure, err := s.secure(ctx, h)
		if err != nil {
			return nil, err
		}
		args = append(args, append(secure, "--insecure-listen-address", listen)...)
	} else {
		args = append(args, "--listen-address", listen)
	}
	process, err := evenkeel.Start(s.binary, filepath.Join(s.Dir, "evenkeel.log"), args...)
	if err != nil {
		return nil, err
	}
	s.OnClose(process.Stop)
	return h, s.waitHot(ctx, http.DefaultClient, h.page)
}

// secure makes certificates and returns the flags for serving with them. The same process
// answers with and without TLS, so that its other work is the same.
func (s *stage) secure(ctx context.Context, h *handler) (flags []string, err error) {
	listen, err := evenkeel.FreeAddress()
	if err != nil {
		return nil, err
	}
	h.secureURL, h.files = "https://"+listen, filepath.Join(s.Dir, "pki")
	if out, err := exec.CommandContext(ctx, s.binary, "certificates", "--directory", h.files).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("making certificates: %w\n%s", err, out)
	}
	return []string{
		"--listen-address", listen, "--tls-cert-file", filepath.Join(h.files, "server.crt"),
		"--tls-private-key-file", filepath.Join(h.files, "server.key"), "--client-ca-file", filepath.Join(h.files, "ca.crt"),
	}, nil
}

// waitHot waits until a process's metrics report the hot nodes as hot.
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
