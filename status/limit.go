package status

import (
	"fmt"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/scorer"
	"github.com/evenkeel/evenkeel/strategies"
)

// Limit is a limit of measured usage in a window, in percent of capacity. A node above
// it takes no pods.
type Limit struct {
	Metric string `json:"metric"`
	Window string `json:"window"`
	// Percent is the node's usage; absent if no source reported it.
	Percent *float64 `json:"percent,omitempty"`
	// AbovePercent or FromPercent is the limit, as written in the policy.
	AbovePercent *float64 `json:"abovePercent,omitempty"`
	FromPercent  *float64 `json:"fromPercent,omitempty"`
	// Passed is true if the limit keeps pods off the node now.
	Passed bool `json:"passed"`
}

// limits compares a node with the policy's limits.
func (f *Facts) limits(i int) []Limit {
	var list []Limit
	for k := range f.Limits {
		list = append(list, f.limit(&f.Limits[k], i))
	}
	return list
}

func (f *Facts) limit(given *scorer.Limit, i int) Limit {
	percent, passed := given.Check(f.View, i)
	l := Limit{Metric: string(usage.CPU), Window: given.Window.String(), Percent: finite(percent), Passed: passed}
	if given.Resource == cluster.Memory {
		l.Metric = string(usage.Memory)
	}
	if given.From {
		l.FromPercent = &given.Percent
	} else {
		l.AbovePercent = &given.Percent
	}
	return l
}

// Bound describes the limit.
func (l *Limit) Bound() string {
	if l.FromPercent != nil {
		return fmt.Sprintf("from %g%%", *l.FromPercent)
	}
	return fmt.Sprintf("above %g%%", *l.AbovePercent)
}

// limited describes the limit because of which a node is refused; empty if the node
// exceeds no limit.
func (f *Facts) limited(l *strategies.Landing) string {
	i := f.View.Snapshot.Index(l.Node)
	if i < 0 || l.Refused != reasons.AboveRejectLine {
		return ""
	}
	for _, limit := range f.limits(i) {
		if limit.Passed {
			return fmt.Sprintf("its %s %s is %.1f%%, and measured limits keep pods off %s", limit.Metric, limit.Window, *limit.Percent, limit.Bound())
		}
	}
	return ""
}
