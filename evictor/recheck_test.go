package evictor

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/evenkeel/evenkeel/evictor/owners"
)

// Everything on which a move depends is checked again just before its call, with current data.
func TestMovesAreCheckedAgain(t *testing.T) {
	for name, tc := range map[string]scene{
		"other pods of the owner that get unready while moves wait hold them up": {
			play: func(p *play) {
				p.config.interval = 5 * time.Second
				p.config.unavailable = func() int {
					if at := time.Since(p.start); at > time.Second && at < 12*time.Second {
						return 10 // of a hundred
					}
					return 0
				}
			},
			moves:   []string{"a", "b"},
			want:    []string{"a", "b"},
			evicted: []string{"a@0.0", "b@12.0"},
		},
		"an owner that is rolled out while moves wait": {
			play: func(p *play) {
				p.config.owner = p.from(100*time.Millisecond, func(o *owners.Owner) { o.UID, o.RollingOut = "rs-1", true })
			},
			moves:   []string{"a", "b"},
			want:    []string{"a", "b: CycleDeadline"},
			evicted: []string{"a@0.0"},
		},
		"an owner that is scaled up while moves wait": {
			play: func(p *play) {
				p.config.owner = func(o *owners.Owner) {
					at := time.Since(p.start)
					if o.UID = "rs-1"; at > 100*time.Millisecond {
						o.Scaled = p.start.Add(100 * time.Millisecond)
					}
					o.RollingOut = at > 100*time.Millisecond && at < time.Second
				}
			},
			moves:   []string{"a", "b"},
			want:    []string{"a", "b"},
			evicted: []string{"a@0.0", "b@1.0"},
		},
		"an owner that is deleted while moves wait": {
			play: func(p *play) {
				p.config.owner = p.from(100*time.Millisecond, func(o *owners.Owner) { o.Missing = true })
			},
			moves:   []string{"a", "b"},
			want:    []string{"a", "b: OwnerUnknown"},
			evicted: []string{"a@0.0"},
		},
		"an owner that is scaled down while moves wait, though scaled ones are not left to settle": {
			play: func(p *play) {
				p.config.owner = p.from(100*time.Millisecond, func(o *owners.Owner) { o.Shrunk = p.start.Add(100 * time.Millisecond) })
			},
			moves:   []string{"a", "b"},
			want:    []string{"a", "b: OwnerJustScaled"},
			evicted: []string{"a@0.0"},
		},
		"an owner that was scaled before": {
			play: func(p *play) {
				p.config.owner = func(o *owners.Owner) { o.Scaled = p.start.Add(-time.Second) }
			},
			moves:   []string{"a", "b"},
			want:    []string{"a", "b"},
			evicted: []string{"a@0.0", "b@0.2"},
		},
		"a landing that others fill by requests while moves wait": {
			play: func(p *play) {
				p.pods["a"], p.pods["b"] = aPod("a", requesting("1")), aPod("b", requesting("3"))
				p.landsIn = 50 * time.Millisecond
				p.config.others = func() []*v1.Pod {
					if time.Since(p.start) < 100*time.Millisecond {
						return nil
					}
					return []*v1.Pod{aPod("filler", requesting("8"), func(pod *v1.Pod) { pod.Spec.NodeName = "cool" })}
				}
				p.config.interval = time.Second
			},
			moves:   []string{"a", "b", "c"},
			want:    []string{"a", "b: LandingGone", "c"},
			evicted: []string{"a@0.0", "c@1.0"},
		},
		"a landing that only waits for another replacement of the owner": {
			play: func(p *play) {
				p.pods["b"] = aPod("b", requesting("3"))
				p.config.others = func() []*v1.Pod {
					if time.Since(p.start) > 2*time.Second {
						return nil
					}
					return []*v1.Pod{aPod("filler", requesting("8"), func(pod *v1.Pod) { pod.Spec.NodeName = "cool" })}
				}
				p.landsIn = 3900 * time.Millisecond
			},
			moves:   []string{"a", "b"},
			want:    []string{"a", "b"},
			evicted: []string{"a@0.0", "b@2.2"},
		},
		"a landing that a replacement on its way will fill by requests": {
			play: func(p *play) {
				p.pods["a"], p.pods["b"] = aPod("a", requesting("6")), aPod("b", requesting("6"))
				p.landsIn, p.config.lingers = 5100*time.Millisecond, true
			},
			moves:   []string{"a", "b"},
			want:    []string{"a", "b"},
			evicted: []string{"a@0.0", "b@5.2"}, // the replacements of a script request nothing
		},
		"a quota with room for one replacement": {
			play:    func(p *play) { p.config.quotas, p.config.lingers = podQuota(101, 100), true },
			moves:   []string{"a", "b"},
			want:    []string{"a", "b"},
			evicted: []string{"a@0.0", "b@2.0"},
		},
		"a quota without room": {
			play:  func(p *play) { p.config.quotas = podQuota(100, 100) },
			moves: []string{"a"},
			want:  []string{"a: CycleDeadline"},
		},
		"a move that its owner's scale cancelled": {
			play: func(p *play) {
				p.after(100*time.Millisecond, func() { p.ledger.CancelOwner("ns", "rs-1", 9, time.Now()) })
			},
			moves:   []string{"a", "b", "c"},
			want:    []string{"a", "b: MoveCancelled", "c: MoveCancelled"},
			evicted: []string{"a@0.0"},
		},
	} {
		t.Run(name, tc.test)
	}
}

// podQuota returns a ResourceQuota of which used of hard pods are in use.
func podQuota(hard, used int64) func() []*v1.ResourceQuota {
	return func() []*v1.ResourceQuota {
		q := &v1.ResourceQuota{}
		q.Status.Hard = v1.ResourceList{v1.ResourcePods: *resource.NewQuantity(hard, resource.DecimalSI)}
		q.Status.Used = v1.ResourceList{v1.ResourcePods: *resource.NewQuantity(used, resource.DecimalSI)}
		return []*v1.ResourceQuota{q}
	}
}
