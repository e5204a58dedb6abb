package ledger

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/evenkeel/evenkeel/cluster"
)

// writeDocument makes the test save this version's document for later versions to read. An existing
// file is never changed, because a released version wrote it.
var writeDocument = flag.String("write-document", "", "write testdata/documents/NAME.json")

// everything returns a document with moves in all states and a value in every field.
func everything() Document {
	b := lived()
	b.Record(at(5), web(6, func(i *Intent) {
		i.Pool, i.FromUsed, i.CeilingMilliCores = "blue", cluster.Amounts{15000, 60 << 30}, 14400
	}), web(7), web(8), web(9))
	b.Deny("uid-7", "webhook said no", at(6))
	b.Cancel("uid-8", at(7))
	b.move(8, web(10, func(i *Intent) { i.TTL = time.Second }))
	b.Expire(at(10))
	b.Called(Call{Namespace: "ns", OwnerUID: "rs-1", Pod: "web-1", At: at(1)})
	b.Called(Call{Namespace: "ns", OwnerUID: "rs-1", Pod: "web-2", At: at(2), Refused: true})
	b.Called(Call{Namespace: "ns", Pod: "web-3", At: at(3), Failed: true})
	document := b.Export()
	document.Generation, document.Writer, document.Written = 7, "me", at(10)
	return document
}

// Documents that earlier versions stored with moves in flight can be read. What is stored again
// after an upgrade means the same to these versions, so that they can continue with it after a
// rollback: no field that they know is missing or has another meaning.
func TestDocumentsOfOtherVersions(t *testing.T) {
	if *writeDocument != "" {
		data, err := json.MarshalIndent(everything(), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join("testdata", "documents", *writeDocument+".json"), append(data, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob("testdata/documents/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents of other versions: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			theirs, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			document, err := Decode(packed(theirs))
			if err != nil {
				t.Fatalf("it is not read: %v", err)
			}
			if document.InFlight() < 3 || len(document.Moves) < 8 {
				t.Fatalf("%d moves of %d are in flight; the document proves little", document.InFlight(), len(document.Moves))
			}
			ours := plain(t, document)
			if lost := lacking("", plainJSON(t, theirs), ours); len(lost) > 0 {
				t.Errorf("they miss %q", lost)
			}
			takenOver(t, &document)
		})
	}
}

// takenOver checks that a process that takes over a document continues with all of its content.
func takenOver(t *testing.T, document *Document) {
	t.Helper()
	b := newBooks(Config{KeepEnded: 50})
	b.Adopt(*document, at(10))
	want, got := map[string]State{}, map[string]State{}
	count := func(into map[string]State, moves ...Move) {
		for i := range moves {
			if moves[i].idle() { // the move had no effect
				continue
			}
			scaledUp, _ := moves[i].ScaledUp()
			into[fmt.Sprint(moves[i].PodUID, moves[i].Recorded.UTC(), scaledUp, moves[i].Denied, moves[i].Outcome != nil)] = moves[i].State
		}
	}
	inFlight, ended := b.Moves()
	count(want, document.Moves...)
	count(got, append(inFlight, ended...)...)
	if diff := gocmp.Diff(want, got); diff != "" || b.Hold() != document.Hold {
		t.Errorf("taken over (-want +got), hold %+v:\n%s", b.Hold(), diff)
	}
	if diff := gocmp.Diff(document.Calls, b.Calls()); diff != "" {
		t.Errorf("calls taken over (-want +got):\n%s", diff)
	}
}

// The previous version, whose rules are repeated here, can read this version's document, and it has
// the same meaning there.
func TestTheVersionBeforeReads(t *testing.T) {
	document := everything()
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	var before documentBefore
	if err := json.Unmarshal(data, &before); err != nil {
		t.Fatal(err)
	}
	if err := before.refuses(); err != nil {
		t.Fatalf("the version before refuses it: %v", err)
	}
	again, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	if lost := lacking("", plainJSON(t, again), plainJSON(t, data)); len(lost) > 0 {
		t.Errorf("it reads differently %q", lost)
	}
	var states []string
	for state := range declaredStates(t) {
		if states = append(states, state); !slices.Contains(statesBefore, state) {
			t.Errorf("the version before refuses a document with a move that is %s", state)
		}
	}
	found := map[string]bool{}
	for i := range document.Moves {
		found[string(document.Moves[i].State)] = true
	}
	slices.Sort(states)
	if diff := gocmp.Diff(states, slices.Sorted(maps.Keys(found))); diff != "" {
		t.Errorf("states in the document (-declared +got):\n%s", diff)
	}
}

// statesBefore are the states that the previous version knows, those in flight first.
var statesBefore = []string{"Intended", "Evicted", "Booked", "Landed", "Cancelled", "Expired"}

// documentBefore and its parts are what the previous version reads and writes.
type documentBefore struct {
	Format     int          `json:"format"`
	Generation int64        `json:"generation"`
	Writer     string       `json:"writer"`
	Written    time.Time    `json:"written"`
	Hold       holdBefore   `json:"hold,omitzero"`
	Moves      []moveBefore `json:"moves"`
}

type holdBefore struct {
	Reason string    `json:"reason,omitempty"`
	Since  time.Time `json:"since,omitzero"`
	Until  time.Time `json:"until,omitzero"`
	Asked  int64     `json:"asked,omitempty"`
}

type moveBefore struct {
	Namespace       string          `json:"namespace"`
	Pod             string          `json:"pod"`
	PodUID          string          `json:"podUID"`
	Owner           ownerBefore     `json:"owner"`
	TemplateHash    string          `json:"templateHash,omitempty"`
	Usage           [2]int64        `json:"usage"`
	From            string          `json:"from"`
	Pool            string          `json:"pool,omitempty"`
	FromUsed        [2]int64        `json:"fromUsed"`
	To              string          `json:"to,omitempty"`
	Wait            time.Duration   `json:"wait"`
	TTL             time.Duration   `json:"ttl"`
	State           string          `json:"state"`
	Node            string          `json:"node,omitempty"`
	Replacement     string          `json:"replacement,omitempty"`
	ReplacementName string          `json:"replacementName,omitempty"`
	Asked           bool            `json:"asked,omitempty"`
	Attempts        int             `json:"attempts,omitempty"`
	Recorded        time.Time       `json:"recorded"`
	Evicted         time.Time       `json:"evicted,omitzero"`
	Ended           time.Time       `json:"ended,omitzero"`
	Denied          string          `json:"denied,omitempty"`
	Outcome         json.RawMessage `json:"outcome,omitempty"`
	Surge           *surgeBefore    `json:"surge,omitempty"`
}

type ownerBefore struct{ UID, Kind, Name string }

type surgeBefore struct {
	Deployment string `json:"deployment"`
	Replicas   int32  `json:"replicas"`
	Done       bool   `json:"done,omitempty"`
}

func (m *moveBefore) inFlight() bool {
	return slices.Contains(statesBefore[:3], m.State)
}

// refuses returns the reason why the previous version cannot read a document;
// nil if it can.
func (d *documentBefore) refuses() error {
	if d.Format != 1 || d.Generation < 0 || len(d.Moves) > 20_000 {
		return fmt.Errorf("format %d, generation %d, %d moves", d.Format, d.Generation, len(d.Moves))
	}
	ended, moving, replacing := false, map[string]bool{}, map[string]bool{}
	for i := range d.Moves {
		m := &d.Moves[i]
		ended = ended || !m.inFlight()
		if err := m.refuses(); err != nil {
			return fmt.Errorf("move %d: %w", i, err)
		}
		if m.inFlight() && (ended || moving[m.PodUID]) {
			return fmt.Errorf("move %d is in flight twice, or after one that ended", i)
		}
		if m.Replacement != "" && replacing[m.Replacement] && (m.inFlight() || m.State == "Landed") {
			return fmt.Errorf("move %d has the replacement of another", i)
		}
		moving[m.PodUID] = moving[m.PodUID] || m.inFlight()
		replacing[m.Replacement] = replacing[m.Replacement] || m.inFlight() || m.State == "Landed"
	}
	return nil
}

func (m *moveBefore) refuses() error {
	const week = 7 * 24 * time.Hour
	s := cmp.Or(m.Surge, &surgeBefore{Deployment: "none", Replicas: 1})
	for _, rule := range []struct {
		broken bool
		what   string
	}{
		{!slices.Contains(statesBefore, m.State), "its state is unknown"},
		{m.PodUID == "" || m.From == "" || m.Recorded.IsZero(), "it names no pod, node or time"},
		{!m.inFlight() && m.Ended.IsZero(), "it never ended"},
		{m.Wait < 0 || m.Wait > week || m.TTL < 0 || m.TTL > week, "it takes too long"},
		{m.Attempts < 0 || min(m.Usage[0], m.Usage[1]) < 0 || max(m.Usage[0], m.Usage[1]) > 1<<60, "its numbers are absurd"},
		{s.Deployment == "" || s.Replicas < 1 || s.Replicas > 1000, "its surge is absurd"},
	} {
		if rule.broken {
			return fmt.Errorf("%s (%s): %s", m.PodUID, m.State, rule.what)
		}
	}
	return nil
}

// plain returns a document as JSON values, as it is stored.
func plain(t *testing.T, d Document) any {
	t.Helper()
	data, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return plainJSON(t, data)
}

func plainJSON(t *testing.T, data []byte) (value any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// lacking lists the parts of wanted that got lacks or contains with another value. It ignores
// anything else in got.
func lacking(path string, wanted, got any) (lost []string) {
	switch wanted := wanted.(type) {
	case map[string]any:
		object, _ := got.(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(wanted)) {
			lost = append(lost, lacking(path+"."+key, wanted[key], object[key])...)
		}
	case []any:
		list, _ := got.([]any)
		if len(list) != len(wanted) {
			return []string{fmt.Sprintf("%s: %d items, not %d", path, len(list), len(wanted))}
		}
		for i := range wanted {
			lost = append(lost, lacking(fmt.Sprintf("%s[%d]", path, i), wanted[i], list[i])...)
		}
	default:
		if !gocmp.Equal(wanted, got) {
			return []string{fmt.Sprintf("%s: %v, not %v", path, got, wanted)}
		}
	}
	return lost
}

// declaredStates returns the constants of type State in the source.
func declaredStates(t *testing.T) map[string]bool {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "move.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, _ := spec.Type.(*ast.Ident); kind != nil && kind.Name == "State" {
			for _, value := range spec.Values {
				states[strings.Trim(value.(*ast.BasicLit).Value, `"`)] = true
			}
		}
		return true
	})
	if len(states) == 0 {
		t.Fatal("no states are declared")
	}
	return states
}
