package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/throughput"
)

// evictingPolicy balances by real usage without an extender for kube-scheduler.
const evictingPolicy = policy + `eviction: {steering: admission}
---
apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: evenkeel
  pluginConfig:
  - name: RealUsageLowNodeUtilization
    args: {}
  plugins:
    balance:
      enabled: [RealUsageLowNodeUtilization]
`

// startServing starts `evenkeel serve` with steering by the API server, if a variant
// needs it. It waits until the process knows the hot nodes, and pauses it until the
// side-by-side variants begin.
func (s *stage) startServing(ctx context.Context) error {
	if !s.needs(func(v throughput.Variant) bool { return v.Admission }) {
		return nil
	}
	files, err := evenkeel.Component(ctx, "admission-steering")
	if err != nil {
		return err
	}
	for _, file := range files {
		if err := evenkeel.Apply(ctx, s.Cluster, file, false); err != nil {
			return err
		}
	}
	path := filepath.Join(s.Dir, "evicting.yaml")
	if err := os.WriteFile(path, []byte(evictingPolicy), 0o600); err != nil {
		return fmt.Errorf("writing the policy: %w", err)
	}
	listen, err := evenkeel.FreeAddress()
	if err != nil {
		return err
	}
	metrics, err := evenkeel.FreeAddress()
	if err != nil {
		return err
	}
	s.serving, err = evenkeel.Start(s.binary, filepath.Join(s.Dir, "serve.log"), "serve", "--kubeconfig", s.access.Evenkeel,
		"--namespace", evenkeel.Namespace, "--policy-config-file", path, "--descheduling-interval", "30s", "--leader-elect=false",
		"--listen-address", listen, "--report-address", "0", "--metrics-address", metrics)
	if err != nil {
		return err
	}
	s.OnClose(func() error { return errors.Join(s.leave(true), s.serving.Stop()) })
	return errors.Join(s.waitHot(ctx, http.DefaultClient, "http://"+metrics+"/metrics"), s.leave(false))
}

// leave resumes the serving Evenkeel or keeps it paused, if there is one.
func (s *stage) leave(running bool) error {
	switch {
	case s.serving == nil:
		return nil
	case running:
		return s.serving.Thaw()
	default:
		return s.serving.Freeze()
	}
}
