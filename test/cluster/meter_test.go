package cluster

import (
	"regexp"
	"strings"
	"testing"
)

func TestBuildMeterReportsProgress(t *testing.T) {
	tests := map[string]struct {
		output string
		want   string
	}{
		"nothing compiled yet":   {want: `^building kwok:  0%, 0 of 4 packages, `},
		"half of it":             {output: "a\nb\n", want: `50%, 2 of 4 packages, `},
		"everything is compiled": {output: "a\nb\nc\nd\n", want: `: linking, `},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			meter := newBuildMeter(nil, "kwok", 4)
			if _, err := meter.Write([]byte(tc.output)); err != nil {
				t.Fatal(err)
			}
			if got := meter.line(); !regexp.MustCompile(tc.want).MatchString(got) {
				t.Errorf("line %q, want it to match %q", got, tc.want)
			}
		})
	}
}

func TestBuildMeterKeepsTheEndOfTheOutput(t *testing.T) {
	meter := newBuildMeter(nil, "kwok", 1)
	if _, err := meter.Write([]byte(strings.Repeat("x", tailBytes) + "undefined: y")); err != nil {
		t.Fatal(err)
	}
	if tail := string(meter.tail()); len(tail) != tailBytes || !strings.HasSuffix(tail, "undefined: y") {
		t.Errorf("tail of %d bytes does not end with the last line", len(tail))
	}
}
