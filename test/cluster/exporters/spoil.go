package exporters

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/fault"
)

// spoiltFields holds the summary fields that faults change. Totals are not among them.
var spoiltFields = []string{"usageNanoCores", "workingSetBytes", "availableBytes"}

// bareNaN is a placeholder for NaN, which JSON cannot represent, but which a broken
// encoder writes.
const bareNaN = `"-NaN-"`

// spoilSummary applies a fault that changes values to a summary. place is the node's
// index in the order of names.
func spoilSummary(body []byte, what fault.Fault, place int) ([]byte, error) {
	missing := passOver(what, place)
	duplicate := what.Kind == fault.Duplicate
	if what.Kind == fault.None {
		return body, nil
	}
	var tree map[string]any
	if err := json.Unmarshal(body, &tree); err != nil {
		return nil, fmt.Errorf("reading a summary: %w", err)
	}
	if pods, has := tree["pods"].([]any); has && duplicate {
		tree["pods"] = append(pods, pods...)
	}
	spoilTree(tree, what, missing)
	body, err := json.Marshal(tree)
	return bytes.ReplaceAll(body, []byte(bareNaN), []byte("NaN")), err
}

func spoilTree(tree any, what fault.Fault, missing bool) {
	switch branch := tree.(type) {
	case []any:
		for _, child := range branch {
			spoilTree(child, what, missing)
		}
	case map[string]any:
		for name, child := range branch {
			number, is := child.(float64)
			switch {
			case !is || !slices.Contains(spoiltFields, name):
				spoilTree(child, what, missing)
			case missing:
				delete(branch, name)
			default:
				branch[name] = spoilNumber(number, what)
			}
		}
	}
}

// spoilNumber keeps numbers integral, as the format requires.
func spoilNumber(truth float64, what fault.Fault) any {
	value, nan := what.Value(truth)
	if nan {
		return "-NaN-"
	}
	return json.Number(strconv.FormatFloat(value, 'f', 0, 64))
}

// usageLine matches a line with CPU or memory usage in the text format, without a
// timestamp.
var usageLine = regexp.MustCompile(`(?m)^(?:node|pod|container)_(?:cpu|memory)[^ ]* [^ ]+$`)

// spoilText applies a fault that changes values to an answer in Prometheus' text format.
func (k *Kubelets) spoilText(node string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, place, err := k.truths.of(r.Context(), node)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		what := k.of(node)
		if passOver(what, place) {
			what = fault.OfKind(fault.Missing)
		}
		answer := fault.Record(next, r)
		answer.Send(w, usageLine.ReplaceAllFunc(answer.Body.Bytes(), func(line []byte) []byte { return spoilLine(line, what) }))
	})
}

func spoilLine(line []byte, what fault.Fault) []byte {
	end := bytes.LastIndexByte(line, ' ')
	truth, err := strconv.ParseFloat(string(line[end+1:]), 64)
	if err != nil {
		return line
	}
	write := func(value string) []byte { return append(slices.Clone(line[:end+1]), value...) }
	switch what.Kind {
	case fault.Missing:
		return nil
	case fault.Shifted:
		return fmt.Appendf(slices.Clone(line), " %d", what.Time(time.Now()).UnixMilli())
	case fault.Duplicate:
		return append(append(slices.Clone(line), '\n'), write(strconv.FormatFloat(truth/2, 'g', -1, 64))...)
	default:
		value, nan := what.Value(truth)
		if nan {
			return write("NaN")
		}
		return write(strconv.FormatFloat(value, 'g', -1, 64))
	}
}
