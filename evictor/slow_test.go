package evictor

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// slow holds owners whose replacements take long, each for a different reason.
var slow = map[string]struct {
	play func(*play)
	// cycle is how long a cycle may last if it makes all its moves at once.
	cycle time.Duration
}{
	"the pod has an hour to terminate": {func(p *play) {
		p.landsIn, p.config.lingers = -1, true
		p.config.grace = time.Hour
	}, waitLimit},
	"no replacement comes":       {func(p *play) { p.landsIn = -1 }, landingLimit},
	"the replacement is Pending": {func(p *play) { p.landsIn = time.Hour }, landingLimit},
	"the replacement crashes":    {func(p *play) { p.readyIn = time.Hour }, landingLimit},
}

// A cycle ends if all its remaining moves wait for a slow owner, whatever that owner waits for, so
// that the next cycle can continue with the other owners.
func TestACycleEndsWhoseOwnersAreSlow(t *testing.T) {
	for name, tc := range slow {
		t.Run(name, func(t *testing.T) {
			playing(t, func(t *testing.T, p *play) {
				tc.play(p)
				p.config.deadline, p.config.replicas = 10*time.Minute, func(*v1.Pod) int { return 2 }
				got := p.runWith(p.evictor(), "a", "b")
				if took := time.Since(p.start); took > tc.cycle+time.Second {
					t.Errorf("the cycle took %v, want %v at most", took, tc.cycle)
				}
				if diff := cmp.Diff([]string{"a", "b: CycleDeadline"}, got); diff != "" {
					t.Errorf("outcomes (-want +got):\n%s", diff)
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}

// All moves of an owner whose replacements are ready within a minute and a half are made in one
// cycle.
func TestOwnersThatStartInAWhileAreWaitedFor(t *testing.T) {
	for name, starts := range map[string]func(*play){
		"the replacements start for long":                 func(p *play) { p.readyIn = 80 * time.Second },
		"the pods terminate long before the end of grace": func(p *play) { p.landsIn = 80 * time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			playing(t, func(t *testing.T, p *play) {
				starts(p)
				p.config.deadline, p.config.replicas = 10*time.Minute, func(*v1.Pod) int { return 2 }
				if diff := cmp.Diff([]string{"a", "b", "c"}, p.run("a", "b", "c")); diff != "" {
					t.Errorf("outcomes (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// While one namespace's pods are replaced slowly, cycles continue to plan for the others.
func TestASlowNamespaceHoldsNobodyElseUp(t *testing.T) {
	const interval = 5 * time.Minute
	for name, tc := range slow {
		t.Run(name, func(t *testing.T) {
			playing(t, func(t *testing.T, p *play) {
				p.config.deadline, p.config.replicas = 10*time.Minute, func(pod *v1.Pod) int { return map[string]int{"a": 2, "b": 100}[pod.Namespace] }
				p.config.pod = func(_, name string) *v1.Pod { return p.pods[name] }
				p.landsAs = func(name string) (namespace, owner string, bound bool) { return name[:1], "rs-" + name[:1], false }
				e := p.evictor()
				tc.play(p)
				p.tenants("a1", "a2", "b1")
				// The node of b's pod becomes hot ten seconds after the first plan.
				for range 3 {
					e.BeginCycle(t.Context())
					var planned []string
					for _, name := range []string{"a1", "a2", "b1"} {
						pod := p.pods[name]
						hot := name != "b1" || time.Since(p.start) > 10*time.Second
						if hot && pod != nil && refuse(e, pod) == "" {
							planned = append(planned, name)
						}
					}
					carryOut(t.Context(), e, p.tenants(planned...))
					time.Sleep(interval)
				}
				i := slices.IndexFunc(p.evicted, func(note string) bool { return strings.HasPrefix(note, "b1@") })
				if i < 0 {
					t.Fatalf("evicted %v, want the pod of the other namespace as well", p.evicted)
				}
				if after, err := time.ParseDuration(p.evicted[i][len("b1@"):] + "s"); err != nil || after > interval+tc.cycle+time.Second {
					t.Errorf("the pod of the other namespace was evicted after %v (%v), want %v at most", after, err, interval+tc.cycle)
				}
				time.Sleep(2 * time.Hour)
			})
		})
	}
}
