package stage

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// The name of the ledger's ConfigMap, its key, and the prefix of the names of copies that
// could not be read. They are repeated here, and the tests use their own types for the
// document, because stored data outlives the version that wrote it.
const (
	LedgerName     = "evenkeel-ledger"
	LedgerKey      = "ledger.json.gz"
	LedgerSetAside = "evenkeel-ledger-set-aside-"
)

// Document is the part of a stored ledger that cases read.
type Document struct {
	Format     int            `json:"format"`
	Generation int64          `json:"generation"`
	Writer     string         `json:"writer"`
	Written    time.Time      `json:"written"`
	Moves      []DocumentMove `json:"moves"`
}

// DocumentMove is one move of a Document. Wait and TTL are in nanoseconds.
type DocumentMove struct {
	Namespace       string        `json:"namespace"`
	Pod             string        `json:"pod"`
	PodUID          string        `json:"podUID"`
	Owner           DocumentOwner `json:"owner"`
	TemplateHash    string        `json:"templateHash,omitempty"`
	Usage           [2]int64      `json:"usage"`
	FromUsed        [2]int64      `json:"fromUsed"`
	From            string        `json:"from"`
	To              string        `json:"to,omitempty"`
	Wait            time.Duration `json:"wait"`
	TTL             time.Duration `json:"ttl"`
	State           string        `json:"state"`
	Node            string        `json:"node,omitempty"`
	Replacement     string        `json:"replacement,omitempty"`
	ReplacementName string        `json:"replacementName,omitempty"`
	Recorded        time.Time     `json:"recorded"`
	Evicted         time.Time     `json:"evicted,omitzero"`
	Ended           time.Time     `json:"ended,omitzero"`
}

// DocumentOwner is a pod's controller.
type DocumentOwner struct {
	UID  string `json:"UID"`
	Kind string `json:"Kind"`
	Name string `json:"Name"`
}

// InFlight reports whether the move holds a reservation.
func (m *DocumentMove) InFlight() bool {
	return slices.Contains([]string{"Intended", "Evicted", "Booked"}, m.State)
}

// Expires returns when the reservation must end.
func (m *DocumentMove) Expires() time.Time {
	if m.Evicted.IsZero() {
		return m.Recorded.Add(m.Wait + m.TTL)
	}
	return m.Evicted.Add(m.TTL)
}

// String lists the moves, except cancelled ones, one per line.
func (d *Document) String() string {
	lines := []string{fmt.Sprintf("generation %d of %s, %d moves", d.Generation, d.Writer, len(d.Moves))}
	for _, m := range d.Moves {
		if m.State != "Cancelled" {
			lines = append(lines, fmt.Sprintf("    %s %s: %s to %s, %s %s", m.Pod, m.PodUID, m.State, m.To, m.Node, m.ReplacementName))
		}
	}
	return strings.Join(lines, "\n")
}

// Of returns a pod's newest move.
func (d *Document) Of(podUID string) (move DocumentMove, found bool) {
	for _, m := range d.Moves {
		if m.PodUID == podUID && (!found || m.Recorded.After(move.Recorded)) {
			move, found = m, true
		}
	}
	return move, found
}

// In counts the moves in a state.
func (d *Document) In(state string) (n int) {
	for _, m := range d.Moves {
		if m.State == state {
			n++
		}
	}
	return n
}

// ReadDocument reads the ledger from its ConfigMap.
func ReadDocument(stored *v1.ConfigMap) (Document, error) {
	var d Document
	unpacked, err := gzip.NewReader(bytes.NewReader(stored.BinaryData[LedgerKey]))
	if err != nil {
		return d, fmt.Errorf("unpacking the ledger: %w", err)
	}
	content, err := io.ReadAll(io.LimitReader(unpacked, 64<<20))
	if err != nil {
		return d, fmt.Errorf("unpacking the ledger: %w", err)
	}
	if err := json.Unmarshal(content, &d); err != nil {
		return d, fmt.Errorf("reading the ledger: %w", err)
	}
	return d, nil
}

// Packed compresses JSON like in the ledger's ConfigMap.
func Packed(content []byte) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(content); err != nil {
		return nil, fmt.Errorf("packing: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("packing: %w", err)
	}
	return packed.Bytes(), nil
}
