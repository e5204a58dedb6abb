package requests

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
)

// arbitrary makes a cluster of any bytes.
func arbitrary(data []byte) *Cluster {
	next := func(most int) int {
		if len(data) < 2 {
			data = nil
			return 0
		}
		v := int(binary.LittleEndian.Uint16(data))
		data = data[2:]
		return v % (most + 1)
	}
	c := &Cluster{}
	for i := range 1 + next(4) {
		c.Nodes = append(c.Nodes, Node{
			Name: fmt.Sprint("n", i), Allocatable: cluster.Amounts{int64(next(16_000)), int64(next(64)) * gib},
			Requested: cluster.Amounts{int64(next(20_000)), int64(next(64)) * gib}, UsedMilliCores: int64(next(20_000)), LineMilliCores: int64(next(16_000)),
			Hot: next(1) == 1, HotFor: time.Duration(next(300)) * time.Minute, Open: next(3) > 0,
		})
	}
	for i := range next(6) {
		owner := Owner{Namespace: "shop", Kind: []string{"Deployment", "DaemonSet"}[next(1)], Name: fmt.Sprint("o", i), Unmeasured: next(2), Evictions: next(3)}
		request, limit := cluster.Amounts{int64(next(1500)), int64(next(4)) * gib}, cluster.Amounts{int64(next(3000)), int64(next(4)) * gib}
		for range next(5) {
			r := Replica{Node: next(len(c.Nodes) - 1), Requests: request, Limits: limit, UsedMilliCores: int64(next(3000))}
			for s := range next(20) {
				r.Levels.Add(uint32(300*(s+1)), int64(next(3000)))
			}
			owner.Replicas = append(owner.Replicas, r)
		}
		c.Owners = append(c.Owners, owner)
	}
	return c
}

// checkReport checks what holds of every report.
func checkReport(t *testing.T, c *Cluster) {
	t.Helper()
	report := Judge(c)
	if _, err := json.Marshal(report); err != nil {
		t.Fatal(err)
	}
	for _, n := range report.Nodes {
		sum := 0.0
		for _, s := range n.Owners {
			sum += s.HeatPercent
		}
		if rounding := 0.05*float64(len(n.Owners)) + 0.06; sum > 100+rounding || sum > n.ExplainedPercent+rounding || len(c.Owners) <= mostShares && sum < n.ExplainedPercent-rounding {
			t.Errorf("%s: owners account for %v %%, %v %% are explained", n.Name, sum, n.ExplainedPercent)
		}
	}
	requested := map[string][]Replica{}
	for _, owner := range c.Owners {
		requested[owner.Name] = owner.Replicas
	}
	for i := range report.Owners {
		f := &report.Owners[i]
		if f.HeatPercent < 0 || f.HeatPercent > 100 || f.HotMinutes < 0 || f.P50MilliCores > f.P95MilliCores || f.P95MilliCores > f.PeakMilliCores || f.LowestMilliCores > f.HighestMilliCores {
			t.Errorf("%+v", f)
		}
		if i > 0 && (report.Owners[i-1].Verdict == Bursts) == (f.Verdict == Bursts) && f.HotMinutes > report.Owners[i-1].HotMinutes {
			t.Errorf("%s costs %v hot minutes, and comes after one that costs %v", f.Name, f.HotMinutes, report.Owners[i-1].HotMinutes)
		}
		if a := f.Advice; a != nil {
			limit := requested[f.Name][0].Limits[cluster.CPU]
			if a.RequestMilliCores <= f.RequestMilliCores || limit > 0 && a.RequestMilliCores > limit || a.NotFitting < 0 || a.NotFitting > f.Measured || f.Verdict != TooLow {
				t.Errorf("advice %+v for %+v with limit %d", a, f, limit)
			}
		}
	}
	// The order of owners does not matter.
	turned := Cluster{Nodes: c.Nodes, Owners: slices.Clone(c.Owners)}
	slices.Reverse(turned.Owners)
	other := Judge(&turned)
	ignore := cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".of" }, cmp.Ignore())
	if diff := cmp.Diff(report, other, ignore); diff != "" {
		t.Errorf("with the owners in another order:\n%s", diff)
	}
	honest(t, c, &report)
}

// honest checks that an owner that asks for what it uses right now is not blamed for any heat.
func honest(t *testing.T, c *Cluster, before *Report) {
	t.Helper()
	for _, f := range before.Owners {
		told := Cluster{Nodes: c.Nodes, Owners: slices.Clone(c.Owners)}
		at := slices.IndexFunc(told.Owners, func(o Owner) bool { return o.Name == f.Name })
		replicas := slices.Clone(told.Owners[at].Replicas)
		for i := range replicas {
			replicas[i].Requests[cluster.CPU] = max(replicas[i].UsedMilliCores, replicas[i].Requests[cluster.CPU])
		}
		told.Owners[at].Replicas = replicas
		for _, after := range Judge(&told).Owners {
			if after.Name == f.Name && after.HeatMilliCores > 0 {
				t.Errorf("%s asks for what it uses and is blamed for %v milli-cores", f.Name, after.HeatMilliCores)
			}
		}
	}
}

func TestEveryReport(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 44))
	for range 2000 {
		data := make([]byte, rng.IntN(600))
		for i := range data {
			data[i] = byte(rng.UintN(256))
		}
		checkReport(t, arbitrary(data))
	}
}

func FuzzJudge(f *testing.F) {
	f.Add([]byte("one node, and owners that ask for less than they use"))
	f.Fuzz(func(t *testing.T, data []byte) { checkReport(t, arbitrary(data)) })
}
