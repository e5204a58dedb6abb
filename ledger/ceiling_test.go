package ledger

import "testing"

// A move's ceiling applies only to its planned destination. If the replacement is booked on another
// node, that node has no ceiling.
func TestOnlyThePlannedDestinationHasTheCeiling(t *testing.T) {
	b := newBooks(Config{KeepEnded: 50})
	b.Record(at(0), web(1, func(i *Intent) { i.To, i.CeilingMilliCores = "planned", 9000 }))
	data, err := b.Export().Encode()
	if err != nil {
		t.Fatal(err)
	}
	document, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	move := document.Moves[0]
	if got := move.CeilingOn("planned"); got != 9000 {
		t.Errorf("the planned destination has a ceiling of %d, want 9000", got)
	}
	if got := move.CeilingOn("other"); got != 0 {
		t.Errorf("another node has a ceiling of %d", got)
	}
}
