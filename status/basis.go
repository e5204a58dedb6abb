package status

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/observe/thresholds"
	"github.com/evenkeel/evenkeel/observe/usage"
	"github.com/evenkeel/evenkeel/reasons"
)

// Basis explains a node's state if the node's measured usage suggests a different state.
// All views print its Text.
type Basis struct {
	// Text is a clause without a period.
	Text string `json:"text"`
	// Yet is true if the node will become hot unless something changes. OnlyPredicted is
	// true if only its predicted usage is above an evict line, and its measured usage is
	// below all of them.
	Yet           bool `json:"yet,omitempty"`
	OnlyPredicted bool `json:"onlyPredicted,omitempty"`
	// Metric is the deciding metric and Window the deciding window, with its values and
	// lines. If the newest reading decides, it has no evict line, so Evict is the highest
	// evict line of any window.
	Metric string `json:"metric"`
	Window
	// Pods are the pods that explain the difference between the values; absent if they
	// have all left.
	Pods *BasisPods `json:"pods,omitempty"`
	// LeftPoints is the usage of pods that ended or are terminating.
	LeftPoints float64 `json:"leftPoints,omitempty"`
}

// BasisPods describes pods of a node whose usage counts differently from how it was
// measured.
type BasisPods struct {
	Count int `json:"count"`
	// Points is the difference that they cause, in the unit of the metric.
	Points float64 `json:"points"`
	// FirstStarted and LastStarted are the start times of the first and the last pod that
	// has started. From is when the first pod counts as measured, and AllFrom when all
	// pods do, if these times are known.
	FirstStarted *time.Time `json:"firstStarted,omitempty"`
	LastStarted  *time.Time `json:"lastStarted,omitempty"`
	From         *time.Time `json:"from,omitempty"`
	AllFrom      *time.Time `json:"allFrom,omitempty"`
	// Undue is the number of pods for which it is unknown when they count as measured.
	Undue int `json:"undue,omitempty"`
}

// Bases returns why a node is not hot although its measured or predicted usage is
// above an evict line, and why it is not cool although its measured usage is below its
// low lines; nil if neither applies.
func (f *Facts) Bases(i int) (notHot, notCool *Basis) {
	metrics := f.metrics(i)
	info := &f.View.Snapshot.Nodes[i].Node
	state := f.States[info.Name]
	if !info.Ready || !usable(&f.View.Nodes[i]) || state.State == thresholds.Hot {
		return nil, nil // the node is hot, or the reason of its state explains it
	}
	if state.State == thresholds.Warm {
		notCool = f.notCool(i, metrics)
	}
	for _, find := range []func(int, *Metric, *thresholds.NodeState) *Basis{f.unjudged, f.overNotYet, f.overUncounted, f.overInPart, f.overByNewest, f.overPredicted} {
		for k := range metrics {
			if notHot = find(i, &metrics[k], &state); notHot != nil {
				return notHot, notCool
			}
		}
	}
	return nil, notCool
}

// ByMeasure reports whether the node's measured usage, and not only its predicted
// usage, is above an evict line.
func (b *Basis) ByMeasure() bool { return b != nil && !b.OnlyPredicted }

// Sentence returns a sentence, beginning with the node's name, that explains why the node
// is not hot.
func (b *Basis) Sentence(node string) string { return node + " is " + b.NotHot() }

// NotHot explains why a node is not hot, without its name.
func (b *Basis) NotHot() string {
	if b.Yet {
		return "not hot yet: " + b.Text + "."
	}
	return "not hot: " + b.Text + "."
}

// basis returns a Basis of a metric over a window.
func (m *Metric) basis(w *Window, text string, values ...any) *Basis {
	return &Basis{Text: fmt.Sprintf(text, values...), Metric: m.Name, Window: *w}
}

// exceeds reports whether value and line are known and the value is on the wrong side of
// the line.
func (m *Metric) exceeds(value, line *float64) bool {
	switch {
	case value == nil || line == nil:
		return false
	case m.LowerIsWorse:
		return *value < *line
	}
	return *value > *line
}

// judged returns the windows with an evict line.
func (m *Metric) judged() []*Window {
	var all []*Window
	for k := range m.Windows {
		if m.Windows[k].Evict != nil {
			all = append(all, &m.Windows[k])
		}
	}
	return all
}

// newest returns the newest reading and the highest evict line of any window; either is
// nil if it does not exist.
func (m *Metric) newest() (w *Window, line *float64) {
	for k := range m.Windows {
		one := &m.Windows[k]
		if one.Window == usage.Last.String() {
			w = one
		}
		if one.Evict != nil && (line == nil || m.exceeds(one.Evict, line)) {
			line = one.Evict
		}
	}
	return w, line
}

// unjudged explains a node whose newest reading is above an evict line while its windows
// are still filling.
func (f *Facts) unjudged(_ int, m *Metric, state *thresholds.NodeState) *Basis {
	w, line := m.newest()
	if state.State != thresholds.Unknown || w == nil || !m.exceeds(w.Measured, line) {
		return nil
	}
	basis := m.basis(w, "the newest reading of %s, %s, is %s the evict line %s, and %s (%s)", m.Name, m.say(w.Measured), m.than(), m.line(line),
		state.Unknown.Sentence(), state.Unknown)
	basis.Evict = line
	return basis
}

// overNotYet explains a node whose counted usage is above an evict line, but has not been
// for long enough.
func (f *Facts) overNotYet(_ int, m *Metric, state *thresholds.NodeState) *Basis {
	over, judged := phrases([]Metric{*m}, evictLine), m.judged()
	if len(over) == 0 {
		return nil
	}
	basis := m.basis(judged[0], "%s, in %d of the %s in a row that make it hot", over[0], state.Over, reasons.Count(max(f.SamplesNeeded, 1), "sample"))
	if !state.Starting.IsZero() {
		basis.Text = fmt.Sprintf("%s, but it became ready too recently for that to count before %s", over[0], f.clock(state.Starting))
	}
	basis.Yet = true
	return basis
}

// overUncounted explains a node whose measured usage is above an evict line only because
// of usage that does not count.
func (f *Facts) overUncounted(i int, m *Metric, _ *thresholds.NodeState) *Basis {
	var found *Window
	var others []string
	for _, w := range m.judged() {
		switch over := m.exceeds(w.Measured, w.Evict); {
		case over && !w.AboveEvict && found == nil:
			found = w
		case !over:
			others = append(others, w.Window+" "+m.say(w.Measured))
		}
	}
	if found == nil {
		return nil
	}
	basis := m.basis(found, "%s %s is measured at %s, %s the evict line %s", m.Name, found.Window, m.say(found.Measured), m.than(), m.line(found.Evict))
	basis.Text += f.uncounted(basis, i, m)
	if len(others) > 0 {
		basis.Text += fmt.Sprintf("; %s %s not %s it", Enumerated(others), either(len(others), "is", "are"), m.than())
		basis.Yet = false
	}
	return basis
}

// overInPart explains a node that is above the evict line in only some windows of a
// metric.
func (f *Facts) overInPart(_ int, m *Metric, _ *thresholds.NodeState) *Basis {
	partly := partPhrases([]Metric{*m})
	if len(partly) == 0 {
		return nil
	}
	for _, w := range m.judged() {
		if w.AboveEvict {
			return m.basis(w, "%s, and every window of a metric has to be", partly[0])
		}
	}
	return nil
}

// overByNewest explains a node of which only the newest reading is above an evict line.
func (f *Facts) overByNewest(i int, m *Metric, _ *thresholds.NodeState) *Basis {
	w, line := m.newest()
	if w == nil || w.Evict != nil || !m.exceeds(w.Measured, line) {
		return nil
	}
	var judged []string
	for _, one := range m.judged() {
		judged = append(judged, one.Window+" "+m.say(one.Measured))
	}
	basis := m.basis(w, "%s is measured at %s by the newest reading, %s the evict line %s, but %s %s not, and every window of a metric has to be", m.Name,
		m.say(w.Measured), m.than(), m.line(line), Enumerated(judged), either(len(judged), "is", "are"))
	basis.Evict = line
	if w.Current != nil && !m.exceeds(w.Current, line) {
		basis.Text += fmt.Sprintf("; %s %s of that reading%s", m.say(w.Measured), m.Name, f.uncounted(basis, i, m))
		basis.Yet = false
	}
	return basis
}

// overPredicted explains a node whose predicted usage is above an evict line although its
// measured usage is below it.
func (f *Facts) overPredicted(i int, m *Metric, _ *thresholds.NodeState) *Basis {
	for _, w := range m.judged() {
		if m.exceeds(w.Predicted, w.Evict) && !m.exceeds(w.Measured, w.Evict) {
			basis := m.basis(w, "%s %s is predicted at %s, %s the evict line %s, and measured at %s", m.Name, w.Window, m.say(w.Predicted), m.than(),
				m.line(w.Evict), m.say(w.Measured))
			basis.Text += f.estimated(basis, i, m)
			basis.OnlyPredicted = true
			return basis
		}
	}
	return nil
}

// notCool explains a node that is warm only because of its predicted usage.
func (f *Facts) notCool(i int, metrics []Metric) *Basis {
	var found *Metric
	var window *Window
	for k := range metrics {
		m := &metrics[k]
		for j := range m.Windows {
			w := &m.Windows[j]
			if !w.AboveLow || w.Predicted == nil {
				continue
			}
			if m.exceeds(w.Measured, w.Low) {
				return nil
			}
			if found == nil {
				found, window = m, w
			}
		}
	}
	if found == nil {
		return nil
	}
	basis := found.basis(window, "%s %s is predicted at %s, %s the low line %s, and measured at %s", found.Name, window.Window, found.say(window.Predicted),
		found.than(), found.line(window.Low), found.say(window.Measured))
	basis.Text += f.estimated(basis, i, found)
	return basis
}

// uncounted describes the part of the measured usage that does not count when deciding
// whether a node is hot: which pods cause it, and until when.
func (f *Facts) uncounted(b *Basis, i int, m *Metric) string {
	if b.Measured == nil || b.Current == nil {
		return ""
	}
	text := ", and counts as " + m.say(b.Current)
	resource, ofPods := resourceOf(usage.Metric(m.Name))
	if !ofPods { // contention belongs to no pod
		return text + ": the rest has left with pods that ended or are terminating"
	}
	var pods BasisPods
	uncounted, unseen, terminating := int64(0), false, 0
	for j, pod := range f.View.Snapshot.Nodes[i].Pods {
		read := &f.View.Nodes[i].Pods[j]
		seen := read.Measured || read.Starting || read.Span > 0 || read.Uncounted != cluster.Amounts{}
		switch {
		case pod.Terminating:
			terminating++
		case read.Uncounted[resource] > 0:
			uncounted += read.Uncounted[resource]
			pods.add(pod, read, f.View.At)
		case !seen && read.MeasuredIn > 0: // once its startup is over, the pod counts without a sample
			unseen = true
			pods.add(pod, read, f.View.At)
		}
	}
	b.LeftPoints = Round(math.Abs(*b.Measured - *b.Current))
	var whose []string
	if pods.Count > 0 {
		pods.Points = f.points(uncounted, i, m, b.LeftPoints)
		if unseen { // such pods cannot be distinguished from pods that left
			pods.Points = b.LeftPoints
		}
		b.Pods, b.LeftPoints = &pods, Round(b.LeftPoints-pods.Points)
		b.Yet = pods.AllFrom != nil && pods.Undue == 0 && m.exceeds(m.less(b.Measured, b.LeftPoints), b.Evict)
		whose = append(whose, fmt.Sprintf("%.1f points are from %s", pods.Points, pods.words(f, "counts", "count")))
	}
	if b.LeftPoints > 0 {
		left := fmt.Sprintf("%.1f points are from pods that ended", b.LeftPoints)
		if terminating > 0 {
			left += fmt.Sprintf(" or are terminating (%d)", terminating)
		}
		whose = append(whose, left+", which stay in the measurement "+stays(b.Window.Window))
	}
	if len(whose) > 0 {
		text += ": " + strings.Join(whose, " and ")
	}
	return text
}

// stays describes how long a window includes pods that have ended.
func stays(name string) string {
	if w, err := usage.ParseWindow(name); err == nil && w.Over > 0 {
		return "for " + ago(w.Over) + " after their end"
	}
	return "until the next reading"
}

// leastPoints is the smallest difference that needs an explanation. Smaller differences
// are inaccuracies.
const leastPoints = 1

// points returns the part of a difference that an amount explains. If the rest is below
// leastPoints, it returns the whole difference.
func (f *Facts) points(amount int64, i int, m *Metric, difference float64) float64 {
	points := Round(100 * float64(amount) / float64(max(f.whole(i, usage.Metric(m.Name)), 1)))
	if difference-points < leastPoints {
		return difference
	}
	return points
}

// less returns a value reduced by points of usage.
func (m *Metric) less(value *float64, points float64) *float64 {
	if m.LowerIsWorse {
		return new(*value + points)
	}
	return new(*value - points)
}

// estimated describes the part of the predicted usage that is an estimate: for which
// pods, and until when.
func (f *Facts) estimated(b *Basis, i int, m *Metric) string {
	resource, ofPods := resourceOf(usage.Metric(m.Name))
	if !ofPods || b.Measured == nil || b.Predicted == nil {
		return ""
	}
	var pods BasisPods
	used := int64(0)
	for j, pod := range f.View.Snapshot.Nodes[i].Pods {
		if read := &f.View.Nodes[i].Pods[j]; !read.Measured && read.Used[resource] > 0 {
			used += read.Used[resource]
			pods.add(pod, read, f.View.At)
		}
	}
	if pods.Count == 0 {
		return ": its pods use more now than this window shows"
	}
	difference := Round(math.Abs(*b.Predicted - *b.Measured))
	pods.Points, b.Pods = f.points(used, i, m, difference), &pods
	text := fmt.Sprintf(": %.1f points are estimated, by requests or by pods like them, for %s", pods.Points, pods.words(f, "is measured", "are measured"))
	if rest := Round(difference - pods.Points); rest > 0 {
		text += fmt.Sprintf("; its other pods use %.1f points more now than this window shows", rest)
	}
	return text
}

func (p *BasisPods) add(pod *cluster.Pod, read *usage.PodUsage, now time.Time) {
	p.Count++
	widen := func(first, last **time.Time, at time.Time) {
		at = at.UTC()
		if *first == nil || at.Before(**first) {
			*first = &at
		}
		if *last == nil || at.After(**last) {
			*last = &at
		}
	}
	if !pod.Started.IsZero() {
		widen(&p.FirstStarted, &p.LastStarted, pod.NewestStart(now, time.Minute))
	}
	if read.MeasuredIn > 0 {
		widen(&p.From, &p.AllFrom, now.Add(read.MeasuredIn))
	} else {
		p.Undue++
	}
}

// words returns text such as "12 pods that started 2 min ago and count from 05:30 UTC on".
func (p *BasisPods) words(f *Facts, one, many string) string {
	words, has := reasons.Count(p.Count, "pod"), either(p.Count, "has", "have")
	if p.FirstStarted == nil {
		return words + " that " + has + " not started"
	}
	oldest, youngest := ago(f.View.At.Sub(*p.FirstStarted)), ago(f.View.At.Sub(*p.LastStarted))
	if words += " that started " + youngest; oldest != youngest {
		words += " to " + oldest
	}
	words += " ago and "
	if p.From == nil {
		return words + has + " no usable sample"
	}
	first, last := f.clock(*p.From), f.clock(*p.AllFrom)
	words += fmt.Sprintf("%s from %s on", either(p.Count, one, many), first)
	if first != last {
		words += fmt.Sprintf(" (all of them from %s on)", last)
	}
	if p.Undue > 0 {
		words += fmt.Sprintf("; %d of them %s no usable sample", p.Undue, either(p.Undue, "has", "have"))
	}
	return words
}

// clock formats a time rounded up to a minute.
func (f *Facts) clock(at time.Time) string {
	return clock(at.Add(time.Minute-time.Nanosecond).Truncate(time.Minute).UTC(), f.View.At)
}

// ago returns a past duration in words: "45 s", "2 min", "3 h".
func ago(past time.Duration) string {
	switch past = max(past, 0); {
	case past < 90*time.Second:
		return fmt.Sprintf("%d s", past/time.Second)
	case past < 2*time.Hour:
		return fmt.Sprintf("%d min", (past+30*time.Second)/time.Minute)
	}
	return fmt.Sprintf("%d h", past/time.Hour)
}

// either returns the singular or the plural word.
func either(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}
