package jsonscan

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// scanners returns Scanners that read a text in all ways: from memory, through a large window, and
// through a small window byte by byte.
func scanners(text []byte) map[string]*Scanner {
	whole, wide, narrow := new(Scanner), NewReader(1<<10, ofText), NewReader(1, ofText)
	whole.SetText(text)
	wide.Reset(iotest.HalfReader(bytes.NewReader(text)))
	narrow.Reset(iotest.OneByteReader(bytes.NewReader(text)))
	return map[string]*Scanner{"at hand": whole, "wide": wide, "narrow": narrow}
}

// value reads any value as encoding/json reads it into an any.
func value(s *Scanner) any {
	switch c := s.Next(); c {
	case '{':
		members := map[string]any{}
		for key := range s.Object {
			name := string(key)
			members[name] = value(s)
		}
		return members
	case '[':
		elements := []any{}
		for range s.Array {
			elements = append(elements, value(s))
		}
		return elements
	case '"':
		return s.Text()
	case 't', 'f':
		return s.Bool()
	case 'n':
		s.Skip()
		return nil
	default:
		return json.Number(s.Number())
	}
}

// checkSkipped verifies that a text is skipped if and only if encoding/json considers it valid.
func checkSkipped(t *testing.T, text []byte) {
	t.Helper()
	valid := json.Valid(text)
	for name, s := range scanners(text) {
		if s.Skip(); (s.End() == nil) != valid {
			t.Fatalf("skipping %q, %s: %v, while encoding/json says valid is %t", text, name, s.Err(), valid)
		}
	}
}

// FuzzScanner verifies that a text is accepted if encoding/json accepts it,
// whether it is skipped or read, and that values equal those of encoding/json.
func FuzzScanner(f *testing.F) {
	for _, text := range []string{
		`{"a":[1,-2.5e+3,"\u00e9\ud83d\ude00\ud83d",null,true,false,{}],"b":{"c":"é` + "\xff" + `","d":""}}`,
		` { "a" : [ ] , "b" : 0.10 } `, `[[[{"k":{"k":{"k":1}}}]]]`, `"\`, `-`, `01`, `1.`, `1e`, `nul`, `{"a":1,}`, "\"\n\"",
		`{"a":{"b":[{"c":12345678901,"d":1.5}]},"e":{}}`, strings.Repeat("[", 200) + strings.Repeat("]", 200),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		checkSkipped(t, text)
		var want any
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		valid := json.Valid(text) && decoder.Decode(&want) == nil
		for name, s := range scanners(text) {
			got := value(s)
			if (s.End() == nil) != valid {
				t.Fatalf("reading %q, %s: %v, while encoding/json says valid is %t", text, name, s.Err(), valid)
			}
			if valid && !reflect.DeepEqual(want, got) { // cmp is very slow for deep nesting
				t.Fatalf("reading %q, %s: got %v, want %v", text, name, got, want)
			}
		}
	})
}

// Brackets are skipped however they are nested, down to the limit.
func TestSkipIsBoundedInDepth(t *testing.T) {
	for _, pair := range [][2]string{{"[", "]"}, {`{"k":`, "}"}, {`[{"k":`, "}]"}, {`{"s":"v","k":`, `,"n":1}`}} {
		for _, depth := range []int{1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 200} {
			text := strings.Repeat(pair[0], depth) + "0" + strings.Repeat(pair[1], depth)
			checkSkipped(t, []byte(text))
			deep := depth * (len(pair[0]) - len(strings.TrimLeft(pair[0], "[")) + strings.Count(pair[0], "{"))
			for limit, taken := range map[int]bool{deep: true, deep - 1: false} {
				s := NewReader(16, Limits{Text: 8, Depth: limit})
				s.Reset(strings.NewReader(text))
				if s.Skip(); (s.End() == nil) != taken {
					t.Errorf("%d times %s with a limit of %d: %v", depth, pair[0], limit, s.Err())
				}
			}
		}
	}
}

// A text whose reader fails is distinguished from a text that ends too early.
func TestTextsThatBreakOff(t *testing.T) {
	errBroken := errors.New("connection reset")
	for _, text := range []string{"", "{", `{"k"`, `{"k":`, `{"k":"v`, `{"k":1`, `{"k":tr`, `{"k":"v"}`, `{"k":"v"} `, `"\u00`} {
		s := NewReader(4, Limits{Text: 100, Depth: 10})
		s.Reset(io.MultiReader(strings.NewReader(text), iotest.ErrReader(errBroken)))
		if s.Skip(); !errors.Is(s.End(), errBroken) {
			t.Errorf("%q and then an error: %v", text, s.Err())
		}
		s.Reset(strings.NewReader(text))
		s.Skip()
		if whole := strings.HasSuffix(strings.TrimSpace(text), "}"); !whole && !errors.Is(s.End(), io.ErrUnexpectedEOF) {
			t.Errorf("%q: %v, want an unexpected end", text, s.Err())
		} else if whole && s.End() != nil {
			t.Errorf("%q: %v", text, s.Err())
		}
	}
	s := NewReader(4, ofText)
	if s.Reset(stuck{}); s.End() != io.ErrNoProgress { //nolint:errorlint // exactly this error
		t.Errorf("a reader that gives nothing: %v", s.Err())
	}
}

type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

// Values that are read are bounded. Skipped values are not bounded, and take no memory.
func TestTextsAreBounded(t *testing.T) {
	const window = 16
	cases := map[string]struct {
		before, repeated, after string
		read                    func(*Scanner)
	}{
		"a plain string": {`"`, "a", `"`, func(s *Scanner) { s.Bytes() }},
		"a special one":  {`"`, "\x7f\x80", `"`, func(s *Scanner) { s.Bytes() }},
		"a number":       {"", "1", "", func(s *Scanner) { s.Number() }},
		"a key": {`{"`, "a", `":1}`, func(s *Scanner) {
			for range s.Object {
				continue
			}
		}},
	}
	for name, tc := range cases {
		for n, taken := range map[int]bool{1: true, window: true, 50: true, 103: false, 10_000: false} {
			text := tc.before + strings.Repeat(tc.repeated, n) + tc.after
			s := NewReader(window, Limits{Text: 100, Depth: 10})
			s.Reset(strings.NewReader(text))
			if tc.read(s); (s.End() == nil) != taken {
				t.Errorf("%s of %d bytes: %v", name, n, s.Err())
			}
			s = NewReader(window, Limits{Text: 100, Depth: 10})
			s.Reset(strings.NewReader(text))
			if s.Skip(); len(s.buffer) > 100 {
				t.Errorf("to skip %s of %d bytes took a window of %d", name, n, len(s.buffer))
			}
		}
	}
}

func TestFloat(t *testing.T) {
	for text, want := range map[string]float64{"0": 0, "-1.5e3": -1500, "1e308": 1e308, "null": -1, "1e309": -2, "x": -2, strings.Repeat("1", 100): -2} {
		for way, s := range scanners([]byte(text)) {
			got, ok := s.Float()
			if !ok {
				got = -1
			}
			if s.End() != nil {
				got = -2
			}
			if got != want || math.IsInf(got, 0) {
				t.Errorf("%s, %s: got %v, want %v", text, way, got, want)
			}
		}
	}
}

// Values that are read count towards the depth like those that are skipped inside them.
func TestReadingIsBoundedInDepth(t *testing.T) {
	for deep, taken := range map[int]bool{ofText.Depth: true, ofText.Depth + 1: false} {
		for _, pair := range [][2]string{{"[", "]"}, {`{"k":`, "}"}} {
			text := strings.Repeat(pair[0], deep) + "0" + strings.Repeat(pair[1], deep)
			if json.Valid([]byte(text)) != taken {
				t.Fatalf("encoding/json accepts %d levels: %t", deep, !taken)
			}
			for name, s := range scanners([]byte(text)) {
				if value(s); (s.End() == nil) != taken {
					t.Errorf("reading %d times %s, %s: %v", deep, pair[0], name, s.Err())
				}
			}
			s := new(Scanner)
			s.SetText([]byte(text))
			readThenSkip(s, 3)
			if (s.End() == nil) != taken {
				t.Errorf("skipping %d times %s from level 3 on: %v", deep, pair[0], s.Err())
			}
		}
	}
}

// readThenSkip reads the given number of levels and skips everything below them.
func readThenSkip(s *Scanner, levels int) {
	switch c := s.Next(); {
	case levels == 0:
		s.Skip()
	case c == '{':
		for range s.Object {
			readThenSkip(s, levels-1)
		}
	default:
		for range s.Array {
			readThenSkip(s, levels-1)
		}
	}
}
