package jsonscan

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestSkipAcceptsWhatEncodingJSONAccepts tests objects around the point where plain members end, each
// with and without something that makes the text invalid.
func TestSkipAcceptsWhatEncodingJSONAccepts(t *testing.T) {
	members := []string{
		`"k":"v"`, `"k": "v"`, `"k" :"v"`, `"k":"\"v"`, `"\u006b":"v"`, `"k":1`, `"k":null`, `"k":{}`, `"k":{"k":"v"}`, `"k":["v"]`, `"é":"v"`, `"k":"é"`, `"":""`,
		// none of these is a member
		`"k"`, `"k":`, `"k":"v`, `"k":"v""`, `"k"::"v"`, `"k"x"v"`, `k":"v"`, `"k":"\x"`, "\"k\":\"\n\"", `"k"`, ``, `"k":v`,
	}
	for _, first := range members {
		for _, second := range members {
			for _, format := range []string{"{F,S}", "{F,S,F}", "{F, S }", "{F,S", "{F,", "{F", "{F,S]", "{F,,S}", "{F;S}"} {
				text := strings.NewReplacer("F", first, "S", second).Replace(format)
				checkSkipped(t, []byte(text))
			}
		}
	}
}

// TestSkipAgreesOnDamagedTexts tests texts in which single bytes were replaced, removed or inserted
// at random.
func TestSkipAgreesOnDamagedTexts(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	seeds := []string{
		`{"a":"b","c":{"d":"e","f":["g","h",{"i":"j"}],"k":1.5e3},"l":"m"}`,
		`{"metadata":{"name":"x","labels":{"a":"b","c":"d"}},"s":{"i":[{"n":["q"],"z":123}]}}`,
	}
	const alphabet = `"",:{}[]\ abn1-.e` + "\n\x80"
	for range 50_000 {
		text := []byte(seeds[rng.IntN(len(seeds))])
		for range 1 + rng.IntN(3) {
			i, by := rng.IntN(len(text)), alphabet[rng.IntN(len(alphabet))]
			switch rng.IntN(3) {
			case 0:
				text[i] = by
			case 1:
				text = slices.Delete(text, i, i+1)
			default:
				text = slices.Insert(text, i, by)
			}
		}
		checkSkipped(t, text)
	}
}

// Skipped values are not held in memory, however long and deep they are.
func TestSkipHoldsNothing(t *testing.T) {
	text := `{"x":"` + strings.Repeat(`\\\"`, 1<<16) + `","y":` + strings.Repeat(`[{"a":`, 1<<14) + "1" + strings.Repeat(`}]`, 1<<14) + `}`
	s := NewReader(1<<10, Limits{Text: 1 << 10, Depth: 1 << 20})
	s.Reset(strings.NewReader(text))
	if s.Skip(); s.End() != nil || cap(s.buffer) != 1<<10 || cap(s.scratch) > 1<<11 {
		t.Errorf("%v; the window grew to %d bytes, the space for keys to %d", s.Err(), cap(s.buffer), cap(s.scratch))
	}
}
