package hostile

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// lookEvery is how often the client reads the pods.
const lookEvery = 250 * time.Millisecond

// look reads all pods of the namespace.
func (c *client) look(ctx context.Context) error {
	list, err := c.config.Kube.CoreV1().Pods(c.config.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("reading the pods to forge: %w", err)
	}
	var waiting, bound []*v1.Pod
	for i := range list.Items {
		if pod := &list.Items[i]; pod.Spec.NodeName == "" {
			waiting = append(waiting, pod)
		} else {
			bound = append(bound, pod)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(waiting, bound...)
	return nil
}

func (c *client) keepLooking(ctx context.Context) error {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			_ = c.look(ctx) // the previous state is kept, for example if the API server is unavailable
		}
	}
}

// question returns the n-th request of an attack; false if there is nothing to ask about.
func (c *client) question(attack Attack, n int) (extenderv1.ExtenderArgs, bool) {
	if attack == Heavy {
		return c.heavy(n), true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen) == 0 {
		return extenderv1.ExtenderArgs{}, false
	}
	pod := c.owners()[n%len(c.owners())].DeepCopy()
	pod.CreationTimestamp = metav1.Now()
	node := c.config.Lair
	switch attack {
	case Known:
		pod = c.seen[n%min(len(c.seen), 8)].DeepCopy()
		node = c.config.Nodes[n%len(c.config.Nodes)]
	case Foreign:
		pod.Namespace = "elsewhere"
		fallthrough
	default:
		pod.UID = uuid.NewUUID()
		pod.Name += "-forged"
	}
	pod.Spec.NodeName, pod.Status = "", v1.PodStatus{}
	return extenderv1.ExtenderArgs{Pod: pod, NodeNames: &[]string{node}}, true
}

// owners returns one pod of each owner. The caller must hold mu.
func (c *client) owners() []*v1.Pod {
	var pods []*v1.Pod
	known := map[string]bool{}
	for _, pod := range c.seen {
		owner := ""
		if controller := metav1.GetControllerOf(pod); controller != nil {
			owner = string(controller.UID)
		}
		if !known[owner] {
			known[owner] = true
			pods = append(pods, pod)
		}
	}
	return pods
}

// heavy returns a question about a pod that would fill a node, which is any node except
// the lair.
func (c *client) heavy(n int) extenderv1.ExtenderArgs {
	others := slices.DeleteFunc(slices.Clone(c.config.Nodes), func(node string) bool { return node == c.config.Lair })
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "elsewhere", Name: fmt.Sprintf("heavy-%d", n), UID: uuid.NewUUID()},
		Spec: v1.PodSpec{Containers: []v1.Container{{
			Name: "main",
			Resources: v1.ResourceRequirements{Requests: v1.ResourceList{
				v1.ResourceCPU: resource.MustParse("30"), v1.ResourceMemory: resource.MustParse("200Gi"),
			}},
		}}},
	}
	return extenderv1.ExtenderArgs{Pod: pod, NodeNames: &[]string{others[n%len(others)]}}
}
