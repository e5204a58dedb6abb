package ledger

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"
)

// Document is a Ledger in the form in which the evicting process stores it for all other
// processes and for its successor.
type Document struct {
	// Format is the version of this type; there is only one.
	Format int `json:"format"`
	// Generation counts the writes. Writer is the process that made the latest one, and
	// Written its time.
	Generation int64     `json:"generation"`
	Writer     string    `json:"writer"`
	Written    time.Time `json:"written"`
	Hold       Hold      `json:"hold,omitzero"`
	Unrest     Unrest    `json:"unrest,omitzero"`
	// Calls are the newest eviction calls, oldest first.
	Calls []Call `json:"calls,omitempty"`
	// Moves are the moves in flight, followed by the ended ones, each oldest
	// first.
	Moves []Move `json:"moves"`
}

const (
	// Format is the version of Document that this package reads and writes.
	Format = 1
	// MaxEncodedBytes bounds the result of Encode, because a ConfigMap holds at most 1
	// MiB in total.
	MaxEncodedBytes = 600 << 10
	// maxDecodedBytes bounds the size of a document that Decode unpacks.
	maxDecodedBytes = 32 << 20
	// maxMoves bounds the moves that Decode accepts.
	maxMoves = 20_000
	// maxDuration bounds a move's Wait and TTL.
	maxDuration = 7 * 24 * time.Hour
)

// InFlight counts the moves in flight.
func (d *Document) InFlight() int {
	n := 0
	for i := range d.Moves {
		if d.Moves[i].InFlight() {
			n++
		}
	}
	return n
}

// Encode returns the document as compressed JSON of at most MaxEncodedBytes. If the
// document is too large, it first drops the Decisions of the oldest ended moves, on which
// nothing depends, then these moves, and then the calls. It fails if the moves in flight
// alone are too large.
func (d Document) Encode() ([]byte, error) {
	d.Format = Format
	inFlight := d.InFlight()
	for {
		packed, err := pack(&d)
		if err != nil {
			return nil, err
		}
		if len(packed) <= MaxEncodedBytes {
			return packed, nil
		}
		if d.forgetDecisions(inFlight) {
			continue
		}
		ended := len(d.Moves) - inFlight
		if ended == 0 && d.Calls != nil {
			d.Calls = nil
			continue
		}
		if ended == 0 {
			return nil, fmt.Errorf("%d moves in flight take %d bytes, more than %d", inFlight, len(packed), MaxEncodedBytes)
		}
		drop := (ended + 1) / 2
		kept := append([]Move(nil), d.Moves[:inFlight]...)
		d.Moves = append(kept, d.Moves[inFlight+drop:]...)
	}
}

// forgetDecisions drops the Decisions of the older half of the ended moves that
// have one, and reports whether there were any.
func (d *Document) forgetDecisions(inFlight int) bool {
	var with []int
	for i := inFlight; i < len(d.Moves); i++ {
		if d.Moves[i].Decision != nil {
			with = append(with, i)
		}
	}
	d.Moves = slices.Clone(d.Moves) // the slice belongs to the caller
	for _, i := range with[:(len(with)+1)/2] {
		d.Moves[i].Decision = nil
	}
	return len(with) > 0
}

func pack(d *Document) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if err := json.NewEncoder(w).Encode(d); err != nil {
		return nil, fmt.Errorf("encoding the ledger: %w", err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("packing the ledger: %w", err)
	}
	return packed.Bytes(), nil
}

// Decode reads a document that Encode has written. It rejects documents that a Ledger
// cannot have written.
func Decode(packed []byte) (Document, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return Document{}, fmt.Errorf("unpacking the ledger: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(r, maxDecodedBytes+1))
	if err != nil {
		return Document{}, fmt.Errorf("unpacking the ledger: %w", err)
	}
	if len(data) > maxDecodedBytes {
		return Document{}, fmt.Errorf("the ledger unpacks to more than %d bytes", maxDecodedBytes)
	}
	var d Document
	if err := json.Unmarshal(data, &d); err != nil {
		return Document{}, fmt.Errorf("decoding the ledger: %w", err)
	}
	if err := d.validate(); err != nil {
		return Document{}, err
	}
	return d, nil
}

func (d *Document) validate() error {
	switch {
	case d.Format != Format:
		return fmt.Errorf("the ledger has format %d, want %d", d.Format, Format)
	case d.Generation < 0:
		return fmt.Errorf("the ledger has generation %d", d.Generation)
	case len(d.Moves) > maxMoves:
		return fmt.Errorf("the ledger has %d moves, more than %d", len(d.Moves), maxMoves)
	}
	seen, ended := make(map[string]bool, len(d.Moves)), false
	replacing := map[string]bool{}
	for i := range d.Moves {
		move := &d.Moves[i]
		if err := move.validate(); err != nil {
			return fmt.Errorf("move %d of the ledger: %w", i, err)
		}
		if move.Replacement != "" && (move.InFlight() || move.State == Landed) {
			if replacing[move.Replacement] {
				return fmt.Errorf("move %d of the ledger: pod %q replaces two pods", i, move.Replacement)
			}
			replacing[move.Replacement] = true
		}
		if !move.InFlight() {
			ended = true
			continue
		}
		if ended || seen[move.PodUID] {
			return fmt.Errorf("move %d of the ledger: pod %q occurs twice, or after moves that ended", i, move.PodUID)
		}
		seen[move.PodUID] = true
	}
	return nil
}

func (m *Move) validate() error {
	switch {
	case m.State.rank() == 0:
		return fmt.Errorf("unknown state %q", m.State)
	case m.PodUID == "" || m.From == "":
		return errors.New("it lacks a pod or a node")
	case m.Recorded.IsZero():
		return errors.New("it lacks the time at which it was recorded")
	case !m.InFlight() && m.Ended.IsZero():
		return fmt.Errorf("it is %s but has no end time", m.State)
	case m.Wait < 0 || m.Wait > maxDuration || m.TTL < 0 || m.TTL > maxDuration:
		return fmt.Errorf("its wait is %v and its TTL %v: both must be 0 to %v", m.Wait, m.TTL, maxDuration)
	case m.Margin < 0 || m.Margin > maxDuration:
		return fmt.Errorf("its margin is %v: must be 0 to %v", m.Margin, maxDuration)
	case m.CeilingMilliCores < 0 || m.CeilingMilliCores > 1<<60:
		return fmt.Errorf("the ceiling of its destination is %d milli-cores", m.CeilingMilliCores)
	case m.Attempts < 0:
		return fmt.Errorf("it has %d attempts", m.Attempts)
	}
	for _, used := range m.Usage {
		if used < 0 || used > 1<<60 {
			return fmt.Errorf("its pod used %d", used)
		}
	}
	return nil
}
