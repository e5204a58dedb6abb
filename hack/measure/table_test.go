package measure

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	var out bytes.Buffer
	if err := Table(&out, [][]string{{"variant", "median", ""}, {"none", "100", "held"}, {"evenkeel", "95", "missed"}}); err != nil {
		t.Fatal(err)
	}
	want := "variant   median  \n" +
		"none      100     held\n" +
		"evenkeel  95      missed\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestTableThatCannotBeWritten(t *testing.T) {
	full := errors.New("no space left")
	if err := Table(writer{full}, [][]string{{"variant"}}); !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
}

type writer struct{ err error }

func (w writer) Write([]byte) (int, error) { return 0, w.err }
