// Package kube connects a process to the API server: its client, its clock, and the
// progress of the first lists of its watches. It does not know what the requests are for.
package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	utilversion "k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/evenkeel/evenkeel/internal/servertime"
)

// Limits of requests to the API server. Usage sources have their own limits.
const (
	clientQPS   = 50
	clientBurst = 100
)

// Connection is a process's access to the API server.
type Connection struct {
	// REST is for making further clients. Responses to those do not set the clock, because
	// kubelets and aggregated APIs use their own clocks, even through the API server.
	REST   *rest.Config
	Client kubernetes.Interface
	// Clock is the API server's clock, derived from its responses.
	Clock *servertime.Clock

	config   *rest.Config // of Client; nil if it is a fake
	over     *http.Client
	arrivals arrivals // bytes received over it
}

// Connect makes the client without sending a request.
func Connect(config *rest.Config) (*Connection, error) {
	c := &Connection{REST: config, Clock: servertime.New(servertime.Local)}
	config.UserAgent = rest.DefaultKubernetesUserAgent()
	config.QPS, config.Burst = clientQPS, clientBurst
	built := rest.CopyConfig(config)
	built.ContentType = "application/vnd.kubernetes.protobuf"
	built.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	built.Wrap(c.Clock.Wrap)
	built.Wrap(c.arrivals.wrap)
	over, err := rest.HTTPClientFor(built)
	if err != nil {
		return nil, fmt.Errorf("making the client: %w", err)
	}
	if c.Client, err = kubernetes.NewForConfigAndClient(built, over); err != nil {
		return nil, fmt.Errorf("making the client: %w", err)
	}
	c.config, c.over = built, over
	return c, nil
}

// ReachTimeout is how long the API server may take for its first response.
const ReachTimeout = 10 * time.Second

// Reach requests the API server's version, so that an unreachable API server is reported
// in one line. It sends enough requests to determine the clock's skew before anything
// depends on it.
func (c *Connection) Reach(ctx context.Context) error {
	config := rest.CopyConfig(c.REST)
	config.Timeout = ReachTimeout
	config.Wrap(c.Clock.Wrap)
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("making the client: %w", err)
	}
	for range servertime.Quorum {
		if err := client.RESTClient().Get().AbsPath("/version").Do(ctx).Error(); err != nil {
			return fmt.Errorf("reaching the API server at %s: %w", c.REST.Host, err)
		}
	}
	return nil
}

// Dynamic makes a client for kinds for which no Go types are compiled in.
func (c *Connection) Dynamic() (dynamic.Interface, error) {
	client, err := dynamic.NewForConfig(c.REST)
	if err != nil {
		return nil, fmt.Errorf("making the client of kinds without a type: %w", err)
	}
	return client, nil
}

// Version returns the Kubernetes version reported by the API server, such as
// v1.36.3.
func (c *Connection) Version(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, ReachTimeout)
	defer cancel()
	raw, err := c.Client.Discovery().RESTClient().Get().AbsPath("/version").DoRaw(ctx)
	if err != nil {
		return "", fmt.Errorf("asking the API server for its version: %w", err)
	}
	var info version.Info
	if err := json.Unmarshal(raw, &info); err != nil {
		return "", fmt.Errorf("reading the API server's version: %w", err)
	}
	return info.GitVersion, nil
}

// ListWatch lists and watches all objects of a core resource.
func (c *Connection) ListWatch(resource string) cache.ListerWatcher {
	return listWatch(c.Client.CoreV1().RESTClient(), resource)
}

func listWatch(client rest.Interface, resource string) cache.ListerWatcher {
	return cache.NewListWatchFromClient(client, resource, metav1.NamespaceAll, fields.Everything())
}

// CallTimeout bounds one call to the API server.
const CallTimeout = 30 * time.Second

// Secret reads one value of a Secret.
func (c *Connection) Secret(ctx context.Context, namespace, name, key string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTimeout)
	defer cancel()
	secret, err := c.Client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return "", fmt.Errorf("reading Secret %s/%s: %w", namespace, name, err)
	}
	value, ok := secret.Data[key]
	if !ok {
		return "", fmt.Errorf("reading Secret %s/%s: it has no key %q", namespace, name, key)
	}
	return strings.TrimSpace(string(value)), nil
}

// tokenSeconds is the requested lifetime of tokens for other ServiceAccounts. It is
// short, because servers receive the tokens, but far above the minimum of 10 minutes.
const tokenSeconds = 60 * 60

// TokensIn returns a function that requests a token for a ServiceAccount in a namespace
// and returns it with its expiry. The token's audience is the API server. Kubelets accept
// no other audience.
func (c *Connection) TokensIn(namespace string) func(ctx context.Context, serviceAccount string) (string, time.Time, error) {
	return func(ctx context.Context, serviceAccount string) (string, time.Time, error) {
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(tokenSeconds))}}
		granted, err := c.Client.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, serviceAccount, request, metav1.CreateOptions{})
		if err != nil {
			return "", time.Time{}, err //nolint:wrapcheck // who asks says what for
		}
		return granted.Status.Token, granted.Status.ExpirationTimestamp.Time, nil
	}
}

// As returns a client that impersonates a user in groups. If name is empty, it returns
// Client.
func (c *Connection) As(name string, groups []string) (kubernetes.Interface, error) {
	if name == "" {
		return c.Client, nil
	}
	config := rest.CopyConfig(c.REST)
	config.Impersonate = rest.ImpersonationConfig{UserName: name, Groups: groups}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the client for %q: %w", name, err)
	}
	return client, nil
}

// DynamicResources reports whether the cluster serves the API for pods'
// resource claims.
func (c *Connection) DynamicResources() (bool, error) {
	groups, err := c.Client.Discovery().ServerGroups()
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

// declaresFeatures is the first version of Kubernetes whose nodes declare their
// features by default and whose kube-scheduler compares them with pods' needs.
var declaresFeatures = utilversion.MajorMinor(1, 36)

// DeclaredFeatures reports whether pods run only on nodes that declare the
// features that the pods need.
func (c *Connection) DeclaredFeatures() (bool, error) {
	info, err := c.Client.Discovery().ServerVersion()
	if err != nil {
		return false, fmt.Errorf("asking the API server for its version: %w", err)
	}
	version, err := utilversion.ParseGeneric(info.GitVersion)
	if err != nil {
		return false, fmt.Errorf("reading the API server's version: %w", err)
	}
	return version.AtLeast(declaresFeatures), nil
}
