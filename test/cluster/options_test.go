package cluster

import (
	"testing"
	"time"
)

func TestOptions(t *testing.T) {
	tests := map[string]struct {
		options Options
		refused bool
		seconds int
	}{
		"a node's Lease is a kubelet's unless told otherwise": {options: Options{BinDir: "b"}, seconds: 40},
		"it may last longer": {options: Options{BinDir: "b", NodeLease: 4 * time.Minute}, seconds: 240},
		"but not so long that a node could be lost before":           {options: Options{BinDir: "b", NodeLease: nodeMonitorGrace}, refused: true},
		"nor less than a second, which is the least there is":        {options: Options{BinDir: "b", NodeLease: time.Millisecond}, refused: true},
		"binaries are needed":                                        {options: Options{}, refused: true},
		"more than all nodes cannot be scored":                       {options: Options{BinDir: "b", PercentageOfNodesToScore: 101}, refused: true},
		"a share of the nodes may be scored, with a kubelet's Lease": {options: Options{BinDir: "b", PercentageOfNodesToScore: 100}, seconds: 40},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			err := tc.options.validate()
			if refused := err != nil; refused != tc.refused {
				t.Fatalf("refused: %v, want %t", err, tc.refused)
			}
			if seconds := tc.options.nodeLeaseSeconds(); !tc.refused && seconds != tc.seconds {
				t.Errorf("Lease of %d s, want %d", seconds, tc.seconds)
			}
		})
	}
}
