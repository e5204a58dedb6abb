package trace

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The same recipe generates the same traces, including deploys. Another seed generates others.
func TestGenerateDependsOnItsSeed(t *testing.T) {
	recipe := DefaultRecipe()
	recipe.Series, recipe.Steps = 60, 100
	once, memory, err := Generate(recipe)
	if err != nil {
		t.Fatal(err)
	}
	again, memoryAgain, err := Generate(recipe)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]*Trace{once, memory}, []*Trace{again, memoryAgain}); diff != "" {
		t.Errorf("twice the same (-once +again):\n%s", diff)
	}
	recipe.Seed++
	if other, _, err := Generate(recipe); err != nil || cmp.Equal(once, other) {
		t.Errorf("another seed makes the same: %v", err)
	}
}

// A storm deploys about its share of the groups within a few minutes, as many times a day as
// requested. Without storms, nothing is deployed.
func TestStorms(t *testing.T) {
	const days = 4
	recipe := DefaultRecipe()
	recipe.Series, recipe.Group, recipe.Steps = 200, 2, days*stepsPerDay
	for name, tc := range map[string]struct {
		perDay, percent float64
		least, most     int // number of deploys
	}{
		"none":              {0, 50, 0, 0},
		"of nobody":         {2, 0, 0, 0},
		"as by default":     {recipe.StormsPerDay, recipe.StormPercent, 50, 110}, // 8 storms of 10 of 100 groups
		"of everybody":      {1, 100, 398, 400},                                  // the last one may start at the end
		"one in two days":   {0.5, 50, 70, 130},
		"half in four days": {0.125, 100, 0, 100},
	} {
		t.Run(name, func(t *testing.T) {
			recipe := recipe
			recipe.StormsPerDay, recipe.StormPercent = tc.perDay, tc.percent
			cpu, _, err := Generate(recipe)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(cpu.Deploys); n < tc.least || n > tc.most {
				t.Errorf("%d deploys, want %d to %d", n, tc.least, tc.most)
			}
			moments := map[int]bool{}
			for _, d := range cpu.Deploys {
				if d.Step < 0 || d.Step >= recipe.Steps || d.First%recipe.Group != 0 || d.Count != recipe.Group {
					t.Errorf("deploy %+v", d)
				}
				moments[d.Step] = true
			}
			if most := int(days*tc.perDay+1) * stormSteps; len(moments) > most {
				t.Errorf("deploys in %d steps, want at most %d", len(moments), most)
			}
		})
	}
}

func TestGenerateRefuses(t *testing.T) {
	for name, change := range map[string]func(*Recipe){
		"no series":             func(r *Recipe) { r.Series = 0 },
		"no steps":              func(r *Recipe) { r.Steps = 0 },
		"no groups":             func(r *Recipe) { r.Group = 0 },
		"storms of all and one": func(r *Recipe) { r.StormPercent = 101 },
		"storms all the time":   func(r *Recipe) { r.StormsPerDay = 1e9 },
	} {
		t.Run(name, func(t *testing.T) {
			recipe := DefaultRecipe()
			change(&recipe)
			if _, _, err := Generate(recipe); err == nil {
				t.Error("it was made")
			}
		})
	}
}
