package quota

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
)

func list(amounts map[v1.ResourceName]string) v1.ResourceList {
	l := v1.ResourceList{}
	for name, amount := range amounts {
		l[name] = resource.MustParse(amount)
	}
	return l
}

func quotaOf(hard, used map[v1.ResourceName]string, change ...func(*v1.ResourceQuota)) *v1.ResourceQuota {
	q := &v1.ResourceQuota{Status: v1.ResourceQuotaStatus{Hard: list(hard), Used: list(used)}}
	q.Spec.Hard = q.Status.Hard
	for _, c := range change {
		c(q)
	}
	return q
}

// aPod returns a pod that requests one core and 1 Gi, with limits of twice that.
func aPod(change ...func(*v1.Pod)) *v1.Pod {
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Name: "main", Resources: v1.ResourceRequirements{
		Requests: list(map[v1.ResourceName]string{"cpu": "1", "memory": "1Gi"}),
		Limits:   list(map[v1.ResourceName]string{"cpu": "2", "memory": "2Gi"}),
	}}}}, Status: v1.PodStatus{Phase: v1.PodRunning}}
	for _, c := range change {
		c(pod)
	}
	return pod
}

func TestAllow(t *testing.T) {
	type amounts = map[v1.ResourceName]string
	scoped := func(scope v1.ResourceQuotaScope) func(*v1.ResourceQuota) {
		return func(q *v1.ResourceQuota) { q.Spec.Scopes = []v1.ResourceQuotaScope{scope} }
	}
	terminating := func(p *v1.Pod) {
		long := metav1.NewTime(time.Now().Add(-time.Hour))
		p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &long, new(int64)
	}
	ending := func(p *v1.Pod) { p.Name = "ends" }
	for name, tc := range map[string]struct {
		quotas []*v1.ResourceQuota
		pods   []*v1.Pod
		want   bool
	}{
		"no quota":            {nil, []*v1.Pod{aPod()}, true},
		"room for exactly it": {[]*v1.ResourceQuota{quotaOf(amounts{"requests.cpu": "4"}, amounts{"requests.cpu": "3"})}, []*v1.Pod{aPod()}, true},
		"a bit too little":    {[]*v1.ResourceQuota{quotaOf(amounts{"requests.cpu": "4"}, amounts{"requests.cpu": "3001m"})}, []*v1.Pod{aPod()}, false},
		"cpu is requests.cpu": {[]*v1.ResourceQuota{quotaOf(amounts{"cpu": "4"}, amounts{"cpu": "3500m"})}, []*v1.Pod{aPod()}, false},
		"limits count":        {[]*v1.ResourceQuota{quotaOf(amounts{"limits.memory": "4Gi"}, amounts{"limits.memory": "3Gi"})}, []*v1.Pod{aPod()}, false},
		"so do pods":          {[]*v1.ResourceQuota{quotaOf(amounts{"pods": "3"}, amounts{"pods": "3"})}, []*v1.Pod{aPod()}, false},
		"and objects":         {[]*v1.ResourceQuota{quotaOf(amounts{"count/pods": "3"}, amounts{"count/pods": "3"})}, []*v1.Pod{aPod()}, false},
		"nothing of pods":     {[]*v1.ResourceQuota{quotaOf(amounts{"services": "3"}, amounts{"services": "3"})}, []*v1.Pod{aPod()}, true},
		"exceeded by a resource that the pod does not use": {
			[]*v1.ResourceQuota{quotaOf(amounts{"requests.nvidia.com/gpu": "1", "pods": "9"}, amounts{"requests.nvidia.com/gpu": "2", "pods": "3"})},
			[]*v1.Pod{aPod()}, true,
		},
		"the second of two": {
			[]*v1.ResourceQuota{quotaOf(amounts{"pods": "9"}, amounts{"pods": "3"}), quotaOf(amounts{"pods": "3"}, amounts{"pods": "3"})},
			[]*v1.Pod{aPod()}, false,
		},
		"room for one, not for two": {
			[]*v1.ResourceQuota{quotaOf(amounts{"requests.cpu": "4"}, amounts{"requests.cpu": "3"})}, []*v1.Pod{aPod(), aPod()}, false,
		},
		"one that is on its way out counts like any other": {
			[]*v1.ResourceQuota{quotaOf(amounts{"requests.cpu": "4"}, amounts{"requests.cpu": "3"})},
			[]*v1.Pod{aPod(), aPod(terminating)}, false,
		},
		"of best-effort pods": {
			[]*v1.ResourceQuota{quotaOf(amounts{"pods": "3"}, amounts{"pods": "3"}, scoped(v1.ResourceQuotaScopeBestEffort))}, []*v1.Pod{aPod()}, true,
		},
		"for pods that are not best-effort": {
			[]*v1.ResourceQuota{quotaOf(amounts{"pods": "3"}, amounts{"pods": "3"}, scoped(v1.ResourceQuotaScopeNotBestEffort))}, []*v1.Pod{aPod()}, false,
		},
		"full, for one that ends first": {
			[]*v1.ResourceQuota{quotaOf(amounts{"pods": "3"}, amounts{"pods": "3"})}, []*v1.Pod{aPod(ending)}, true,
		},
		"full, for one that ends first and one that does not": {
			[]*v1.ResourceQuota{quotaOf(amounts{"pods": "3"}, amounts{"pods": "3"})}, []*v1.Pod{aPod(ending), aPod()}, false,
		},
		"exceeded, for one that ends first": {
			[]*v1.ResourceQuota{quotaOf(amounts{"pods": "2"}, amounts{"pods": "3"})}, []*v1.Pod{aPod(ending)}, false,
		},
		"not counted yet": {[]*v1.ResourceQuota{quotaOf(nil, nil)}, []*v1.Pod{aPod()}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var replaced []Replaced
			for _, pod := range tc.pods {
				replaced = append(replaced, Replaced{Pod: pod, Ends: pod.Name == "ends"})
			}
			if got := Allow(tc.quotas, replaced...); got != tc.want {
				t.Errorf("Allow = %v, want %v", got, tc.want)
			}
		})
	}
}

// Allow agrees with the API server's admission plugin, which decides whether a replacement may be
// created. A running pod whose replacement the plugin would refuse must not be evicted.
func TestAllowAgreesWithAdmission(t *testing.T) {
	type amounts = map[v1.ResourceName]string
	requesting := func(requests, limits amounts) func(*v1.Pod) {
		return func(p *v1.Pod) {
			p.Spec.Containers[0].Resources = v1.ResourceRequirements{Requests: list(requests), Limits: list(limits)}
		}
	}
	ofPriority := func(q *v1.ResourceQuota) {
		q.Spec.ScopeSelector = &v1.ScopeSelector{MatchExpressions: []v1.ScopedResourceSelectorRequirement{
			{ScopeName: v1.ResourceQuotaScopePriorityClass, Operator: v1.ScopeSelectorOpIn, Values: []string{"high"}},
		}}
	}
	high := func(p *v1.Pod) { p.Spec.PriorityClassName = "high" }
	for name, tc := range map[string]struct {
		quota *v1.ResourceQuota
		pod   *v1.Pod
	}{
		"requests that the quota asks for and the pod, which is older, does not state": {
			quotaOf(amounts{"requests.cpu": "4"}, amounts{"requests.cpu": "0"}), aPod(requesting(nil, nil)),
		},
		"limits": {
			quotaOf(amounts{"limits.memory": "4Gi", "pods": "9"}, amounts{"limits.memory": "0", "pods": "1"}),
			aPod(requesting(amounts{"cpu": "1"}, nil)),
		},
		"what a quota of other pods asks for": {
			quotaOf(amounts{"requests.cpu": "4"}, amounts{"requests.cpu": "0"}, ofPriority), aPod(requesting(nil, nil)),
		},
		"full for a priority":          {quotaOf(amounts{"pods": "3"}, amounts{"pods": "3"}, ofPriority), aPod(high)},
		"with room for a priority":     {quotaOf(amounts{"pods": "4"}, amounts{"pods": "3"}, ofPriority), aPod(high)},
		"full for others":              {quotaOf(amounts{"pods": "3"}, amounts{"pods": "3"}, ofPriority), aPod()},
		"what pods may lack":           {quotaOf(amounts{"requests.nvidia.com/gpu": "1"}, amounts{"requests.nvidia.com/gpu": "0"}), aPod()},
		"stated":                       {quotaOf(amounts{"limits.cpu": "4"}, amounts{"limits.cpu": "2"}), aPod()},
		"exceeded by what is not used": {quotaOf(amounts{"requests.ephemeral-storage": "1Gi"}, amounts{"requests.ephemeral-storage": "2Gi"}), aPod()},
	} {
		t.Run(name, func(t *testing.T) {
			created := asCreated(tc.pod)
			created.Name, created.Namespace = "new", "ns"
			a := admission.NewAttributesRecord(created, nil, v1.SchemeGroupVersion.WithKind("Pod"), "ns", "new",
				v1.SchemeGroupVersion.WithResource("pods"), "", admission.Create, nil, false, nil)
			_, refusal := resourcequota.CheckRequest([]v1.ResourceQuota{*tc.quota}, a, evaluator, nil)
			if got := Allow([]*v1.ResourceQuota{tc.quota}, Replaced{Pod: tc.pod}); got != (refusal == nil) {
				t.Errorf("Allow = %v, the API server answers %v", got, refusal)
			}
		})
	}
}
