package admission

import (
	"context"
	"fmt"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evenkeel/evenkeel/test/cluster/apifault"
	"github.com/evenkeel/evenkeel/test/cluster/e2e/stage"
	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// keyLives is longer than a key of a ReplicaSet lives.
const keyLives = 13 * time.Second

// step is a step of a move: the request with which the process got no further.
type step struct {
	verb, resource string
	// after is the request that comes just before, which is held up for a moment.
	after string
}

func (s step) silence(p *apifault.Proxy) {
	silent := apifault.Rule{Verbs: []string{s.verb}, Resources: []string{s.resource}, Effect: apifault.OfKind(apifault.Silent)}
	if s.after != "" {
		p.Apply(apifault.Rule{Verbs: []string{"patch"}, Resources: []string{s.after}, Effect: apifault.SlowBy(time.Second)})
		return
	}
	p.Apply(silent)
}

// reached waits until the process waits for the answer to its request.
func (s step) reached(f *stage.Fixture, p *apifault.Proxy, silent, slow int) {
	f.T.Helper()
	if s.after != "" {
		f.Eventually(time.Minute, "a request for "+s.after, func(context.Context) bool { return p.Seen(apifault.Slow) > slow })
		p.Apply(apifault.Rule{Verbs: []string{s.verb}, Resources: []string{s.resource}, Effect: apifault.OfKind(apifault.Silent)})
	}
	f.Eventually(time.Minute, "a request for "+s.resource, func(context.Context) bool { return p.Seen(apifault.Silent) > silent })
}

// The only process is killed at each step of a move. Pods that come when its key
// has ended are not touched; when it is back, no key and no gate is left and no
// pod waits.
func TestKilledWhileSteering(t *testing.T) {
	for name, at := range map[string]step{
		"the key is set":            {verb: "create", resource: "pods/eviction"},
		"the replacement is held":   {verb: "patch", resource: "pods/status"},
		"a node is nominated":       {verb: "patch", resource: "pods"},
		"the gate is off":           {verb: "patch", resource: "steerings", after: "pods"},
		"the key is not proven yet": {verb: "create", resource: "pods"},
	} {
		t.Run(name, func(t *testing.T) {
			f, o, _ := nobodyAsks(t, "admission-steering")
			through, proxy := f.APIProxy()
			policy := f.Policy(stage.RealUsage, byAPIServer)
			for range 5 {
				silent, slow := proxy.Seen(apifault.Silent), proxy.Seen(apifault.Slow)
				at.silence(proxy)
				process := through.Serve(policy)
				at.reached(f, proxy, silent, slow)
				process.Kill()
				proxy.Apply()
				time.Sleep(keyLives)
				untouched(t, f)
				back(t, f, o, through.Serve(policy))
			}
		})
	}
}

// untouched has a Deployment with a key make another pod, and wants nobody to
// touch it.
func untouched(t *testing.T, f *stage.Fixture) {
	t.Helper()
	before := f.PodsByUID(t.Context())
	deployment, err := f.Client().AppsV1().Deployments("shop").GetScale(t.Context(), "hog", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scale := func(to int32) {
		patch := fmt.Appendf(nil, `{"spec": {"replicas": %d}}`, to)
		if _, err := f.Client().AppsV1().Deployments("shop").Patch(t.Context(), "hog", types.MergePatchType, patch, metav1.PatchOptions{}, "scale"); err != nil {
			t.Fatal(err)
		}
	}
	scale(deployment.Spec.Replicas + 1)
	came := v1.Pod{}
	f.Eventually(5*time.Second, "another pod of hog with a node", func(ctx context.Context) bool {
		for uid, pod := range f.PodsByUID(ctx) {
			if _, known := before[uid]; !known && pod.Spec.NodeName != "" {
				came = pod
				return true
			}
		}
		return false
	})
	if by := came.Annotations["evenkeel.io/steered"]; by != "" {
		t.Errorf("a pod that came after the key had ended is steered: %q", by)
	}
	scale(deployment.Spec.Replicas)
}

// back waits until a process that came back has left nothing, and stops it.
func back(t *testing.T, f *stage.Fixture, o ours, process *evenkeel.Process) {
	t.Helper()
	f.Eventually(10*time.Second, "no pod held", func(ctx context.Context) bool {
		for _, pod := range f.PodsByUID(ctx) {
			if len(pod.Spec.SchedulingGates) > 0 {
				return false
			}
		}
		return true
	})
	f.Eventually(time.Minute, "nothing left", func(ctx context.Context) bool { return nothingLeft(ctx, f, o) })
	if err := process.Stop(); err != nil {
		t.Error(err)
	}
}
