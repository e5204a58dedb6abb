package kubelet

import (
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// A summary with an error in a relevant part is rejected with a reason.
func TestInvalidSummary(t *testing.T) {
	node := func(members string) string { return `{"node":{"cpu":{` + members + `}}}` }
	cases := map[string]struct{ text, want string }{
		"nothing":                     {"", "unexpected EOF"},
		"a login page":                {"<html><body>log in</body></html>", `'<' where an object should be`},
		"another object":              {`{"kind":"Status","code":200}`, "no node"},
		"an array":                    {`[]`, `'[' where an object should be`},
		"cut off in a number":         {`{"node":{"cpu":{"usageNanoCores":12`, "unexpected EOF"},
		"cut off in a skipped string": {`{"node":{"fs":"abc`, "unexpected EOF"},
		"cut off after a backslash":   {`{"node":{"fs":"abc\`, "unexpected EOF"},
		"cut off in a skipped array":  {`{"node":{"fs":[[{}`, "unexpected EOF"},
		"cut off before the last":     {`{"node":{}`, "unexpected EOF"},
		"two texts":                   {`{"node":{}} {"node":{}}`, `'{' where the end should be`},
		"a comma too many":            {`{"node":{},}`, `where a string should be`},
		"no comma":                    {`{"node":{} "pods":[]}`, `where a comma or the closing bracket should be`},
		"no colon":                    {`{"node" {}}`, `where a colon should be`},
		"two nodes":                   {`{"node":{"cpu":{"usageNanoCores":1}},"node":{"cpu":{"usageNanoCores":2}}}`, `"usageNanoCores" is given twice`},
		"two values":                  {node(`"usageNanoCores":1,"usageNanoCores":2`), `"usageNanoCores" is given twice`},
		"a string for a number":       {node(`"usageNanoCores":"1"`), `where a number should be`},
		"an object for a number":      {node(`"usageNanoCores":{}`), `where a number should be`},
		"NaN":                         {node(`"usageNanoCores":NaN`), `'N' where a number should be`},
		"infinity":                    {node(`"usageNanoCores":Infinity`), `'I' where a number should be`},
		"minus infinity":              {node(`"usageNanoCores":-Inf`), `'I' where a digit should be`},
		"hexadecimal":                 {node(`"usageNanoCores":0x10`), `'x' where a comma or the closing bracket should be`},
		"beyond all numbers":          {node(`"usageNanoCores":1e999`), `"1e999" is not a number`},
		"a number without end":        {node(`"usageNanoCores":` + strings.Repeat("1", 100)), "more than 64 digits"},
		"a word":                      {node(`"usageNanoCores":nil`), `where null should be`},
		"an invalid time":             {node(`"time":"yesterday"`), `"yesterday" is not a time`},
		"a number for a time":         {node(`"time":1772366400`), `where a string should be`},
		"a key without end":           {`{"` + strings.Repeat("k", 2000), "a string or number of over 1024 bytes"},
		"no escape":                   {`{"node":{"nodeName":"\x"}}`, "a valid escape sequence should be"},
		"no value":                    {`{"node":{"fs":}}`, "where a value should be"},
		"pods that are not a list":    {`{"node":{},"pods":{}}`, `where an array should be`},
		"a pod that is not an object": {`{"node":{},"pods":[7]}`, `where an object should be`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, from := range []io.Reader{strings.NewReader(tc.text), iotest.OneByteReader(strings.NewReader(tc.text))} {
				got, err := decodeSummary(from, newScanner(), aNode("n1", aPod("shop", "p")), true)
				if err == nil || !strings.Contains(err.Error(), tc.want) {
					t.Errorf("error %v, want %q in it", err, tc.want)
				}
				if got != nil {
					t.Errorf("half a summary: %+v", got)
				}
			}
		})
	}
}

// An incomplete character is decoded as encoding/json does, so it is part of no name.
func TestSummaryWithHalfACharacter(t *testing.T) {
	got, err := decodeSummary(strings.NewReader(`{"node":{"nodeName":"\ud800x"}}`), newScanner(), aNode("n1"), true)
	if err != nil || got.nodeName != "\ufffdx" {
		t.Errorf("%+v, %v", got, err)
	}
}

// Endless nesting, or values longer than the window, are skipped.
func TestSummarySkipsAnything(t *testing.T) {
	long := strings.Repeat(`\\\"`, 3*windowBytes)
	deep := strings.Repeat(`[{"a":`, 100_000) + "1" + strings.Repeat(`}]`, 100_000)
	text := `{"x":"` + long + `","y":` + deep + `,"q":{"s":"a\"]}","t":"\\","u":["\\\"}"]},"z":[true,false,null,-1.5e-3,"\u00e4"],"node":{"nodeName":"\u006e\ud83d\ude00\n"}}`
	got, err := decodeSummary(strings.NewReader(text), newScanner(), aNode("n1"), true)
	if err != nil || got.nodeName != "n😀\n" {
		t.Errorf("%+v, %v", got, err)
	}
}

// A body that breaks off or never arrives is reported as an error, never as a regular end.
func TestSummaryOfABodyThatFails(t *testing.T) {
	text := `{"node":{}}`
	if _, err := decodeSummary(io.MultiReader(strings.NewReader(text), iotest.ErrReader(io.ErrClosedPipe)), newScanner(), aNode("n1"), true); err == nil {
		t.Error("the connection broke before the end of the body, without an error")
	}
	if _, err := decodeSummary(stuck{}, newScanner(), aNode("n1"), true); err == nil {
		t.Error("a body that gives nothing at all was read")
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// FuzzSummary verifies that reading any answer of a kubelet ends with an error or with valid
// amounts, and that the result is the same however the answer is split into packets.
func FuzzSummary(f *testing.F) {
	recorded, err := os.ReadFile(filepath.Join("testdata", "summary.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(recorded))
	f.Add(`{"node":{"cpu":` + cpuOK + `,"memory":` + memOK + `},"pods":[{"podRef":{"name":"p","namespace":"shop"}}]}`)
	f.Add(`{"node":{"cpu":{"usageNanoCores":1e309}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		node := aNode("n1", aPod("shop", "web-0"), aPod("shop", "p"))
		s, err := decodeSummary(strings.NewReader(text), newScanner(), node, true)
		pieces, errOfPieces := decodeSummary(iotest.HalfReader(strings.NewReader(text)), newScanner(), node, true)
		if (err == nil) != (errOfPieces == nil) {
			t.Errorf("whole: %v, in pieces: %v", err, errOfPieces)
		}
		if err != nil {
			return
		}
		whole, _ := summarized(node, s, nil)
		parts, _ := summarized(node, pieces, nil)
		verifyReport(t, whole)
		if diff := cmp.Diff(whole, parts, cmp.AllowUnexported(report{})); diff != "" {
			t.Errorf("(-whole +pieces):\n%s", diff)
		}
	})
}

func verifyReport(t *testing.T, r *report) {
	t.Helper()
	for _, reading := range r.readings {
		if !(reading.Value >= 0) || math.IsInf(reading.Value, 0) || reading.At.IsZero() {
			t.Errorf("%+v is not a valid reading", reading)
		}
	}
	for _, pod := range r.pods {
		for _, used := range pod.Last.Used {
			if used < 0 || used > mostOfOne || pod.Last.At.IsZero() {
				t.Errorf("%+v is not a valid sample", pod)
			}
		}
	}
}
