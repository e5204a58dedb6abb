package prometheus

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// seen is a series in a form that tests can compare.
type seen struct {
	Labels map[string]string
	At     []time.Time
	Values []float64
}

// read decodes a text and returns all series that were visited.
func read(text, want string) (all []seen, warnings []string, err error) {
	warnings, err = decode(iotest.HalfReader(strings.NewReader(text)), want, func(s *series) {
		one := seen{Labels: map[string]string{}}
		for _, l := range s.labels {
			one.Labels[string(s.text[l.name:l.middle])] = string(s.text[l.middle:l.end])
		}
		for _, p := range s.points {
			one.At, one.Values = append(one.At, p.at.UTC()), append(one.Values, p.value)
		}
		all = append(all, one)
	})
	return all, warnings, err
}

func TestDecode(t *testing.T) {
	at := time.UnixMilli(1435781451781).UTC()
	cases := map[string]struct {
		text, want string
		series     []seen
		warnings   []string
	}{
		"a vector": {
			`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"node":"a"},"value":[1435781451.781,"1.5"]}]}}`, vector,
			[]seen{{map[string]string{"node": "a"}, []time.Time{at}, []float64{1.5}}}, nil,
		},
		"in another order, with more in it": {
			` { "data" : {"result":[ {"value":[1435781451.781 , "1e3"],"metric":{ }, "x":[{},[1,-2.5E+3],true] } ],"resultType":"vector","analysis":{"a":null}},` +
				`"infos":["i"],"stats":{"seriesFetched":"1"},"isPartial":false,"status":"success"}` + "\n", vector,
			[]seen{{map[string]string{}, []time.Time{at}, []float64{1000}}}, nil,
		},
		"a matrix": {
			`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"node":"a"},"values":[[1435781451.781,"1"],[1435781452.781,"2"]]}]}}`, matrix,
			[]seen{{map[string]string{"node": "a"}, []time.Time{at, at.Add(time.Second)}, []float64{1, 2}}}, nil,
		},
		"nothing":            {`{"status":"success","data":{"resultType":"vector","result":[]}}`, vector, nil, nil},
		"nothing by null":    {`{"status":"success","warnings":null,"data":{"resultType":"vector","result":null}}`, vector, nil, nil},
		"warnings":           {`{"status":"success","warnings":["a","b"],"data":{"resultType":"vector","result":[]}}`, vector, nil, []string{"a", "b"}},
		"a histogram":        {`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"histogram":[1,{"count":"2"}]}]}}`, vector, []seen{{Labels: map[string]string{}}}, nil},
		"values of all kind": {`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1435781451.781,"-Inf"]}]}}`, vector, []seen{{map[string]string{}, []time.Time{at}, []float64{math.Inf(-1)}}}, nil},
		"no number":          {`{"status":"success","data":{"resultType":"vector","result":[{"metric":{},"value":[1435781451.781,"x"]}]}}`, vector, []seen{{map[string]string{}, []time.Time{at}, []float64{math.NaN()}}}, nil},
		"escapes": {
			`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"\u0061\"":"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\ud83d\n\ud83d\u0041\ude00"},"value":[1435781451.781,"1"]}]}}`, vector,
			[]seen{{map[string]string{`a"`: "\\/\b\f\n\r\té😀\ufffd\n\ufffdA\ufffd"}, []time.Time{at}, []float64{1}}}, nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, warnings, err := read(tc.text, tc.want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.series, got, cmpopts.EquateNaNs()); diff != "" {
				t.Errorf("series (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.warnings, warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	vectorWith := func(result string) string {
		return `{"status":"success","data":{"resultType":"vector","result":` + result + `}}`
	}
	cases := map[string]struct{ text, want string }{
		"nothing":                             {"", "the input ends where an object should be"},
		"a page":                              {"<html>", `offset 0: '<' where an object should be`},
		"an array":                            {"[]", `where an object should be`},
		"an empty object":                     {"{}", "has no status"},
		"a scalar":                            {`{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}`, "the result is a scalar, not a vector"},
		"a matrix":                            {`{"status":"success","data":{"resultType":"matrix","result":[]}}`, "the result is a matrix"},
		"a scalar, whose type comes too late": {`{"status":"success","data":{"result":[1,"2"],"resultType":"scalar"}}`, "where an object should be"},
		"values in a vector":                  {vectorWith(`[{"metric":{},"values":[]}]`), "unexpected values"},
		"two values":                          {vectorWith(`[{"metric":{},"value":[1,"2"],"value":[1,"2"]}]`), "an unexpected value"},
		"two results":                         {`{"status":"success","data":{"resultType":"vector","result":[],"result":[]}}`, `"result" twice`},
		"two data":                            {`{"status":"success","data":{"resultType":"vector","result":[]},"data":{}}`, `"data" twice`},
		"no result":                           {`{"status":"success","data":{"resultType":"vector"}}`, "has no result"},
		"no data":                             {`{"status":"success","data":null}`, "has no result"},
		"no kind of result":                   {`{"status":"success","data":{"result":[]}}`, "has no result"},
		"an error":                            {`{"status":"error","errorType":"bad_data","error":"parse \u0007error"}`, "the server says bad_data: parse  error"},
		"an error after series":               {`{"data":{"resultType":"vector","result":[{"metric":{},"value":[1,"2"]}]},"status":"error","errorType":"timeout","error":"late"}`, "timeout: late"},
		"trailing garbage":                    {vectorWith("[]") + "x", "where the end should be"},
		"a second answer":                     {vectorWith("[]") + vectorWith("[]"), "where the end should be"},
		"a value that is bare":                {vectorWith(`[{"metric":{},"value":[1,2]}]`), `where a string should be`},
		"a time that is text":                 {vectorWith(`[{"metric":{},"value":["1","2"]}]`), "where a number should be"},
		"an invalid time":                     {vectorWith(`[{"metric":{},"value":[true,"2"]}]`), `'t' where a number should be`},
		"a time too far":                      {vectorWith(`[{"metric":{},"value":[1e300,"2"]}]`), `"1e300" is not a time`},
		"a time before all":                   {vectorWith(`[{"metric":{},"value":[-1,"2"]}]`), `"-1" is not a time`},
		"a label that is bare":                {vectorWith(`[{"metric":{"a":1}}]`), `where a string should be`},
		"a raw line break":                    {vectorWith("[{\"metric\":{\"a\":\"\n\"}}]"), "where a printable character should be"},
		"an unknown escape":                   {vectorWith(`[{"metric":{"a":"\x"}}]`), "where a valid escape sequence should be"},
		"half an escape":                      {vectorWith(`[{"metric":{"a":"\u00g0"}}]`), "where a valid escape sequence should be"},
		"no comma":                            {vectorWith(`[{} {}]`), "where a comma or the closing bracket should be"},
		"a comma too many":                    {vectorWith(`[{},]`), "where an object should be"},
		"deep nesting":                        {`{"x":` + strings.Repeat("[", 100_000), "nested deeper than 64"},
		"a text without end":                  {`{"x":"` + strings.Repeat("a", 2<<20), "the input ends"},
		"a text too long":                     {`{"status":"` + strings.Repeat("a", 2<<20) + `"}`, "of over 1048576 bytes"},
		"labels too long":                     {vectorWith(`[{"metric":{"a":"` + strings.Repeat("a", 1<<19) + `","b":"` + strings.Repeat("b", 1<<19+1) + `"}}]`), "labels of more than 1048576 bytes"},
		"a point with one value":              {vectorWith(`[{"metric":{},"value":[1]}]`), "1 values instead of a time and a value"},
		"a point of three":                    {vectorWith(`[{"metric":{},"value":[1,"2",3]}]`), "3 values instead of a time and a value"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, _, err := read(tc.text, vector); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// An answer that breaks off anywhere is refused.
func TestDecodeRefusesEveryTruncation(t *testing.T) {
	whole := `{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"\ud83d\ude00"},"value":[1.5,"2"]}]},"warnings":["x"]}`
	for i := range whole {
		if _, _, err := read(whole[:i], vector); err == nil {
			t.Errorf("%q was taken", whole[:i])
		}
	}
}

// Whatever encoding/json accepts as a vector is read in the same way.
func FuzzDecode(f *testing.F) {
	f.Add(vectorOf(of("1", "node", "a"), of("NaN", "instance", "10.0.0.1:9100")))
	f.Add(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"a":"\ud83d\\\u0041"},"value":[1.5,"2"]}]}}`)
	f.Add(`{"status":"error","errorType":"x","error":"y"}`)
	f.Add(`{"status":"success","isPartial":true,"data":{"result":null,"resultType":"vector","x":[[{}]]}}`)
	f.Fuzz(func(t *testing.T, text string) {
		got, _, err := read(text, vector)
		var want struct {
			Status string
			Data   struct {
				ResultType string
				Result     []struct {
					Metric map[string]string
					Value  []any
				}
			}
		}
		if err != nil || !utf8.ValidString(text) {
			return
		}
		if json.Unmarshal([]byte(text), &want) != nil || want.Status != "success" {
			return // encoding/json accepts more numbers and keys that occur twice or in capitals; no series is lost or invented
		}
		if len(got) != len(want.Data.Result) {
			t.Fatalf("%d series, want %d", len(got), len(want.Data.Result))
		}
		for i, s := range want.Data.Result {
			if len(s.Value) != 2 || len(got[i].Values) != 1 || len(s.Metric) != len(got[i].Labels) {
				continue
			}
			number, ok := s.Value[1].(string)
			value, err := strconv.ParseFloat(number, 64)
			if ok && err == nil && got[i].Values[0] != value && !math.IsNaN(value) {
				t.Errorf("series %d is %v, want %v", i, got[i].Values[0], value)
			}
			if diff := cmp.Diff(s.Metric, got[i].Labels, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("labels of series %d (-want +got):\n%s", i, diff)
			}
		}
	})
}
