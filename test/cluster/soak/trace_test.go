package soak

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"
)

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
		t.Error("an empty folder is accepted")
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
