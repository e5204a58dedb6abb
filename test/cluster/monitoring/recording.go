package monitoring

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// Recording is what one process exported at two moments.
type Recording struct {
	instance    string
	first, last page
}

// page is what a process exported at a moment: values by series, and the series
// that only grow.
type page struct {
	at     time.Time
	values map[string]float64
	counts map[string]bool
}

// Record reads what the process with this address of metrics exports, twice.
func Record(ctx context.Context, address string, between time.Duration) (Recording, error) {
	first, err := scrape(ctx, address)
	if err != nil {
		return Recording{}, err
	}
	timer := time.NewTimer(between)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return Recording{}, fmt.Errorf("recording the metrics of %s: %w", address, ctx.Err())
	case <-timer.C:
	}
	last, err := scrape(ctx, address)
	return Recording{instance: address, first: first, last: last}, err
}

func scrape(ctx context.Context, address string) (page, error) {
	at := time.Now()
	status, text, err := evenkeel.Get(ctx, "http://"+address+"/metrics")
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("status %d", status)
	}
	if err != nil {
		return page{}, fmt.Errorf("recording the metrics of %s: %w", address, err)
	}
	p, err := parse(text)
	p.at = at
	return p, err
}

// parse reads Prometheus' text format without timestamps, which processes write.
func parse(text string) (page, error) {
	p := page{values: map[string]float64{}, counts: map[string]bool{}}
	grows := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if kind, is := strings.CutPrefix(line, "# TYPE "); is {
			grows = slices.Contains([]string{"counter", "histogram", "summary"}, kind[strings.LastIndex(kind, " ")+1:])
			continue
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		space := strings.LastIndex(line, " ")
		value, err := strconv.ParseFloat(line[space+1:], 64)
		if space < 0 || err != nil {
			return p, fmt.Errorf("reading metrics: line %q: %w", line, err)
		}
		series := line[:space]
		p.values[series], p.counts[series] = value, grows
	}
	if len(p.values) == 0 {
		return p, errors.New("reading metrics: there are none")
	}
	return p, nil
}

// taken are labels of the process that have the name of one of the scrape.
var taken = regexp.MustCompile(`([{,])(job|namespace|instance)="`)

// labelled returns a series with the labels of the scrape. Prometheus renames
// labels of the process that have the same names.
func (r *Recording) labelled(series string) string {
	own := fmt.Sprintf("instance=%q,job=%q,namespace=%q", r.instance, labels["job"], labels["namespace"])
	name, rest, has := strings.Cut(series, "{")
	if !has {
		return name + "{" + own + "}"
	}
	return name + taken.ReplaceAllString("{"+rest[:len(rest)-1], `${1}exported_${2}="`) + "," + own + "}"
}

// goOn returns the values that a series would have every minute, if it went on
// as between the two moments: gauges stay, and what grew grows on. Times of day
// count from the second moment, where promtool's clock has its zero.
func (r *Recording) goOn(series string, minutes int) []float64 {
	value := r.last.values[series]
	perMinute := 0.0
	before, known := r.first.values[series]
	switch took := r.last.at.Sub(r.first.at).Minutes(); {
	case !r.last.counts[series] || took <= 0:
	case known:
		perMinute = (value - before) / took
	default:
		perMinute = value / took
	}
	if name, _, _ := strings.Cut(series, "{"); strings.HasSuffix(name, "_timestamp_seconds") {
		value -= float64(r.last.at.UnixMilli()) / 1000
	}
	values := make([]float64, minutes+1)
	for i := range values {
		values[i] = value + float64(i)*max(0, perMinute) // less than before: the process was restarted
	}
	return values
}
