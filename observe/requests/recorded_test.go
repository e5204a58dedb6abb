package requests

import (
	"compress/gzip"
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/evenkeel/evenkeel/cluster"
)

// recorded reads a recorded trace, in percent of a core; nil if it is not there. The variable EVENKEEL_TRACES names
// the folder of the traces.
func recorded(t *testing.T, name string) (all [][]float64) {
	t.Helper()
	file, err := os.Open(filepath.Join(os.Getenv("EVENKEEL_TRACES"), name+".cpu.csv.gz"))
	if err != nil {
		t.Skip("no recorded traces in EVENKEEL_TRACES")
	}
	defer func() { _ = file.Close() }()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(unpacked).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		series := make([]float64, min(len(row)-1, daySamples))
		for i := range series {
			if series[i], err = strconv.ParseFloat(row[i+1], 64); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, series)
	}
	return all
}

// PlanetLab's slices have nothing in common. If ten of them are called an owner that asks for half of its mean, no
// request helps it.
func TestNoRequestHelpsOnPlanetLab(t *testing.T) {
	const pods = 10
	for _, day := range []string{"20110303", "20110306", "20110325"} {
		t.Run(day, func(t *testing.T) {
			all := recorded(t, "planetlab-"+day)
			c := Cluster{Nodes: []Node{{Name: "n1", Hot: true, LineMilliCores: 1, UsedMilliCores: 2}}}
			for first := 0; first+pods <= len(all); first += pods {
				owner, mean := Owner{Name: strconv.Itoa(first)}, 0.0
				for _, series := range all[first : first+pods] {
					milli := make([]float64, len(series))
					for i, percent := range series {
						milli[i] = 10 * percent
						mean += milli[i] / float64(len(series)*pods)
					}
					owner.Replicas = append(owner.Replicas, Replica{UsedMilliCores: int64(milli[len(milli)-1]), Levels: levels(milli)})
				}
				for i := range owner.Replicas {
					owner.Replicas[i].Requests = cluster.Amounts{int64(mean / 2), gib}
				}
				c.Owners = append(c.Owners, owner)
			}
			report, uneven := Judge(&c), 0
			for i := range report.Owners {
				if report.Owners[i].Verdict == Uneven {
					uneven++
				}
			}
			share := float64(uneven) / float64(len(c.Owners))
			t.Logf("no request helps %d of %d owners", uneven, len(c.Owners))
			if share < 0.9 {
				t.Errorf("no request helps %.2f of the owners, want at least 0.9", share)
			}
		})
	}
}
