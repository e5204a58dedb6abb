package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// writePolicy writes the shipped policy.yaml with some waiting times shortened, so that
// the demo takes only minutes.
func writePolicy(ctx context.Context, dir string) (string, error) {
	root, err := evenkeel.Root(ctx)
	if err != nil {
		return "", err
	}
	content, err := os.ReadFile(filepath.Join(root, "policy.yaml"))
	if err != nil {
		return "", fmt.Errorf("reading the shipped policy: %w", err)
	}
	text := string(content)
	for from, to := range map[string]string{
		"sampleInterval: 15s":     "sampleInterval: 10s", // equals the interval of this metrics-server
		"observationPeriod: 150s": "observationPeriod: 80s",
		"minWindow: 150s":         "minWindow: 75s",
		"startup: 3m":             "startup: 0s", // these nodes and pods are a minute old,
		// and so are their Deployments; outcomes must appear while users are watching
		"ownerSettle: 3m": "ownerSettle: 10s\n  outcomeAfter: 1m",
	} {
		if !strings.Contains(text, from) {
			return "", fmt.Errorf("shortening the shipped policy: it has no %q", from)
		}
		text = strings.Replace(text, from, to, 1)
	}
	path := filepath.Join(dir, "policy.yaml")
	return path, os.WriteFile(path, []byte(text), 0o600)
}
