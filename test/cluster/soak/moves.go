package soak

import (
	"encoding/json"
	"fmt"
)

// Moves combines the reports of Evenkeel's processes on GET /status. Processes forget old
// moves, and those that do not evict learn of moves a little later. A move counts in the
// furthest state that any process has reported.
type Moves struct {
	known map[moveKey]moveState
}

type moveKey struct{ namespace, pod, from string }

type moveState struct {
	rank        int
	state       string
	planned     bool
	replacement string // replacement's UID
}

// MoveCounts holds the numbers of moves by outcome.
type MoveCounts struct {
	All     int `json:"all"`
	Landed  int `json:"landed"`
	OnPlan  int `json:"onPlan"`
	Expired int `json:"expired"`
	// Cancelled includes moves whose eviction was refused or never requested.
	Cancelled int `json:"cancelled"`
	InFlight  int `json:"inFlight"`
	// Doubled counts landed moves that have the same replacement as another move.
	Doubled int `json:"doubled"`
}

// Read adds one response.
func (m *Moves) Read(status []byte) error {
	var answer struct {
		Moves []struct{ Namespace, Pod, From, To, Node, State, Replacement string }
	}
	if err := json.Unmarshal(status, &answer); err != nil {
		return fmt.Errorf("reading evenkeel's status: %w", err)
	}
	if m.known == nil {
		m.known = map[moveKey]moveState{}
	}
	for _, move := range answer.Moves {
		key := moveKey{move.Namespace, move.Pod, move.From}
		reported := moveState{
			rank: rank(move.State), state: move.State, planned: move.To != "" && move.To == move.Node, replacement: move.Replacement,
		}
		if reported.rank > m.known[key].rank {
			m.known[key] = reported
		}
	}
	return nil
}

func rank(state string) int {
	switch state {
	case "Landed":
		return 3
	case "Cancelled", "Expired":
		return 2
	default:
		return 1
	}
}

// Counts returns the totals.
func (m *Moves) Counts() MoveCounts {
	counts := MoveCounts{All: len(m.known)}
	taken := map[string]bool{}
	for _, move := range m.known {
		switch move.state {
		case "Landed":
			counts.Landed++
			if move.planned {
				counts.OnPlan++
			}
			if move.replacement != "" && taken[move.replacement] {
				counts.Doubled++
			}
			taken[move.replacement] = true
		case "Expired":
			counts.Expired++
		case "Cancelled":
			counts.Cancelled++
		default:
			counts.InFlight++
		}
	}
	return counts
}
