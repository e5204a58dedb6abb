package main

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/evenkeel/evenkeel/test/cluster"
	"github.com/evenkeel/evenkeel/test/cluster/cmd/internal/workshop"
	"github.com/evenkeel/evenkeel/test/cluster/throughput"
)

const (
	// maxPodsPerNode ensures that a round's pods fit into the nodes' free capacity.
	maxPodsPerNode = 50
	// hotEvery means that every tenth node is hot.
	hotEvery = 10
	// standing is the namespace of the pods that use the nodes, wave the namespace of the
	// pods that are placed in a round.
	standing, wave = "standing", "wave"
	// waveName is the name of a wave's Deployment.
	waveName = "web"
)

// furnish adds the nodes and puts a pod on each. The pod uses 90% of every tenth node,
// and 10 to 50% of the others.
func (s *stage) furnish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, upWithin)
	defer cancel()
	began := time.Now()
	nodes, err := s.AddNodes(ctx, s.flags.nodes)
	if err != nil {
		return err
	}
	const kinds = 6 // kind 0 is for the hot nodes
	placements := make([]cluster.Placement, kinds)
	for i := range placements {
		percent := 10 * i
		if i == 0 {
			percent = 90
		}
		placements[i] = cluster.Placement{On: map[string]int{}, Workload: cluster.Workload{
			Namespace: standing, Name: fmt.Sprintf("uses-%d", percent), Requests: cluster.Resources{CPU: "4", Memory: "16Gi"},
			Usage: cluster.Resources{CPU: fmt.Sprintf("%dm", workshop.NodeCores*10*percent), Memory: "16Gi"},
		}}
	}
	for i, node := range nodes {
		kind := 0
		if i%hotEvery != 0 {
			kind = 1 + i%(kinds-1)
		} else {
			s.hot[node] = true
		}
		placements[kind].On[node] = 1
	}
	if err := s.Cluster.Place(ctx, placements...); err != nil {
		return err
	}
	s.Tell("%d nodes are in use, after %v.", len(nodes), time.Since(began).Round(time.Second))
	return s.Cluster.EnsureNamespace(ctx, wave)
}

// pods returns the Deployment with the pods that a variant has to place. Each takes about
// 6 kB in kube-scheduler's requests to an extender. Once bound, they stay pending, so
// that the simulated kubelets, which would normally run on other machines, use no
// processor time.
func pods(v throughput.Variant, count int) cluster.Workload {
	return cluster.Workload{
		Namespace: wave, Name: waveName, Replicas: count, SchedulerName: v.SchedulerName(),
		Requests: cluster.Resources{CPU: "100m", Memory: "128Mi"},
		Adjust: func(template *v1.PodTemplateSpec) {
			template.Annotations = map[string]string{cluster.ReadyAfterAnnotation: "1h"}
			main := &template.Spec.Containers[0]
			dress(main)
			side := *main
			side.Name, side.Image, side.Ports = "proxy", "registry.example/proxy", nil
			template.Spec.Containers = append(template.Spec.Containers, side)
		},
	}
}

// dress adds realistic fields to a container.
func dress(c *v1.Container) {
	for i := range 12 {
		c.Env = append(c.Env, v1.EnvVar{Name: fmt.Sprintf("SETTING_%02d", i), Value: fmt.Sprintf("https://service-%02d.shop.svc.cluster.local:8443/api", i)})
	}
	c.Ports = []v1.ContainerPort{{Name: "http", ContainerPort: 8080}}
	c.Resources.Limits = v1.ResourceList{v1.ResourceCPU: resource.MustParse("1"), v1.ResourceMemory: resource.MustParse("1Gi")}
	c.LivenessProbe = &v1.Probe{PeriodSeconds: 10, TimeoutSeconds: 1, FailureThreshold: 3, ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"/bin/alive"}}}}
}
