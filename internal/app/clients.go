package app

import (
	"context"
	"fmt"
	"os"
	"time"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/evenkeel/evenkeel/internal/exit"
	"github.com/evenkeel/evenkeel/internal/servertime"
)

// The API server is asked at most so often; usage sources have a limit of their own.
const (
	clientQPS   = 50
	clientBurst = 100
)

// connect makes the clients, without a request.
func (a *App) connect() error {
	config, err := a.options.rest()
	if err != nil {
		return err
	}
	config.UserAgent = rest.DefaultKubernetesUserAgent()
	config.QPS, config.Burst = clientQPS, clientBurst
	a.rest = config
	built := rest.CopyConfig(config)
	built.ContentType = "application/vnd.kubernetes.protobuf"
	built.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	a.setsClock(built)
	built.Wrap(a.arrivals.wrap)
	if a.client, err = kubernetes.NewForConfig(built); err != nil {
		return fmt.Errorf("making the client: %w", err)
	}
	return nil
}

// rest says how the API server is reached.
func (o *Options) rest() (*rest.Config, error) {
	if o.REST == nil {
		return restConfig(o.Kubeconfig)
	}
	config := rest.CopyConfig(o.REST)
	config.ContentConfig, config.RateLimiter = rest.ContentConfig{}, nil // each client has its own
	return config, nil
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		if _, err := os.Stat(kubeconfig); err != nil {
			return nil, exit.Usagef("--kubeconfig: %w", err)
		}
	}
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil && kubeconfig != "" {
		return nil, fmt.Errorf("finding the API server in %q: %w", kubeconfig, err)
	}
	if err != nil {
		return nil, fmt.Errorf("finding the API server: %w", err)
	}
	return config, nil
}

// reachTimeout is how long the API server may take to answer at all.
const reachTimeout = 10 * time.Second

// reach asks the API server for its version, so that one that is not there is told in one line. It does so until the clock is
// known, before anything is judged by it.
func (a *App) reach(ctx context.Context) error {
	config := rest.CopyConfig(a.rest)
	config.Timeout = reachTimeout
	a.setsClock(config)
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("making the client: %w", err)
	}
	for range servertime.Quorum {
		if err := client.RESTClient().Get().AbsPath("/version").Do(ctx).Error(); err != nil {
			return fmt.Errorf("reaching the API server at %s: %w", a.rest.Host, err)
		}
	}
	a.started = a.now() // what it was before was perhaps another clock's
	return nil
}

// servesDynamicResources says whether the cluster has the API that pods' resource claims need.
func servesDynamicResources(client kubernetes.Interface) (bool, error) {
	groups, err := client.Discovery().ServerGroups()
	if err != nil {
		return false, fmt.Errorf("asking the API server for its groups: %w", err)
	}
	for _, group := range groups.Groups {
		for _, version := range group.Versions {
			if version.GroupVersion == "resource.k8s.io/v1" {
				return true, nil
			}
		}
	}
	return false, nil
}
