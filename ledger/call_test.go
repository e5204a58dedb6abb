package ledger

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// The newest calls are remembered, both here and by processes that adopt the document.
func TestCallsAreBounded(t *testing.T) {
	writer := newBooks(Config{})
	before := writer.Revision()
	for n := range MaxCalls + 5 {
		writer.Called(Call{Namespace: "ns", OwnerUID: "rs-1", Pod: fmt.Sprint("web-", n), At: at(n), Failed: true})
	}
	if writer.Revision() == before {
		t.Error("the calls do not increase the revision")
	}
	document := writer.Export()
	document.Calls = append([]Call{{Pod: "from a version that keeps more"}}, document.Calls...)
	reader := newBooks(Config{})
	reader.Adopt(document, at(0))
	for name, b := range map[string]*books{"the process itself": writer, "another": reader} {
		if calls := b.Calls(); len(calls) != MaxCalls || calls[0].Pod != "web-5" || calls[MaxCalls-1].Pod != fmt.Sprint("web-", MaxCalls+4) {
			t.Errorf("%s remembers %d calls: %+v", name, len(calls), calls)
		}
	}
}

// Calls never prevent the moves in flight from being stored. Even with the longest names, they are
// small compared to these.
func TestCallsTakeLittleSpace(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	name := func(length int) string {
		var s strings.Builder
		for range length {
			s.WriteByte("abcdefghijklmnopqrstuvwxyz0123456789-"[rng.IntN(37)])
		}
		return s.String()
	}
	calls := func(b *books, length int) {
		for n := range MaxCalls {
			b.Called(Call{Namespace: name(min(length, 63)), OwnerUID: name(36), Pod: name(length), At: at(n), Refused: true})
		}
	}
	b := newBooks(Config{})
	b.Record(at(0), web(1))
	empty, err := b.Export().Encode()
	if err != nil {
		t.Fatal(err)
	}
	calls(b, 253)
	long, err := b.Export().Encode()
	if err != nil {
		t.Fatal(err)
	}
	if most := MaxEncodedBytes / 20; len(long)-len(empty) > most {
		t.Errorf("%d calls take %d bytes, want %d at most", MaxCalls, len(long)-len(empty), most)
	}
	calls(b, MaxEncodedBytes/10) // no API server accepts such names
	packed, err := b.Export().Encode()
	if err != nil {
		t.Fatalf("the calls keep a move in flight from being stored: %v", err)
	}
	document, err := Decode(packed)
	if err != nil || len(document.Moves) != 1 || len(document.Calls) != 0 {
		t.Errorf("%d moves and %d calls are stored (%v), want the move", len(document.Moves), len(document.Calls), err)
	}
}
