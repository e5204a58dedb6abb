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
		args := append([]string{
			command, "--kubeconfig=" + config.kube, "--policy-config-file=" + config.policy, "--listen-address=" + address, "--report-address=" + reports,
			"--metrics-address=0",
		}, evenkeelArgs[command]...)
		c, err := start(ctx, b.limit, filepath.Join(b.folder, command+".log"), b.binary, args...)
		if err != nil {
			return nil, err
		}
		err = b.waitFresh(ctx, c, "http://"+reports+"/nodes")
		if err != nil || command == "extender" || b.fleet.nodes < 10 { // without hot nodes there is nothing to plan
			return c, err
		}
		return c, waitPlanned(ctx, c)
	}
}

// planned matches the log of a plan with moves.
var planned = regexp.MustCompile(`"Plan (would be )?carried out".* planned=[1-9]`)

// waitPlanned waits until a plan was made.
func waitPlanned(ctx context.Context, c *child) error {
	err := c.wait(ctx, func() bool {
		log, err := os.ReadFile(c.log.Name())
		return err == nil && planned.Match(log)
	})
	if err != nil {
		return fmt.Errorf("waiting for a plan: %w", err)
	}
	return nil
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
  maxMovesPerCycle: 500
`, from)
	return f, errors.Join(os.WriteFile(f.kube, []byte(kube), 0o600), os.WriteFile(f.policy, []byte(policy), 0o600))
}

// waitFresh waits until a process has fresh usage of every node.
func (b *bench) waitFresh(ctx context.Context, c *child, url string) error {
	err := c.wait(ctx, func() bool {
		fresh, err := freshNodes(ctx, url)
		return err == nil && fresh == b.fleet.nodes
	})
	if err != nil {
		return fmt.Errorf("waiting for usage of all nodes: %w", err)
	}
	return nil
}

func freshNodes(ctx context.Context, url string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
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
