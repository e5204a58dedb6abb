package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

func beginInformers(stripped bool) func(context.Context, *bench) (*child, error) {
	return func(ctx context.Context, b *bench) (*child, error) {
		c, err := start(ctx, "", filepath.Join(b.folder, "informers.log"), b.self, "--role=informers", "--api-server="+b.url, fmt.Sprintf("--stripped=%t", stripped))
		if err != nil {
			return nil, err
		}
		line, err := c.line(ctx)
		if err == nil && line != synced {
			err = fmt.Errorf("unexpected output %q of the informers", line)
		}
		if err == nil {
			err = c.reached("lists")
		}
		return c, err
	}
}

// evenkeelArgs are a command's arguments other than addresses and files. Commands that
// evict do so in a dry run: they plan the moves off all hot nodes, with destinations that
// the filters accept, but make none.
var evenkeelArgs = map[string][]string{
	"extender": nil,
	"serve":    {"--dry-run", "--descheduling-interval=20s"},
}

// beginEvenkeel starts a command of evenkeel and waits until all of its functions are
// active.
func beginEvenkeel(command, source string) func(context.Context, *bench) (*child, error) {
	return func(ctx context.Context, b *bench) (*child, error) {
		config, err := b.configure(source)
		if err != nil {
			return nil, err
		}
		address, err := freeAddress(ctx)
		if err != nil {
			return nil, err
		}
		reports, err := freeAddress(ctx)
		if err != nil {
			return nil, err
		}
		probes, err := freeAddress(ctx)
		if err != nil {
			return nil, err
		}
		args := append([]string{
			command, "--kubeconfig=" + config.kube, "--policy-config-file=" + config.policy, "--listen-address=" + address, "--report-address=" + reports,
			"--metrics-address=" + probes,
		}, evenkeelArgs[command]...)
		c, err := start(ctx, b.limit, filepath.Join(b.folder, command+".log"), b.binary, args...)
		if err != nil {
			return nil, err
		}
		return c, b.follow(ctx, c, command, "http://"+reports+"/nodes", "http://"+probes+"/readyz")
	}
}

// These match the logs of a plan with moves, and of the end of a cycle that made some.
var (
	planned = regexp.MustCompile(`"Planned".* moves=[1-9]`)
	cycled  = regexp.MustCompile(`"Cycle ended".* wouldEvict=[1-9]`)
)

// follow waits for the phases of a command's start.
func (b *bench) follow(ctx context.Context, c *child, command, nodes, ready string) error {
	phases := []struct {
		name string
		over func() bool
	}{
		{"lists", func() bool { return succeeds(ctx, ready) }},
		{"first observation", func() bool {
			fresh, err := freshNodes(ctx, nodes)
			return err == nil && fresh == b.fleet.nodes
		}},
		{"first plan", func() bool { return c.logged(planned) }},
		{"first cycle", func() bool { return c.logged(cycled) }},
	}
	switch {
	case command == "extender":
		phases = phases[1:2] // it is ready at once, and does not plan
	case b.fleet.nodes < 10:
		phases = phases[:2] // without hot nodes there is nothing to plan
	}
	for _, p := range phases {
		err := c.wait(ctx, p.over)
		if err == nil {
			err = c.reached(p.name)
		}
		if err != nil {
			return fmt.Errorf("waiting for the phase %q: %w", p.name, err)
		}
	}
	return nil
}

// logged reports whether a process has logged a line that the pattern matches.
func (c *child) logged(pattern *regexp.Regexp) bool {
	log, err := os.ReadFile(c.log.Name())
	return err == nil && pattern.Match(log)
}

// succeeds reports whether a request is answered with status 200.
func succeeds(ctx context.Context, url string) bool {
	response, err := get(ctx, url)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}

type files struct{ kube, policy string }

// configure writes evenkeel's files: the shipped policy, but with a short first window
// and a higher limit on moves.
func (b *bench) configure(source string) (files, error) {
	f := files{kube: filepath.Join(b.folder, "kubeconfig"), policy: filepath.Join(b.folder, "policy.yaml")}
	kube := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: fake, cluster: {server: %q}}]
contexts: [{name: fake, context: {cluster: fake}}]
current-context: fake
`, b.url)
	from := "- type: " + source
	if source == "Prometheus" {
		from += fmt.Sprintf("\n      prometheus: {address: %q}", b.url)
	}
	policy := fmt.Sprintf(`apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
  - name: evenkeel
    pluginConfig:
      - name: DefaultEvictor
        args: {minReplicas: 2, podProtections: {defaultDisabled: [PodsWithLocalStorage]}}
      - name: RealUsageLowNodeUtilization
        args: {}
    plugins: {balance: {enabled: [RealUsageLowNodeUtilization]}}
---
apiVersion: evenkeel.io/v1alpha1
kind: LoadPolicy
usage:
  sampleInterval: 15s
  observationPeriod: 45s
  sources:
    %s
hot:
  minWindow: 1s
eviction:
  maxMovesPerCycle: 300
`, from)
	return f, errors.Join(os.WriteFile(f.kube, []byte(kube), 0o600), os.WriteFile(f.policy, []byte(policy), 0o600))
}

// client asks the measured processes.
var client = http.Client{Timeout: 10 * time.Second}

func get(ctx context.Context, url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return client.Do(request)
}

// freshNodes returns the number of nodes with fresh usage.
func freshNodes(ctx context.Context, url string) (int, error) {
	response, err := get(ctx, url)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	var nodes []struct {
		Unknown string `json:"unknownReason"`
		Source  string `json:"source"`
	}
	if err := json.NewDecoder(response.Body).Decode(&nodes); err != nil {
		return 0, fmt.Errorf("reading the nodes: %w", err)
	}
	fresh := 0
	for _, n := range nodes {
		if n.Unknown == "" && n.Source != "" {
			fresh++
		}
	}
	return fresh, nil
}

// freeAddress returns an unused loopback address.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String(), nil
}
