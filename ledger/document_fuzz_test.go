package ledger

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sameMoves compares moves as they are stored.
var sameMoves = cmp.Options{cmpopts.IgnoreUnexported(Move{}), cmpopts.EquateEmpty()}

func packed(data []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(data)
	_ = w.Close()
	return out.Bytes()
}

// lived returns the ledger of a process with some content of every kind.
func lived() *books {
	b := newBooks(Config{SourceAvoidance: time.Minute, KeepEnded: 50})
	b.Record(at(0), web(1, decided), web(2), web(3), web(4, statefulSet), web(5, unmeasured))
	b.Accepted("uid-1", at(1))
	for _, uid := range []string{"uid-1", "uid-2", "uid-3"} {
		b.Leaves(uid, at(1))
	}
	b.Created(webPod("x"))
	b.Created(webPod("y"))
	b.book(1, "uid-1", "n1", used)
	b.Bound(webPod("y"), "n2", at(2))
	b.Cancel("uid-4", at(3))
	b.Record(at(4), web(4, statefulSet))
	b.SetOutcome("uid-2", &Outcome{Judged: at(4), Healthy: true}, nil)
	b.SetHold(Hold{Reason: "TooManyPending", Since: at(4), Until: at(64)})
	return b
}

// Nothing that is stored in place of a ledger causes harm. It is either rejected, or means the same
// after it is written again. A ledger that adopts it, with or without moves of its own, stays
// consistent.
func FuzzDecode(f *testing.F) {
	document := lived().Export()
	document.Generation, document.Writer, document.Written = 7, "me", at(5)
	data, err := json.Marshal(document)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"format":1,"moves":null}`))
	f.Add([]byte(`{"format":1,"moves":[{"podUID":"a","from":"n","state":"Landed","recorded":"2026-03-01T12:00:00Z","ended":"2026-03-01T12:00:00Z","replacement":"x"},` +
		`{"podUID":"b","from":"n","state":"Expired","recorded":"2026-03-01T12:00:00+05:00","ended":"9999-12-31T23:59:59Z"}]}`))
	f.Add([]byte(`{"format":1,"moves":[{"podUID":"uid-1","from":"n","state":"Booked","node":"n2","recorded":"2026-03-01T12:00:00Z","evicted":"2026-03-01T12:00:00Z","ttl":60000000000,"replacement":"x"},` +
		`{"podUID":"b","from":"n","state":"Booked","node":"n1","recorded":"2026-03-01T12:00:00Z","ttl":60000000000,"replacement":"x","usage":[1,2]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		_, _ = Decode(data)
		d, err := Decode(packed(data))
		if err != nil {
			return
		}
		writtenAgain(t, &d)
		for _, b := range []*books{newBooks(Config{KeepEnded: 50}), lived()} {
			b.Adopt(d, at(10))
			checkReservations(t, b)
			checkReplacements(t, b)
			adoptedAgain(t, b, d)
			runOut(t, b)
		}
	})
}

// writtenAgain encodes a decoded document and decodes it again.
func writtenAgain(t *testing.T, d *Document) {
	t.Helper()
	data, err := d.Encode()
	if err != nil {
		t.Fatalf("what was decoded does not encode: %v", err)
	}
	if len(data) > MaxEncodedBytes {
		t.Fatalf("encoded in %d bytes", len(data))
	}
	again, err := Decode(data)
	if err != nil {
		t.Fatalf("what was encoded does not decode: %v", err)
	}
	if len(again.Moves) < len(d.Moves) { // the oldest outcomes were dropped to save space
		return
	}
	if diff := cmp.Diff(*d, again, sameMoves); diff != "" {
		t.Fatalf("written again (-want +got):\n%s", diff)
	}
}

// adoptedAgain verifies that adopting a document twice changes nothing.
func adoptedAgain(t *testing.T, b *books, d Document) {
	t.Helper()
	inFlight, ended := b.Moves()
	b.Adopt(d, at(10))
	inFlightAgain, endedAgain := b.Moves()
	if diff := cmp.Diff(inFlight, inFlightAgain, sameMoves); diff != "" {
		t.Fatalf("adopted twice: in flight (-once +twice):\n%s", diff)
	}
	if len(ended) != len(endedAgain) {
		t.Fatalf("adopted twice: %d moves ended, %d before", len(endedAgain), len(ended))
	}
}

// runOut lets pods come and go, and then lets as much time pass as the longest move may take.
func runOut(t *testing.T, b *books) {
	t.Helper()
	inFlight, _ := b.Moves()
	for i := range inFlight {
		move := &inFlight[i]
		b.Leaves(move.PodUID, at(11))
		b.Bound(Pod{
			UID: "late-" + move.PodUID, Namespace: move.Namespace, Name: move.Pod, OwnerUID: move.Owner.UID, OwnerKind: move.Owner.Kind,
			TemplateHash: move.TemplateHash,
		}, "n1", at(12))
		checkReservations(t, b)
		checkReplacements(t, b)
	}
	b.Expire(time.Date(12_000, 1, 1, 0, 0, 0, 0, time.UTC))
	if inFlight, ended := b.Moves(); len(inFlight) > 0 || len(b.sums) > 0 || len(ended) > 50 {
		t.Fatalf("in the end %d moves are in flight, %d remembered, and %v is reserved", len(inFlight), len(ended), b.sums)
	}
}

// A document that becomes too large to be stored loses its oldest outcomes, but never a move in
// flight.
func TestEncodeDropsOldOutcomes(t *testing.T) {
	b := newBooks(Config{KeepEnded: maxMoves})
	noise := func(n int) string { // does not compress well
		h := uint64(n)*0x9E3779B97F4A7C15 + 1
		text := make([]byte, 0, 200)
		for len(text) < 200 {
			h ^= h << 13
			h ^= h >> 7
			h ^= h << 17
			text = append(text, 'a'+byte(h%26))
		}
		return string(text)
	}
	for n := range 6000 {
		b.Record(at(n), web(n, func(i *Intent) { i.Pod = noise(n) }))
		b.Cancel(web(n).PodUID, at(n))
	}
	b.Record(at(6000), web(-1), web(-2))
	document := b.Export()
	data, err := document.Encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	kept := len(got.Moves)
	if kept < 1000 || kept >= 6000 || got.InFlight() != 2 || got.Moves[0].PodUID != "uid--1" || len(data) > MaxEncodedBytes {
		t.Errorf("%d moves kept in %d bytes, %d of them in flight", kept, len(data), got.InFlight())
	}
	if diff := cmp.Diff(document.Moves[len(document.Moves)-1], got.Moves[kept-1], sameMoves); diff != "" {
		t.Errorf("the newest outcome (-want +got):\n%s", diff)
	}
}

// Anything that is not a ledger is rejected with a reason.
func TestDecodeRefuses(t *testing.T) {
	move := `{"podUID":"a","from":"n","state":"Intended","recorded":"2026-03-01T12:00:00Z"`
	document := func(moves string) []byte { return packed([]byte(`{"format":1,"moves":[` + moves + `]}`)) }
	cases := map[string]struct {
		data []byte
		want string
	}{
		"nothing":                 {nil, "unpacking the ledger"},
		"not packed":              {[]byte(`{"format":1}`), "unpacking the ledger"},
		"cut off":                 {packed([]byte(`{"format":1}`))[:20], "unpacking the ledger"},
		"not JSON":                {packed([]byte("paused: true")), "decoding the ledger"},
		"of another version":      {packed([]byte(`{"format":2}`)), "format 2"},
		"of a bomb":               {packed(make([]byte, maxDecodedBytes+1)), "more than"},
		"of a negative number":    {packed([]byte(`{"format":1,"generation":-1}`)), "generation -1"},
		"in an unknown state":     {document(`{"podUID":"a","from":"n","state":"Flying"}`), `unknown state "Flying"`},
		"of nobody":               {document(`{"from":"n","state":"Intended"}`), "lacks a pod or a node"},
		"from nowhere":            {document(`{"podUID":"a","state":"Intended"}`), "lacks a pod or a node"},
		"never recorded":          {document(`{"podUID":"a","from":"n","state":"Intended"}`), "lacks the time"},
		"landed and not ended":    {document(`{"podUID":"a","from":"n","state":"Landed","recorded":"2026-03-01T12:00:00Z"}`), "has no end time"},
		"an unlimited lifetime":   {document(move + `,"ttl":1000000000000000}`), "its TTL 277h46m40s"},
		"that waits backwards":    {document(move + `,"wait":-1}`), "its wait is -1ns"},
		"booked less than never":  {document(move + `,"attempts":-1}`), "has -1 attempts"},
		"up to less than none":    {document(move + `,"ceilingMilliCores":-1}`), "ceiling of its destination is -1 milli-cores"},
		"up to an absurd ceiling": {document(move + `,"ceilingMilliCores":9000000000000000000}`), "ceiling of its destination is 9000000000000000000 milli-cores"},
		"of negative usage":       {document(move + `,"usage":[-1,0]}`), "used -1"},
		"of absurd usage":         {document(move + `,"usage":[0,9000000000000000000]}`), "used 9000000000000000000"},
		"the same pod twice":      {document(move + `},` + move + `}`), "occurs twice"},
		"in flight after the end": {document(`{"podUID":"b","from":"n","state":"Landed","recorded":"2026-03-01T12:00:00Z","ended":"2026-03-01T12:00:00Z"},` + move + `}`), "after moves that ended"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d, err := Decode(tc.data)
			if err == nil || !bytes.Contains([]byte(err.Error()), []byte(tc.want)) {
				t.Errorf("got %v and error %v, want one with %q", d, err, tc.want)
			}
			if diff := cmp.Diff(Document{}, d, sameMoves); diff != "" {
				t.Errorf("beside the error (-want +got):\n%s", diff)
			}
		})
	}
	d, err := Decode(document(move + `,"to":"m","usage":[1,1]}`))
	if err != nil {
		t.Fatalf("the smallest valid move is refused: %v", err)
	}
	if got := d.Moves[0].CeilingOn("m"); got != 0 {
		t.Errorf("a move of a version that stored no ceiling has one of %d", got)
	}
}
