package lane

import (
	"context"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// chosen records which tests it would run, and fails the second time.
type chosen struct{ all []string }

func (c *chosen) Run() int {
	c.all = append(c.all, flag.Lookup("test.run").Value.String())
	return len(c.all) - 1
}

// Serve runs each incoming case with its own pattern, and reports the exit code.
func TestServe(t *testing.T) {
	before := flag.Lookup("test.run").Value.String()
	t.Cleanup(func() { _ = flag.Set("test.run", before) })
	var m chosen
	var out strings.Builder
	in := strings.NewReader(`{"Run":"^TestA$"}` + "\n" + `{"Run":"^TestB$"}` + "\n")
	if err := Serve(t.Context(), &m, in, &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"^TestA$", "^TestB$"}, m.all); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}
	if want := "\n" + done + "0\n\n" + done + "1\n"; out.String() != want {
		t.Errorf("reported %q, want %q", out.String(), want)
	}
}

// asServer is the variable that makes the test binary act as one with end-to-end tests.
const asServer = "EVENKEEL_TEST_LANE_SERVES"

// TestMain lets the test binary serve cases for TestWorker, which starts it.
func TestMain(m *testing.M) {
	if os.Getenv(asServer) == "" {
		os.Exit(m.Run())
	}
	flag.Parse()
	if err := Serve(context.Background(), m, os.Stdin, os.Stdout); err != nil {
		os.Exit(3)
	}
}

// The following functions are the cases that TestWorker runs.
func TestServedPasses(t *testing.T) {
	if os.Getenv(asServer) == "" {
		t.Skip("a case of TestWorker")
	}
}

func TestServedFails(t *testing.T) {
	if os.Getenv(asServer) != "" {
		t.Error("as it should")
	}
}

func TestServedDies(t *testing.T) {
	if os.Getenv(asServer) != "" {
		os.Exit(4)
	}
}

// A worker runs one case after another in its binary and returns the output of each. It reports a
// binary that dies.
func TestWorker(t *testing.T) {
	t.Setenv(asServer, "yes")
	w, err := Start(t.Context(), os.Args[0], ".", t.TempDir(), t.TempDir(), "-test.v")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		run, says string
		code      int
		dies      bool
	}{
		{run: "^TestServedPasses$", says: "--- PASS: TestServedPasses"},
		{run: "^TestServedFails$", says: "--- FAIL: TestServedFails", code: 1},
		{run: "^TestServedPasses$", says: "--- PASS: TestServedPasses"},
		{run: "^TestServedDies$", says: "=== RUN   TestServedDies", code: 1, dies: true},
	} {
		output, code, err := w.Run(Case{Run: tc.run})
		if !strings.Contains(string(output), tc.says) || code != tc.code || (err != nil) != tc.dies {
			t.Errorf("%s: code %d, %v, want code %d and %q in:\n%s", tc.run, code, err, tc.code, tc.says, output)
		}
	}
	if err := w.Close(); err == nil {
		t.Error("a test binary that died is closed without an error")
	}
}
