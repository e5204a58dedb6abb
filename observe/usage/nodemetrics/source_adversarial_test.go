package nodemetrics

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/observe/usage/access"
	"github.com/evenkeel/evenkeel/observe/usage/source"
)

// faults are the ways in which an exporter can fail, and how each is counted.
var faults = map[string]struct {
	handler http.Handler
	cause   usage.Cause
	want    string
}{
	"hangs":              {http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), usage.Unreachable, "no answer within 1s"},
	"not authenticated":  {status(http.StatusUnauthorized), usage.Unreachable, "401 Unauthorized: sorry"},
	"fails":              {status(http.StatusInternalServerError), usage.Unreachable, "500 Internal Server Error: sorry"},
	"nothing":            {body(""), usage.Unreadable, "unexpected EOF"},
	"HTML":               {body("<html>"), usage.Unreadable, "'<' where an object should be"},
	"an array":           {body("[]"), usage.Unreadable, "where an object should be"},
	"null":               {body("null"), usage.Unreadable, "where an object should be"},
	"cut off":            {body(`{"cpu_usage_active":1`), usage.Unreadable, "unexpected EOF"},
	"cut off in a key":   {body(`{"cpu_usage_active":10,"mem_us`), usage.Unreadable, "unexpected EOF"},
	"NaN":                {body(`{"cpu_usage_active":NaN}`), usage.Unreadable, "'N' where a number should be"},
	"a string":           {body(`{"cpu_usage_active":"50"}`), usage.Unreadable, "where a number should be"},
	"beyond all numbers": {body(`{"cpu_usage_active":1e999}`), usage.Unreadable, "1e999\" is not a number"},
	"two texts":          {body(`{"cpu_usage_active":50}{}`), usage.Unreadable, "'{' where the end should be"},
	"an endless key":     {body(`{"` + strings.Repeat("k", 2*maxResponseBytes)), usage.Unreadable, "longer than 1048576 bytes"},
	"an endless value":   {body(`{"x":"` + strings.Repeat("v", 2*maxResponseBytes)), usage.Unreadable, "longer than 1048576 bytes"},
	"nested deeply":      {body(`{"x":` + strings.Repeat("[", 100_000)), usage.Unreadable, "nested deeper than 64"},
}

func status(code int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "sorry", code) })
}

// An exporter that fails is left out and counted, and the others are read. If all fail, the source
// fails.
func TestSampleOfBadExporters(t *testing.T) {
	for name, tc := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source, snapshot := exportersWith(t, func(_ *Config, env *access.Env) {
				if strings.Contains(tc.want, "within 1s") {
					env.Timeout = time.Second
				}
			}, tc.handler, body(full))
			got, err := source.Sample(t.Context(), snapshot)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Nodes) != 1 || got.Nodes[0].Name != "n2" || len(got.Nodes[0].Readings) != numColumns {
				t.Errorf("%+v, want all of the good node", got.Nodes)
			}
			problem := got.Problems[tc.cause]
			if len(got.Problems) != 1 || problem.Count != 1 || !strings.HasPrefix(problem.Examples[0], `node "n1": `) || !strings.Contains(problem.Examples[0], tc.want) {
				t.Errorf("problems %v, want one %s with %q", got.Problems, tc.cause, tc.want)
			}
			alone := &cluster.Snapshot{Nodes: snapshot.Nodes[:1]}
			if got, err = source.Sample(t.Context(), alone); err == nil || !strings.Contains(err.Error(), tc.want) || got.Source != "" {
				t.Errorf("%+v, error %v; want %q in it", got, err, tc.want)
			}
		})
	}
}

// Values from an exporter that then failed do not affect the unit that is assumed for the others.
func TestSampleIgnoresHalfAnswers(t *testing.T) {
	source, snapshot := exporters(t, body(`{"mem_usage_active":50,`), body(`{"mem_usage_active":0.5}`))
	got, err := source.Sample(t.Context(), snapshot)
	if err != nil || len(got.Nodes) != 0 || got.Problems[usage.Contradictory].Count != 1 {
		t.Errorf("%+v, %v; want a fraction that is not mistaken for a percentage", got, err)
	}
}

// FuzzDecode verifies that decoding any answer of an exporter ends, and that
// unknown values are not zero.
func FuzzDecode(f *testing.F) {
	f.Add(full)
	f.Add(`{"cpu_usage_active":1,"cpu_usage_active":null,"cpu_usage_active":2}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, err := decode(io.LimitReader(strings.NewReader(text), maxResponseBytes))
		if err != nil && got != (answer{}) {
			t.Errorf("half an answer: %+v", got)
		}
		var problems usage.Problems
		c := converter{unit: source.Percent, problems: &problems}
		for _, reading := range c.readings(&cluster.Node{Capacity: cluster.Amounts{4000, 16 * gib}}, &got) {
			if reading.Value < 0 || reading.Value > 4.01*16*gib {
				t.Errorf("%+v is not a valid reading", reading)
			}
		}
	})
}
