package history

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// OwnerTotals counts the evictions of one workload's pods and what came of them.
type OwnerTotals struct {
	Namespace string `json:"namespace"`
	// Owner is kind/name of the workload: a controller or the Deployment behind it, or
	// the pod itself if it has no controller.
	Owner string `json:"owner"`
	// DryRun is true for evictions that a dry run would have made. They are counted apart.
	DryRun bool `json:"dryRun,omitempty"`
	// Evictions is the sum of Helped, NotHelped and NotJudged. The last counts evictions
	// whose result is not known yet or never will be.
	Evictions int `json:"evictions"`
	Helped    int `json:"helped"`
	NotHelped int `json:"notHelped"`
	NotJudged int `json:"notJudged"`
	// Denied counts the evictions that admission control denied, which were not made.
	Denied int `json:"denied,omitempty"`
	// Last is the time of the newest entry.
	Last time.Time `json:"last"`
	// Plugins are the strategies and descheduler plugins that asked, sorted by name.
	// Earlier versions did not record all of them.
	Plugins []string `json:"plugins"`
}

// ByOwner counts entries by workload, the ones with the most evictions first.
func ByOwner(entries []Entry) []OwnerTotals {
	type party struct {
		namespace, owner string
		dryRun           bool
	}
	totals, places := []OwnerTotals{}, map[party]int{}
	for i := range entries {
		e := &entries[i]
		of := party{e.Namespace, cmp.Or(e.Workload, e.Owner, "Pod/"+e.Pod), e.DryRun}
		at, known := places[of]
		if !known {
			at = len(totals)
			places[of], totals = at, append(totals, OwnerTotals{Namespace: of.namespace, Owner: of.owner, DryRun: of.dryRun, Plugins: []string{}})
		}
		totals[at].add(e)
	}
	slices.SortStableFunc(totals, func(a, b OwnerTotals) int {
		return cmp.Or(
			cmp.Compare(b.Evictions, a.Evictions), cmp.Compare(b.NotHelped, a.NotHelped),
			strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Owner, b.Owner),
		)
	})
	return totals
}

func (t *OwnerTotals) add(e *Entry) {
	switch helped, judged := e.Helped(); {
	case e.Denied != "":
		t.Denied++
	case !judged:
		t.NotJudged++
	case helped:
		t.Helped++
	default:
		t.NotHelped++
	}
	t.Evictions = t.Helped + t.NotHelped + t.NotJudged
	if e.At.After(t.Last) {
		t.Last = e.At
	}
	if at, known := slices.BinarySearch(t.Plugins, e.Plugin); !known && e.Plugin != "" {
		t.Plugins = slices.Insert(t.Plugins, at, e.Plugin)
	}
}
