package trace

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// packed compresses a text.
func packed(t testing.TB, text string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	w := gzip.NewWriter(&buffer)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

func TestReadAcceptsEveryFormOfATable(t *testing.T) {
	want := &Trace{IDs: []string{"a", "b,c"}, Series: [][]float32{{0, 12.5, 100}, {1000, 3, 1e-3}}}
	for name, data := range map[string][]byte{
		"plain":                        []byte("id,0,1,2\na,0,12.5,100\n\"b,c\",1000,3,0.001\n"),
		"without an end of line":       []byte("id,0,1,2\na,0,12.5,100\n\"b,c\",1000,3,0.001"),
		"with the line ends of others": []byte("id,0,1,2\r\na,0,12.5,100\r\n\"b,c\",1000,3,0.001\r\n"),
		"with empty lines":             []byte("id,0,1,2\n\na,0,12.5,100\n\n\"b,c\",1000,3,0.001\n\n"),
		"numbers of other notations":   []byte("id,0,1,2\na,-0,1.25e1,+100\n\"b,c\",1e3,03,1e-3\n"),
		"compressed":                   packed(t, "id,0,1,2\na,0,12.5,100\n\"b,c\",1000,3,0.001\n"),
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Read(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("trace (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOpenNamesATraceAfterItsFile(t *testing.T) {
	for file, want := range map[string]string{
		"day.cpu.csv.gz": "day.cpu",
		"day.cpu.csv":    "day.cpu",
		"day":            "day",
	} {
		t.Run(file, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), file)
			data := []byte("id,0\na,40\nb,20\n")
			if strings.HasSuffix(file, ".gz") {
				data = packed(t, string(data))
			}
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if got.Name != want || got.Steps() != 1 || got.Series[0][0] != 40 {
				t.Errorf("it is called %q, with %d steps from %v %%; want %q, 1 and 40", got.Name, got.Steps(), got.Series[0][0], want)
			}
		})
	}
}

func TestAnEmptyTraceHasNothing(t *testing.T) {
	var none *Trace
	if none.Steps() != 0 || (&Trace{}).Steps() != 0 {
		t.Error("a trace without series has steps")
	}
}
