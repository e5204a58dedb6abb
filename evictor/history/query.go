package history

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/ledger"
)

const (
	// maxLine bounds the log lines that are read. Longer lines are not ours.
	maxLine = 64 << 10
	// maxEntries bounds the number of evictions that are kept from logs, and maxTimes the
	// total number of times at which a dry run would have made them.
	maxEntries = 100_000
	maxTimes   = 5_000_000
	// maxKept bounds the total size, in bytes, of the lines from which entries were read.
	maxKept = 256 << 20
)

// Query selects entries. Empty fields select everything.
type Query struct {
	// Pod is namespace/name of an evicted pod or of its replacement. Owner is
	// namespace/name of its controller, or of the Deployment behind it.
	Pod, Owner string
	// Node is a node from which pods were evicted, or which is their planned destination
	// or the node where their replacement landed.
	Node string
	// Since is the time of the first entry.
	Since time.Time
}

func (q *Query) selects(e *Entry) bool {
	switch {
	case e.At.Before(q.Since):
	case q.Pod != "" && q.Pod != e.Namespace+"/"+e.Pod && q.Pod != e.Namespace+"/"+e.Replacement:
	case q.Node != "" && !slices.Contains([]string{e.Node, e.Destination, e.Landed}, q.Node):
	case q.Owner != "" && !e.ownedBy(q.Owner):
	default:
		return true
	}
	return false
}

// ownedBy reports whether the entry's pod belongs to a controller or, for a
// ReplicaSet, to its Deployment: the ReplicaSet's name is the Deployment's plus
// a hash.
func (e *Entry) ownedBy(owner string) bool {
	kind, name, _ := strings.Cut(e.Owner, "/")
	if e.Namespace+"/"+name == owner {
		return true
	}
	i := strings.LastIndexByte(name, '-')
	return kind == "ReplicaSet" && i > 0 && e.Namespace+"/"+name[:i] == owner
}

// OfLedger returns the selected evictions in the ledger, oldest first.
func (q *Query) OfLedger(d *ledger.Document) []Entry {
	entries := []Entry{}
	for i := range d.Moves {
		if e, made := OfMove(&d.Moves[i]); made && q.selects(&e) {
			entries = append(entries, e)
		}
	}
	sort(entries)
	return entries
}

// Logs collects evictions from log files, in any order.
type Logs struct {
	query Query
	made  map[key]*Entry
	// times holds the times, in Unix seconds, at which a dry run would have made an
	// eviction. They are kept so that overlapping files count each time once. counted is
	// their number.
	times   map[key]map[int64]struct{}
	counted int
	// judged holds the first judgement of each eviction, including evictions that are not
	// known yet.
	judged map[key]Entry
	// kept is the number of bytes of the kept lines, and mostKept its maximum.
	kept, mostKept int
}

// key identifies an eviction. A pod is evicted only once, although a dry run would evict
// it again and again.
type key struct {
	podUID string
	dryRun bool
}

// NewLogs returns Logs that keep the entries that a query selects.
func NewLogs(query Query) *Logs {
	return &Logs{query: query, made: map[key]*Entry{}, times: map[key]map[int64]struct{}{}, judged: map[key]Entry{}, mostKept: maxKept}
}

// Read reads a file to its end.
func (l *Logs) Read(file io.Reader) error {
	reader := bufio.NewReaderSize(file, maxLine)
	for {
		text, err := reader.ReadSlice('\n')
		whole := !errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = reader.ReadSlice('\n')
		}
		if whole {
			if err := l.add(text); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("reading a log: %w", err)
		}
	}
}

func (l *Logs) add(text []byte) error {
	if !bytes.Contains(text, []byte("podUID")) {
		return nil
	}
	parsed, ok := parse(text)
	if !ok || parsed.At.Before(l.query.Since) {
		return nil
	}
	e, of := parsed.Entry, key{parsed.PodUID, parsed.DryRun}
	known := l.made[of]
	switch {
	case e.Outcome != nil:
		if first, ok := l.judged[of]; !ok || e.At.Before(first.At) {
			l.judged[of] = e
			l.kept += len(text)
		}
	case known == nil:
		l.made[of] = &e
		l.kept += len(text)
		l.count(of, e.At)
	default:
		if e.At.Before(known.At) {
			*known = e
			l.kept += len(text)
		}
		l.count(of, e.At)
	}
	if len(l.made) > maxEntries || len(l.judged) > maxEntries || l.counted > maxTimes {
		return fmt.Errorf("the logs have more than %d evictions; give fewer files", maxEntries)
	}
	if l.kept > l.mostKept {
		return fmt.Errorf("the lines about evictions have more than %d bytes; give fewer files", l.mostKept)
	}
	return nil
}

// count records that a dry run would have made an eviction.
func (l *Logs) count(of key, at time.Time) {
	if !of.dryRun {
		return
	}
	if l.times[of] == nil {
		l.times[of] = map[int64]struct{}{}
	}
	before := len(l.times[of])
	l.times[of][at.Unix()] = struct{}{}
	l.counted += len(l.times[of]) - before
}

// Entries returns the selected evictions, oldest first.
func (l *Logs) Entries() []Entry {
	entries := []Entry{}
	for of, made := range l.made {
		e := *made
		if judged, ok := l.judged[of]; ok {
			e.Outcome, e.Landed, e.Replacement = judged.Outcome, judged.Landed, judged.Replacement
		}
		e.Times = len(l.times[of])
		if l.query.selects(&e) {
			entries = append(entries, e)
		}
	}
	sort(entries)
	return entries
}

func sort(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Pod, b.Pod), strings.Compare(a.PodUID, b.PodUID))
	})
}
