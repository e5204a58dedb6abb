package measure

import (
	"strconv"
	"strings"
)

// Metric returns the sum of a metric's samples whose labels contain the given text, on a
// page in Prometheus' text format. An empty text selects all samples. found reports
// whether there are any.
func Metric(page, name, label string) (sum float64, found bool) {
	for line := range strings.Lines(page) {
		rest, ok := strings.CutPrefix(line, name)
		if !ok {
			continue
		}
		labels := ""
		if strings.HasPrefix(rest, "{") {
			if labels, rest, ok = strings.Cut(rest, "}"); !ok {
				continue
			}
		}
		fields := strings.Fields(rest)
		if len(fields) == 0 || rest[0] != ' ' || !strings.Contains(labels, label) {
			continue
		}
		if value, err := strconv.ParseFloat(fields[0], 64); err == nil {
			sum, found = sum+value, true
		}
	}
	return sum, found
}
