package soak

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadTrace(t *testing.T) {
	got, err := ReadTrace(strings.NewReader("id,0,1,2\na,1,2.5,3\nb,0,112,0\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := &Trace{Series: [][]float32{{1, 2.5, 3}, {0, 112, 0}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
	// (1 + 2.5 + 3 + 0 + 112 + 0) / 6
	if mean := got.MeanPercent(); mean != 118.5/6 {
		t.Errorf("mean %v, want %v", mean, 118.5/6)
	}
}

func TestReadTraceRefusesWhatIsNone(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"nothing at all":      {"", "header"},
		"another table":       {"time,cpu\n1,2\n", "header"},
		"no steps":            {"id\na\n", "header"},
		"a header alone":      {"id,0,1\n", "no series"},
		"a row too short":     {"id,0,1\na,1\n", "wrong number of fields"},
		"a blank":             {"id,0,1\na,1,\n", `series "a"`},
		"not a number is not": {"id,0,1\na,1,NaN\n", "no percentage"},
		"less than nothing":   {"id,0,1\na,1,-1\n", "no percentage"},
		"beyond all measure":  {"id,0,1\na,1,1e300\n", "no percentage"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadTrace(strings.NewReader(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want one with %q", err, tc.want)
			}
		})
	}
}

func TestFindTracesTakesTheLargestSetAndItsMemory(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a-small.cpu.csv"), []byte("id,0,1\na,1,2\n"))
	write(t, filepath.Join(dir, "large.cpu.csv.gz"), packed(t, "id,0,1\na,1,2\nb,3,4\n"))
	write(t, filepath.Join(dir, "large.mem.csv.gz"), packed(t, "id,0,1\na,50,60\nb,70,80\n"))
	cpu, memory, err := FindTraces(dir)
	if err != nil {
		t.Fatal(err)
	}
	if cpu.Name != "large.cpu" || memory == nil || memory.Name != "large.mem" || memory.Series[1][1] != 80 {
		t.Errorf("traces %+v and %+v, want the large set", cpu, memory)
	}
	cpu, memory, err = FindTraces(filepath.Join(dir, "a-small.cpu.csv"))
	if err != nil || cpu.Name != "a-small.cpu" || memory != nil {
		t.Errorf("traces %+v and %+v, error %v; want the small set, which has no memory", cpu, memory, err)
	}
	if _, _, err := FindTraces(t.TempDir()); err == nil {
		t.Error("an empty folder is no error")
	}
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

func packed(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func FuzzReadTrace(f *testing.F) {
	f.Add("id,0,1\na,1,2\n")
	f.Add("id,0\n\"a,b\",1e2\n")
	f.Fuzz(func(t *testing.T, text string) {
		trace, err := ReadTrace(strings.NewReader(text))
		if err != nil {
			return
		}
		if mean := trace.MeanPercent(); trace.Steps() == 0 || !(mean >= 0 && mean <= maxPercent) {
			t.Errorf("%q: %d steps with a mean of %v", text, trace.Steps(), mean)
		}
	})
}
