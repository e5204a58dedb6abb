package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestLoadLaysTheDocumentOverTheDefaults(t *testing.T) {
	cases := map[string]struct {
		text string
		want func(*LoadPolicy)
	}{
		"nothing given": {
			want: func(*LoadPolicy) {},
		},
		"an explicit zero is not a default": {
			text: "eviction: {maxInFlightPercentOfOwner: 0, ownerSettle: 0s}\nscoring: {dampPercent: 0, estimate: {defaultCPU: 0}}",
			want: func(p *LoadPolicy) {
				p.Eviction.MaxInFlightPercentOfOwner = 0
				p.Eviction.OwnerSettle = duration(0)
				p.Scoring.DampPercent = 0
				p.Scoring.Estimate.DefaultCPU = resource.MustParse("0")
			},
		},
		"sections left blank are as if absent": {
			text: "usage:\nlines:\nhot:\n  windows:\nscoring:\n  weights:\neviction:\n  schedulerNames:",
			want: func(*LoadPolicy) {},
		},
		"one level of one resource keeps that resource's other levels and drops the other resource": {
			text: "lines: {cpu: {low: 0}}",
			want: func(p *LoadPolicy) {
				p.Lines = Lines{v1.ResourceCPU: {Low: 0, Reject: 60, Evict: 65, Leave: 60}}
			},
		},
		"a resource named without levels has its defaults": {
			text: "lines: {memory: }",
			want: func(p *LoadPolicy) {
				p.Lines = Lines{v1.ResourceMemory: {Low: 60, Reject: 75, Evict: 80, Leave: 75}}
			},
		},
		"lists and weights are replaced as a whole": {
			text: "hot: {windows: [last]}\nscoring: {weights: {cpu: 2}}\neviction: {schedulerNames: [a, b]}",
			want: func(p *LoadPolicy) {
				p.Hot.Windows = []Window{WindowLast}
				p.Scoring.Weights = map[v1.ResourceName]int64{v1.ResourceCPU: 2}
				p.Eviction.SchedulerNames = []string{"a", "b"}
			},
		},
		"aliases are followed": {
			text: "lines: {cpu: &same {low: 10, reject: 20, evict: 30, leave: 20}, memory: *same}",
			want: func(p *LoadPolicy) {
				same := ResourceLines{Low: 10, Reject: 20, Evict: 30, Leave: 20}
				p.Lines = Lines{v1.ResourceCPU: same, v1.ResourceMemory: same}
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Load("policy.yaml", []byte(loadPolicyHeader+tc.text))
			if err != nil {
				t.Fatal(err)
			}
			want := Default()
			tc.want(&want)
			if diff := cmp.Diff(want, got.Load); diff != "" {
				t.Errorf("LoadPolicy (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDefaultIsValidAndNobodyElses(t *testing.T) {
	first := Default()
	if errs := Validate(&first); len(errs) > 0 {
		t.Fatalf("Validate(Default()) = %v", errs)
	}
	first.Lines[v1.ResourceCPU] = ResourceLines{}
	first.Eviction.SchedulerNames[0] = "changed"
	second := Default()
	if errs := Validate(&second); len(errs) > 0 || second.Eviction.SchedulerNames[0] != v1.DefaultSchedulerName {
		t.Error("a change to one copy of the defaults shows in the next")
	}
}
