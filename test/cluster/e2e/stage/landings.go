package stage

import (
	"context"
	"fmt"
	"maps"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/internal/testkit/landings"
	"github.com/evenkeel/evenkeel/test/cluster"
)

// Landings returns the scenarios with which a real cluster can start: no pod is old, has
// restarted or has failed.
func Landings(lists ...[]landings.Scenario) (all []*landings.Scenario) {
	for _, list := range lists {
		for i := range list {
			s, staged := &list[i], false
			for k := range s.Workloads {
				w := &s.Workloads[k]
				staged = staged || w.Job || w.Age > 0 || w.Status.ContainerStatuses != nil
			}
			if !staged {
				all = append(all, s)
			}
		}
	}
	return all
}

// PlaceLandings creates the nodes and pods of a scenario. It adds a number to the names
// of nodes.
func (f *Fixture) PlaceLandings(s *landings.Scenario) {
	f.T.Helper()
	if s.Packs {
		f.packNodes(true)
		f.T.Cleanup(func() { f.packNodes(false) })
	}
	names := map[string]string{}
	for i := range s.Nodes {
		object := s.Nodes[i].Object()
		delete(object.Labels, v1.LabelHostname) // every node gets it
		allocatable := object.Status.Allocatable
		made, err := f.AddNodes(f.T.Context(), 1, cluster.NodeTemplate{
			NamePrefix: object.Name + "-", CPU: allocatable.Cpu().String(), Memory: allocatable.Memory().String(), Labels: object.Labels, Taints: object.Spec.Taints,
		})
		if err != nil {
			f.T.Fatal(err)
		}
		names[object.Name] = made[0]
	}
	var placements []cluster.Placement
	for i := range s.Workloads {
		w := &s.Workloads[i]
		spec, on := w.PodSpec(), map[string]int{}
		for _, node := range w.On {
			on[names[node]]++
		}
		requests := spec.Containers[0].Resources.Requests
		workload := Workload(w.Name, cluster.Resources{CPU: requests.Cpu().String(), Memory: requests.Memory().String()}, cluster.Resources{CPU: "10m", Memory: "16Mi"})
		workload.Affinity, workload.NodeSelector, workload.PriorityClassName = spec.Affinity, spec.NodeSelector, spec.PriorityClassName
		workload.Adjust = func(template *v1.PodTemplateSpec) {
			maps.Copy(template.Labels, w.Labels)
			template.Spec.Tolerations, template.Spec.TopologySpreadConstraints = spec.Tolerations, spec.TopologySpreadConstraints
		}
		placements = append(placements, cluster.Placement{Workload: workload, On: on})
	}
	if err := f.Place(f.T.Context(), placements...); err != nil {
		f.T.Fatal(err)
	}
}

func (f *Fixture) packNodes(pack bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(f.T.Context()), time.Minute)
	defer cancel()
	if err := f.PackNodes(ctx, pack); err != nil {
		f.T.Error(err)
	}
}

// cyclesOfLandings is the number of cycles for which a scenario is observed. A loop would
// evict in each of them.
const cyclesOfLandings = 6

// EndsAsPlanned runs Evenkeel on a scenario. It fails the case unless Evenkeel makes
// exactly the evictions that help, and each replacement is on its planned node.
func (f *Fixture) EndsAsPlanned(s *landings.Scenario, loadPolicy string) {
	f.T.Helper()
	f.PlaceLandings(s)
	mark, metrics := f.Mark(), f.FreeAddress()
	f.Serve(f.Policy(s.Policy, loadPolicy), "--metrics-address", metrics)
	const ended = `evenkeel_cycles_total{result="success"}`
	f.Eventually(time.Minute, fmt.Sprint(cyclesOfLandings, " cycles"), func(context.Context) bool { return f.Metric(metrics, ended) >= cyclesOfLandings })
	evictions := f.Evictions(mark)
	if evictions != s.Placed.Evictions && evictions != s.Steered.Evictions {
		f.T.Errorf("%d evictions, want %d or %d", evictions, s.Placed.Evictions, s.Steered.Evictions)
	}
	if !s.Anywhere {
		f.Eventually(30*time.Second, fmt.Sprint(evictions, " replacements where they were planned"), func(ctx context.Context) bool {
			pods, landed := f.PodsByUID(ctx), 0
			for _, move := range f.Moves() {
				if pod, ok := pods[move.Replacement]; ok && pod.Spec.NodeName == move.To {
					landed++
				}
			}
			return landed == evictions
		})
	}
	if again := f.Evictions(mark); again != evictions {
		f.T.Errorf("%d evictions followed", again-evictions)
	}
}
