package monitoring

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/test/cluster/evenkeel"
)

// sampleEvery is the time between two readings of a process. It is several times shorter
// than a cycle, so that brief states are not missed.
const sampleEvery = time.Second

// Recording holds the metrics that one process exported at two or more times.
type Recording struct {
	instance string
	pages    []page
}

// page holds the metrics that a process exported at one time: values by series, and which
// of the series are counters.
type page struct {
	at     time.Time
	values map[string]float64
	counts map[string]bool
}

// Record reads the metrics of the process at an address every second for the given time.
func Record(ctx context.Context, address string, lasting time.Duration) (Recording, error) {
	r := Recording{instance: address}
	ticker := time.NewTicker(sampleEvery)
	defer ticker.Stop()
	for {
		p, err := scrape(ctx, address)
		if err != nil {
			return Recording{}, err
		}
		r.pages = append(r.pages, p)
		if p.at.Sub(r.pages[0].at) >= lasting {
			return r, nil
		}
		select {
		case <-ctx.Done():
			return Recording{}, fmt.Errorf("recording the metrics of %s: %w", address, ctx.Err())
		case <-ticker.C:
		}
	}
}

// series returns the names of all series in the recording.
func (r *Recording) series() []string {
	names := map[string]bool{}
	for _, p := range r.pages {
		for name := range p.values {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
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

// parse reads Prometheus' text format without timestamps, as processes write it.
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

// taken matches labels of the process that have the same name as a label of the scrape.
var taken = regexp.MustCompile(`([{,])(job|namespace|instance)="`)

// labelled returns a series with the labels of the scrape. Prometheus renames labels of
// the process that have the same names.
func (r *Recording) labelled(series string) string {
	own := fmt.Sprintf("instance=%q,job=%q,namespace=%q", r.instance, labels["job"], labels["namespace"])
	name, rest, has := strings.Cut(series, "{")
	if !has {
		return name + "{" + own + "}"
	}
	return name + taken.ReplaceAllString("{"+rest[:len(rest)-1], `${1}exported_${2}="`) + "," + own + "}"
}

// goOn returns the values that a series would have every minute if it continued as
// recorded: gauges repeat their values, and counters keep growing. NaN means no value.
// Timestamps are relative to the last moment, which is time zero on promtool's clock.
func (r *Recording) goOn(series string, minutes int) []float64 {
	first, last := &r.pages[0], &r.pages[len(r.pages)-1]
	name, _, _ := strings.Cut(series, "{")
	values := make([]float64, minutes+1)
	for i := range values {
		switch {
		case last.counts[series]:
			perMinute := (last.values[series] - first.values[series]) / last.at.Sub(first.at).Minutes()
			values[i] = last.values[series] + float64(i)*max(0, perMinute) // if it decreased, the process was restarted
		case strings.HasSuffix(name, "_timestamp_seconds"):
			values[i] = last.value(series) - float64(last.at.UnixMilli())/1000
		default:
			values[i] = r.pages[i%len(r.pages)].value(series)
		}
	}
	return values
}

// value returns the value of a series; NaN if the page does not contain it.
func (p *page) value(series string) float64 {
	value, has := p.values[series]
	if !has {
		return math.NaN()
	}
	return value
}
