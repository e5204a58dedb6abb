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

// Document is a Ledger as it is stored: by the one process that evicts, for all others and for the next one.
type Document struct {
	// Format is the version of this type, of which there is one.
	Format int `json:"format"`
	// Generation counts the writes, Writer names the process of this one, Written is when it was.
	Generation int64     `json:"generation"`
	Writer     string    `json:"writer"`
	Written    time.Time `json:"written"`
	Hold       Hold      `json:"hold,omitzero"`
	// Moves are those in flight and then those that ended, oldest first each.
	Moves []Move `json:"moves"`
}

const (
	// Format is the version of Document that this package reads and writes.
	Format = 1
	// MaxEncodedBytes bounds what Encode returns: a ConfigMap holds a MiB in all.
	MaxEncodedBytes = 600 << 10
	// maxDecodedBytes bounds what Decode unpacks.
	maxDecodedBytes = 32 << 20
	// maxMoves bounds what Decode takes.
	maxMoves = 20_000
	// maxDuration bounds the waits of a move.
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

// Encode returns the document as compressed JSON of at most MaxEncodedBytes; the oldest outcomes make room. It fails where
// the moves in flight alone do not fit.
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
		ended := len(d.Moves) - inFlight
		if ended == 0 {
			return nil, fmt.Errorf("%d moves in flight take %d bytes, more than %d", inFlight, len(packed), MaxEncodedBytes)
		}
		drop := (ended + 1) / 2
		kept := append([]Move(nil), d.Moves[:inFlight]...)
		d.Moves = append(kept, d.Moves[inFlight+drop:]...)
	}
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

// Decode reads what Encode wrote. It takes nothing that a Ledger could not have written.
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
				return fmt.Errorf("move %d of the ledger: pod %q replaces two", i, move.Replacement)
			}
			replacing[move.Replacement] = true
		}
		if !move.InFlight() {
			ended = true
			continue
		}
		if ended || seen[move.PodUID] {
			return fmt.Errorf("move %d of the ledger: pod %q is on the move twice, or after moves that ended", i, move.PodUID)
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
		return errors.New("it names no pod or no node")
	case m.Recorded.IsZero():
		return errors.New("it was never recorded")
	case !m.InFlight() && m.Ended.IsZero():
		return fmt.Errorf("it is %s and never ended", m.State)
	case m.Wait < 0 || m.Wait > maxDuration || m.TTL < 0 || m.TTL > maxDuration:
		return fmt.Errorf("it waits %v and lives %v, want 0 to %v", m.Wait, m.TTL, maxDuration)
	case m.Attempts < 0:
		return fmt.Errorf("it was booked %d times", m.Attempts)
	}
	for _, used := range m.Usage {
		if used < 0 || used > 1<<60 {
			return fmt.Errorf("its pod used %d", used)
		}
	}
	return m.Surge.validate()
}

// Export returns the ledger as a Document, without generation, writer and time, which are the writer's.
func (l *Ledger) Export() Document {
	l.mu.Lock()
	defer l.mu.Unlock()
	document := Document{Format: Format, Hold: l.hold, Moves: append(copies(l.inFlight), copies(l.ended)...)}
	for i := range document.Moves {
		document.Moves[i].forgetGuess()
	}
	return document
}

// forgetGuess leaves out what others are to learn when the watch has told it.
func (m *Move) forgetGuess() {
	if m.guessed {
		m.vacate()
	}
}

// Adopt brings the ledger to what another process has written: moves that are new here, and what became of the others.
// What this process has seen itself stands: documents come late.
func (l *Ledger) Adopt(d Document, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hold = d.Hold
	before := l.newestEnded()
	for i := range d.Moves {
		told := d.Moves[i]
		if told.Outcome != nil {
			told.Outcome = new(*told.Outcome)
		}
		l.hear(&told, before[told.PodUID], now)
	}
	slices.SortStableFunc(l.ended, func(a, b *Move) int { return a.Ended.Compare(b.Ended) })
	l.keepSurges(&d)
	l.prune(now)
}

// newestEnded returns the newest move of each pod that has ended here.
func (l *Ledger) newestEnded() map[string]*Move {
	newest := make(map[string]*Move, len(l.ended))
	for _, move := range l.ended {
		if other := newest[move.PodUID]; other == nil || move.Recorded.After(other.Recorded) {
			newest[move.PodUID] = move
		}
	}
	return newest
}

// hear takes in one move as another process tells it; ended is the newest of the same pod that has ended here, nil for none.
func (l *Ledger) hear(told, ended *Move, now time.Time) {
	mine := l.byPod[told.PodUID]
	if mine != nil && told.Recorded.After(mine.Recorded) { // over for the writer, and begun again
		l.end(mine, Cancelled, now)
		mine = nil
	}
	switch {
	case mine != nil && told.Recorded.Before(mine.Recorded): // a former attempt
	case mine != nil:
		l.catchUp(mine, told, now)
	case ended != nil && !told.Recorded.After(ended.Recorded):
		if ended.Outcome == nil {
			ended.Outcome = told.Outcome
		}
		l.learnSurge(ended, told)
	case told.InFlight():
		l.adopt(told, now)
	default:
		if told.State == Landed {
			l.freed(told.Replacement, told)
		}
		l.ended = append(l.ended, told)
		l.learnSurge(told, told)
	}
}

// adopt takes a move of another process into flight, reserved where that has it, unless its time is over here.
func (l *Ledger) adopt(told *Move, now time.Time) {
	if now.After(told.Expires()) {
		told.State, told.Ended, told.Node = Expired, now, ""
		l.ended = append(l.ended, told)
		l.learnSurge(told, told)
		return
	}
	node := told.Node
	l.freed(told.Replacement, told)
	told.Attempts, told.Asked, told.late = 0, false, true // those are the other process's
	l.enter(told, node)
	l.learnSurge(told, told)
}

// freed takes a pod from the move that it has replaced here, because it replaced that of taker for the process that decides.
func (l *Ledger) freed(podUID string, taker *Move) {
	if podUID == "" {
		return
	}
	if other := l.replacing(podUID); other != nil && other != taker {
		other.vacate()
	}
	i := slices.IndexFunc(l.ended, func(m *Move) bool { return m.State == Landed && m.Replacement == podUID })
	if i < 0 {
		return
	}
	other := l.ended[i]
	l.ended = slices.Delete(l.ended, i, i+1)
	if other.PodUID == taker.PodUID { // an older record of the same move
		return
	}
	other.State, other.Replacement, other.ReplacementName, other.Attempts, other.Ended = Evicted, "", "", 0, time.Time{}
	if other.Surge != nil && other.Evicted.IsZero() {
		other.State = Intended
	}
	if l.byPod[other.PodUID] == nil {
		l.enter(other, other.To)
	}
}

// catchUp brings a move in flight here to what another process knows of it.
func (l *Ledger) catchUp(mine, told *Move, now time.Time) {
	l.learnSurge(mine, told)
	if told.Replacement != "" && told.Replacement != mine.Replacement {
		l.freed(told.Replacement, mine)
		mine.Replacement, mine.ReplacementName, mine.guessed, mine.late = told.Replacement, told.ReplacementName, false, true
	}
	switch {
	case told.State.rank() <= mine.State.rank():
	case told.InFlight():
		mine.State, mine.Evicted, mine.late = told.State, told.Evicted, true
		if told.Node != "" {
			l.reserve(mine, told.Node)
		}
	default:
		if told.State == Landed {
			l.freed(told.Replacement, mine)
			l.reserve(mine, told.Node)
			mine.Replacement, mine.ReplacementName, mine.guessed = told.Replacement, told.ReplacementName, false
		}
		l.end(mine, told.State, now)
		mine.Ended, mine.Evicted, mine.Outcome = told.Ended, told.Evicted, told.Outcome
	}
}
