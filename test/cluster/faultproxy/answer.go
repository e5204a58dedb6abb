package faultproxy

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/fault"
)

// answer is Prometheus' answer to a query. Its series are kept as they are.
type answer struct {
	Status string `json:"status"`
	Data   struct {
		ResultType string   `json:"resultType"`
		Result     []series `json:"result"`
	} `json:"data"`
}

// series is a series of a vector, which has Value, or of a matrix, which has Values.
type series struct {
	Metric map[string]string `json:"metric"`
	Value  *point            `json:"value,omitempty"`
	Values []point           `json:"values,omitempty"`
}

// point is a time in seconds and a value as text.
type point [2]any

// spoilAnswer applies a fault to a vector or a matrix.
func spoilAnswer(body []byte, f fault.Fault) ([]byte, error) {
	var a answer
	if err := json.Unmarshal(body, &a); err != nil {
		return nil, fmt.Errorf("reading the answer: %w", err)
	}
	switch f.Kind {
	case fault.Missing:
		a.Data.Result = []series{}
	case fault.HalfMissing:
		a.drop(func(i int) bool { return i%2 == 0 })
	case fault.OneMissing:
		a.drop(func(i int) bool { return i == 0 })
	case fault.Duplicate:
		a.duplicate()
	default:
		for i := range a.Data.Result {
			a.Data.Result[i].change(f)
		}
	}
	return json.Marshal(a)
}

// nodeOf returns the label that distinguishes series of nodes. Most series of pods do not
// have it.
func (s series) nodeOf() string {
	for _, label := range []string{"node", "instance"} {
		if value, has := s.Metric[label]; has {
			return value
		}
	}
	return ""
}

// drop removes series of nodes by their index in the order of names.
func (a *answer) drop(dropped func(place int) bool) {
	nodes := map[string]bool{}
	for _, s := range a.Data.Result {
		if node := s.nodeOf(); node != "" {
			nodes[node] = true
		}
	}
	for place, node := range slices.Sorted(maps.Keys(nodes)) {
		nodes[node] = !dropped(place)
	}
	a.Data.Result = slices.DeleteFunc(a.Data.Result, func(s series) bool {
		node := s.nodeOf()
		return node != "" && !nodes[node]
	})
}

// duplicate adds each series again with half the value and one more label, as if a second
// replica of a scraper had written it.
func (a *answer) duplicate() {
	for _, s := range slices.Clone(a.Data.Result) {
		again := series{Metric: maps.Clone(s.Metric), Values: slices.Clone(s.Values)}
		if again.Metric == nil {
			again.Metric = map[string]string{}
		}
		again.Metric["replica"] = "b"
		if s.Value != nil {
			value := *s.Value
			again.Value = &value
		}
		again.each(func(p *point) { p.scale(0.5) })
		a.Data.Result = append(a.Data.Result, again)
	}
}

func (s *series) change(f fault.Fault) {
	s.each(func(p *point) {
		if at, is := p[0].(float64); is {
			shifted := f.Time(time.UnixMilli(int64(1000 * at)))
			p[0] = float64(shifted.UnixMilli()) / 1000
		}
		text, _ := p[1].(string)
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return
		}
		switch spoilt, nan := f.Value(value); {
		case nan:
			p[1] = "NaN"
		case spoilt != value:
			p[1] = strconv.FormatFloat(spoilt, 'g', -1, 64)
		}
	})
}

func (s *series) each(do func(*point)) {
	if s.Value != nil {
		do(s.Value)
	}
	for i := range s.Values {
		do(&s.Values[i])
	}
}

func (p *point) scale(by float64) {
	text, _ := p[1].(string)
	if value, err := strconv.ParseFloat(text, 64); err == nil {
		p[1] = strconv.FormatFloat(by*value, 'g', -1, 64)
	}
}
