package observer

import (
	"sync"

	"github.com/evenkeel/evenkeel/cluster"
)

// unbound holds the pods that the watch shows without a node, by UID: as many
// as wait for kube-scheduler. It is safe for concurrent use.
type unbound struct {
	mu   sync.Mutex
	pods map[string]*cluster.Pod
}

func (u *unbound) put(pod *cluster.Pod) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.pods == nil {
		u.pods = map[string]*cluster.Pod{}
	}
	u.pods[pod.UID] = pod
}

func (u *unbound) drop(pod *cluster.Pod) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.pods, pod.UID)
}

func (u *unbound) get(uid string) *cluster.Pod {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.pods[uid]
}
