package commands

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A ready pod of serve is preferred to one of extender. No other pod is asked.
func TestReporting(t *testing.T) {
	pod := func(label, namespace, name string, change ...func(*v1.Pod)) v1.Pod {
		p := v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app.kubernetes.io/name": label}},
			Status:     v1.PodStatus{Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}},
		}
		for _, c := range change {
			c(&p)
		}
		return p
	}
	starting := func(p *v1.Pod) { p.Status.Conditions[0].Status = v1.ConditionFalse }
	leaving := func(p *v1.Pod) { p.DeletionTimestamp = new(metav1.Now()) }
	extender := pod("evenkeel-extender", "a", "extender-1")
	cases := map[string]struct {
		pods []v1.Pod
		want string
	}{
		"none":                      {nil, ""},
		"a pod of extender":         {[]v1.Pod{extender}, "extender-1"},
		"serve is preferred":        {[]v1.Pod{extender, pod("evenkeel", "b", "serve-1")}, "serve-1"},
		"the first of two pods":     {[]v1.Pod{pod("evenkeel", "b", "serve-2"), pod("evenkeel", "b", "serve-1")}, "serve-1"},
		"a pod that is starting":    {[]v1.Pod{pod("evenkeel", "b", "serve-1", starting), extender}, "extender-1"},
		"a pod that is terminating": {[]v1.Pod{pod("evenkeel", "b", "serve-1", leaving)}, ""},
		"another program":           {[]v1.Pod{pod("evenkeel-nodesync", "b", "nodesync-1"), pod("", "b", "web-1")}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if found := reporting(tc.pods); found != nil {
				got = found.Name
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("pod (-want +got):\n%s", diff)
			}
		})
	}
}
