package kube

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/likely"
)

// Access describes how to reach the API server, like kubectl's flags.
type Access struct {
	// Kubeconfig is a kubeconfig file. If it is empty, $KUBECONFIG is used; if that is empty
	// as well, the process is assumed to run in a pod. Context is a context in the file; if
	// it is empty, the current context is used.
	Kubeconfig, Context string
	// As and AsGroups are the user and groups to impersonate.
	As       string
	AsGroups []string
}

// Config returns the client configuration.
func (a *Access) Config() (*rest.Config, error) {
	if a.Kubeconfig != "" {
		if _, err := os.Stat(a.Kubeconfig); err != nil {
			return nil, exit.Usagef("--kubeconfig: %w", err)
		}
	}
	if a.As == "" && len(a.AsGroups) > 0 {
		return nil, exit.Usagef("--as-group goes with --as")
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = a.Kubeconfig
	if err := a.checkContext(rules); err != nil {
		return nil, err
	}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: a.Context}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		err = noCluster(rules)
	}
	switch {
	case err != nil && a.Kubeconfig != "":
		return nil, fmt.Errorf("finding the API server in %q: %w", a.Kubeconfig, err)
	case err != nil:
		return nil, fmt.Errorf("finding the API server: %w", err)
	}
	if a.As != "" {
		config.Impersonate = rest.ImpersonationConfig{UserName: a.As, Groups: a.AsGroups}
	}
	return config, nil
}

// noCluster returns an error that lists where a cluster was searched for. client-go's own
// message recommends a variable that Evenkeel does not read.
func noCluster(rules *clientcmd.ClientConfigLoadingRules) error {
	var files []string
	for _, name := range rules.GetLoadingPrecedence() {
		if _, err := os.Stat(name); err != nil {
			name += " (which cannot be read)"
		}
		files = append(files, name)
	}
	return fmt.Errorf("invalid configuration: there is no cluster in %s; name a kubeconfig by --kubeconfig or $KUBECONFIG", strings.Join(files, " or "))
}

// checkContext returns an error for a context that does not exist. Only the command line
// can name such a context.
func (a *Access) checkContext(rules *clientcmd.ClientConfigLoadingRules) error {
	if a.Context == "" {
		return nil
	}
	loaded, err := rules.Load()
	if err != nil {
		return nil //nolint:nilerr // whoever loads it next reports it
	}
	if _, known := loaded.Contexts[a.Context]; known {
		return nil
	}
	names := slices.Sorted(maps.Keys(loaded.Contexts))
	return exit.Usagef("--context: the kubeconfig has no context %q%s (it has: %q)", a.Context, likely.Hint(a.Context, names), names)
}
