package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/cmd/internal/workshop"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
	"github.com/evenkeel/evenkeel/test/cluster/throughput"
)

// scheduler is a running kube-scheduler.
type scheduler struct {
	variant throughput.Variant
	process *cluster.Process
	url     string
}

// startScheduler starts kube-scheduler and waits until it is ready to begin.
func (s *stage) startScheduler(ctx context.Context, v throughput.Variant) (*scheduler, error) {
	config := throughput.SchedulerConfig{
		Variant: v, PolicyFile: s.policy, Namespace: evenkeel.Namespace,
		Kubeconfig: filepath.Join(s.Cluster.StateDir(), string(cluster.Scheduler)+".kubeconfig"),
	}
	binary := filepath.Join(s.BinDir, string(cluster.Scheduler))
	if v.Own {
		config.Kubeconfig, binary = s.ownKubeconfig, s.scheduler
	}
	if h := s.handlers[v.Handler]; h != nil {
		config.HandlerURL, config.Files = h.url, h.files
		if v.Secure {
			config.HandlerURL = h.secureURL
		}
	}
	content, err := config.YAML()
	if err != nil {
		return nil, err
	}
	s.runs++
	base := filepath.Join(s.Dir, fmt.Sprintf("scheduler-%03d-%s", s.runs, v.Name))
	if err := os.WriteFile(base+".yaml", content, 0o600); err != nil {
		return nil, fmt.Errorf("writing the configuration of kube-scheduler: %w", err)
	}
	address, err := evenkeel.FreeAddress()
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("reading an address: %w", err)
	}
	state := s.Cluster.StateDir()
	process, err := cluster.StartProcess(v.Name, binary, []string{
		"--config=" + base + ".yaml", "--bind-address=127.0.0.1", "--secure-port=" + port,
		"--authentication-kubeconfig=" + config.Kubeconfig, "--authorization-kubeconfig=" + config.Kubeconfig,
		"--tls-cert-file=" + filepath.Join(state, "serving.crt"), "--tls-private-key-file=" + filepath.Join(state, "serving.key"),
	}, base+".log")
	if err != nil {
		return nil, err
	}
	running := &scheduler{variant: v, process: process, url: "https://" + address}
	if err := s.waitScheduler(ctx, running); err != nil {
		return nil, errors.Join(err, process.Stop())
	}
	return running, nil
}

// waitScheduler waits until kube-scheduler is ready and the plugin, if there is
// one, knows the nodes' usage.
func (s *stage) waitScheduler(ctx context.Context, running *scheduler) error {
	err := eventually(ctx, upWithin, "kube-scheduler is ready", func(ctx context.Context) (bool, error) {
		if running.process.Ended() {
			return false, running.process.Failure()
		}
		_, err := workshop.Fetch(ctx, s.client, running.url+"/readyz")
		return err == nil, nil
	})
	if err == nil && running.variant.Plugin {
		err = s.waitHot(ctx, s.client, running.url+"/metrics")
	}
	return err
}
