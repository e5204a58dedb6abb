package plugintest

import (
	"context"
	"errors"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	podutil "sigs.k8s.io/descheduler/pkg/descheduler/pod"
	frameworkfake "sigs.k8s.io/descheduler/pkg/framework/fake"
	"sigs.k8s.io/descheduler/pkg/framework/plugins/defaultevictor"
	frameworktypes "sigs.k8s.io/descheduler/pkg/framework/types"

	"github.com/evenkeel/evenkeel/placement"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/strategies"
	"github.com/evenkeel/evenkeel/strategies/plugin"
)

// Half is the evicting half for a test.
type Half struct {
	Observed *strategies.Observed
	// Open opens a what-if session; nil if there is none.
	Open func(ctx context.Context) (*placement.Session, error)
	// Find returns the pod with a UID, for supposed moves. It may be nil if there are none.
	Find func(uid string) *v1.Pod
	// Refused holds, by pod name, why pods must not be moved. Gate decides about all
	// other pods; if it is nil, only the profile's filters and namespaces do.
	Refused map[string]reasons.Reason
	Gate    interface {
		Refuse(ctx context.Context, pod *strategies.Candidate, profile *strategies.Profile) reasons.Reason
	}
	// Costs returns the cost of moving a pod; if it is nil, every pod counts as a plain
	// one.
	Costs func(*v1.Pod) strategies.Disruption
}

var _ plugin.Half = (*Half)(nil)

// Observe implements plugin.Half.
func (h *Half) Observe() strategies.Observed { return *h.Observed }

// Session implements plugin.Half.
func (h *Half) Session(ctx context.Context, supposed []strategies.Move) (*placement.Session, error) {
	if h.Open == nil {
		return nil, errors.New("there is no session")
	}
	session, err := h.Open(ctx)
	for i := 0; i < len(supposed) && err == nil; i++ {
		_, err = session.Move(h.Find(supposed[i].UID), supposed[i].To)
	}
	return session, err
}

// Refuse implements plugin.Half.
func (h *Half) Refuse(ctx context.Context, pod *strategies.Candidate, profile *strategies.Profile) reasons.Reason {
	switch {
	case h.Refused[pod.Object.Name] != "":
		return h.Refused[pod.Object.Name]
	case h.Gate != nil:
		return h.Gate.Refuse(ctx, pod, profile)
	case profile.Spares(pod.Object.Namespace):
		return reasons.NamespaceExcluded
	case !profile.Filter(pod.Object):
		return reasons.ProtectedByDefaultEvictor
	case !profile.PreEvictionFilter(pod.Object):
		return reasons.PreEvictionFilter
	}
	return ""
}

// Protection implements plugin.Half.
func (h *Half) Protection(*v1.Pod) (reasons.Reason, string) { return "", "" }

// Disruption implements plugin.Half.
func (h *Half) Disruption(pod *v1.Pod) strategies.Disruption {
	if h.Costs == nil {
		return strategies.Disruption{}
	}
	return h.Costs(pod)
}

// Moving implements plugin.Half.
func (h *Half) Moving(string) bool { return false }

// Handle returns a handle of the framework with the DefaultEvictor, whose arguments may
// be nil, and the pods of nodes.
func Handle(tb testing.TB, args *defaultevictor.DefaultEvictorArgs, podsOf func(node string) []*v1.Pod) *frameworkfake.HandleImpl {
	tb.Helper()
	handle := &frameworkfake.HandleImpl{
		SharedInformerFactoryImpl:     informers.NewSharedInformerFactory(fake.NewClientset(), 0),
		GetPodsAssignedToNodeFuncImpl: func(node string, _ podutil.FilterFunc) ([]*v1.Pod, error) { return podsOf(node), nil },
	}
	if args == nil {
		args = &defaultevictor.DefaultEvictorArgs{}
	}
	evictor, err := defaultevictor.New(tb.Context(), args, handle)
	if err != nil {
		tb.Fatal(err)
	}
	handle.EvictorFilterImpl = evictor.(frameworktypes.EvictorPlugin)
	return handle
}
