package quota

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// aPod requests one core and 1 Gi, and is limited to twice that.
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
		"exceeded by what the pod does not use": {
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
		"of pods that are not best-effort": {
			[]*v1.ResourceQuota{quotaOf(amounts{"pods": "3"}, amounts{"pods": "3"}, scoped(v1.ResourceQuotaScopeNotBestEffort))}, []*v1.Pod{aPod()}, false,
		},
		"not counted yet": {[]*v1.ResourceQuota{quotaOf(nil, nil)}, []*v1.Pod{aPod()}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Allow(tc.quotas, tc.pods...); got != tc.want {
				t.Errorf("Allow = %v, want %v", got, tc.want)
			}
		})
	}
}
