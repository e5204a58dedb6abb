package app

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Transition times of conditions are kept if the first policy uses them. Later policies can then
// use them as well.
func TestTransitionsAreKeptForThosePoliciesThatReadThem(t *testing.T) {
	policyWith := func(condition string) string {
		return upstreamHead + "  pluginConfig: [{name: PodLifeTime, args: {conditions: [{" + condition + "}]}}]\n" +
			"  plugins: {deschedule: {enabled: [PodLifeTime]}}\n---\n" + loadPolicyHead
	}
	cases := map[string]struct {
		policy string
		kept   bool
	}{
		"a policy that uses them":                     {policyWith("status: x, minTimeSinceLastTransitionSeconds: 60"), true},
		"a policy that uses conditions without times": {policyWith("status: x"), false},
		"a policy that uses usage":                    {byUsage + evictAt(60), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newReloading(t, tc.policy)
			conditions := []v1.PodCondition{{Type: v1.PodReady, LastTransitionTime: metav1.Unix(1_900_000_000, 0)}}
			pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "pod"}, Status: v1.PodStatus{Conditions: conditions}}
			_, err := r.client.CoreV1().Pods("ns").Create(t.Context(), pod, metav1.CreateOptions{})
			r.must(err)
			var stored *v1.Pod
			for ; stored == nil; time.Sleep(time.Millisecond) {
				stored = r.evicting.cluster.Pod("ns", "pod")
			}
			if got := !stored.Status.Conditions[0].LastTransitionTime.IsZero(); got != tc.kept {
				t.Errorf("times kept %t, want %t", got, tc.kept)
			}
			r.changed(t.Context(), []byte(policyWith("reason: Completed, minTimeSinceLastTransitionSeconds: 60")), nil)
			if diff := cmp.Diff(tc.kept, r.process.current() != r.first); diff != "" {
				t.Errorf("another policy that reads them is applied (-want +got):\n%s", diff)
			}
		})
	}
}
