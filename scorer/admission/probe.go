package admission

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/evenkeel/evenkeel/cluster/names"
	"github.com/evenkeel/evenkeel/ledger"
)

const (
	// visibleWithin is how long the API server may take to notice a key. The longest
	// measured time was 75 ms.
	visibleWithin = 2 * time.Second
	// visiblePause is the time between two looks.
	visiblePause = 5 * time.Millisecond
	// looksOfACycle is the number of consecutive connections over which the API server must steer before a cycle,
	// because one of several API servers may not steer yet.
	looksOfACycle = 4
)

// errUnsteered means that the API server does not change a pod with a key.
var errUnsteered = errors.New("the API server does not steer: it does not change a pod with a key")

// errNotInstalled means that this process has no permission to make the API server steer, or that the kind is not
// installed.
var errNotInstalled = fmt.Errorf("%w: no right to write Steerings or no such kind, because the overlay does not list deploy/components/admission-steering", ledger.ErrNotInstalled)

// Probe finds out whether the API server steers, using pods that it creates by dry run.
type Probe struct {
	keys   *Keys
	client kubernetes.Interface
}

// NewProbe returns a Probe that uses a new connection for each request, because several
// API servers may learn of keys at different times.
func NewProbe(keys *Keys, config *rest.Config) (*Probe, error) {
	config = rest.CopyConfig(config)
	secured, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's certificates: %w", err)
	}
	wrapped, err := rest.HTTPWrappersForConfig(config, &http.Transport{
		TLSClientConfig: secured, Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, TLSHandshakeTimeout: callTimeout,
	})
	if err != nil {
		return nil, fmt.Errorf("making the client of the probe: %w", err)
	}
	config.QPS = -1 // the Probe limits its own rate
	client, err := kubernetes.NewForConfigAndClient(config, &http.Client{Transport: wrapped, Timeout: callTimeout})
	if err != nil {
		return nil, fmt.Errorf("making the client of the probe: %w", err)
	}
	return &Probe{keys: keys, client: client}, nil
}

// permits reports whether this process has permission to release held pods.
func (p *Probe) permits(ctx context.Context) (bool, error) {
	for _, subresource := range []string{"", "status"} {
		allowed, err := p.allowed(ctx, authorizationv1.ResourceAttributes{Verb: "patch", Resource: "pods", Subresource: subresource})
		if err != nil || !allowed {
			return false, err
		}
	}
	return true, nil
}

// installed reports whether this process has permission to write keys. Trying to write
// them instead would cause a rejected request in every cycle, which audits would report.
// A client with all permissions was not given this one for the purpose of steering, so
// for such a client the kind must also exist.
func (p *Probe) installed(ctx context.Context) (bool, error) {
	given, err := p.allowed(ctx, authorizationv1.ResourceAttributes{Verb: "patch", Group: resource.Group, Resource: resource.Resource})
	if err != nil || !given {
		return false, err
	}
	if all, err := p.allowed(ctx, authorizationv1.ResourceAttributes{Verb: "*", Group: "*", Resource: "*"}); err != nil || !all {
		return err == nil, err
	}
	switch _, err := p.client.Discovery().ServerResourcesForGroupVersion(resource.GroupVersion().String()); {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("asking whether there are Steerings: %w", err)
	}
	return true, nil
}

// Served reports whether the API server has the kind of keys, without which it cannot steer. It changes nothing, and
// therefore proves nothing.
func Served(ctx context.Context, client discovery.DiscoveryInterface) bool {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	raw, err := client.RESTClient().Get().AbsPath("/apis", resource.Group, resource.Version).SetHeader("Accept", "application/json").DoRaw(ctx)
	served := metav1.APIResourceList{}
	if err != nil || json.Unmarshal(raw, &served) != nil {
		return false
	}
	return slices.ContainsFunc(served.APIResources, func(r metav1.APIResource) bool { return r.Name == resource.Resource })
}

// allowed asks whether this process has a permission in all namespaces.
func (p *Probe) allowed(ctx context.Context, right authorizationv1.ResourceAttributes) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &right}}
	answered, err := p.client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("asking for the right to %s %s: %w", right.Verb, right.Resource, err)
	}
	return answered.Status.Allowed, nil
}

// visible waits until the API server steers with a key that the Probe has set, over
// inARow connections. It then also steers with all keys that were set before, because it
// learns of keys in order. visible returns errUnsteered if this takes too long, and any
// other error if the API server cannot be reached.
func (p *Probe) visible(ctx context.Context, inARow int) error {
	ctx, cancel := context.WithTimeout(ctx, visibleWithin)
	defer cancel()
	uid := string(uuid.NewUUID())
	node := "probe-" + uid // no node has such a name
	of := keyID{probeNamespace, uid}
	until := p.keys.now().Add(keyLasts).Truncate(time.Second) // if clocks differ so much that no key steers, this key does not steer either
	if err := p.keys.set(ctx, of, uid, target{Nodes: []string{node}, Until: until, By: byNames}); err != nil {
		return err
	}
	defer p.keys.clear(ctx, of, uid)
	for steered := 0; ; {
		pod, err := p.create(ctx, uid)
		switch {
		case err != nil:
			return fmt.Errorf("probing whether the API server steers: %w", err)
		case !strings.Contains(pod.Annotations[names.Annotation], node):
			steered = 0
		default:
			steered++
		}
		if steered == inARow {
			return nil
		}
		select {
		case <-ctx.Done():
			return errUnsteered
		case <-time.After(visiblePause):
		}
	}
}

// look creates a pod without a key by dry run.
func (p *Probe) look(ctx context.Context) error {
	_, err := p.create(ctx, string(uuid.NewUUID()))
	return err
}

func (p *Probe) create(ctx context.Context, ownerUID string) (*v1.Pod, error) {
	return p.client.CoreV1().Pods(probeNamespace).Create(ctx, probePod(ownerUID), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}) //nolint:wrapcheck // visible adds the context
}

// probePod returns a pod that passes the restricted Pod Security Standard.
func probePod(ownerUID string) *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "probe", Namespace: probeNamespace,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "probe", UID: types.UID(ownerUID), Controller: new(true),
			}},
		},
		Spec: v1.PodSpec{
			AutomountServiceAccountToken: new(false),
			SecurityContext: &v1.PodSecurityContext{
				RunAsNonRoot: new(true), SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []v1.Container{{
				Name: "probe", Image: "none",
				SecurityContext: &v1.SecurityContext{
					AllowPrivilegeEscalation: new(false), Capabilities: &v1.Capabilities{Drop: []v1.Capability{"ALL"}},
				},
			}},
		},
	}
}
