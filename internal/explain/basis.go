package explain

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/reasons"
	"github.com/evenkeel/evenkeel/thresholds"
	"github.com/evenkeel/evenkeel/usage"
)

// Basis says what a node's state is based on where what is measured of the node
// suggests another state. Every view prints its Text.
type Basis struct {
	// Text is a clause without a period.
	Text   string `json:"text"`
	Metric string `json:"metric"`
	// Window is the window that the values are of.
	Window string `json:"window"`
	// Measured is as measured, Counted is the part of it that counts towards hot,
	// Predicted is what placing pods assumes; absent if unknown.
	Measured  *float64 `json:"measured,omitempty"`
	Counted   *float64 `json:"counted,omitempty"`
	Predicted *float64 `json:"predicted,omitempty"`
	// Evict and Low are the lines, as the policy writes them; absent if there is none.
	Evict *float64 `json:"evict,omitempty"`
	Low   *float64 `json:"low,omitempty"`
	// Pods make the difference between these values; absent if no pods do that are
	// still there.
	Pods *BasisPods `json:"pods,omitempty"`
	// LeftPoints is what pods have taken along that ended or are terminating.
	LeftPoints float64 `json:"leftPoints,omitempty"`

	// yet says that the node becomes hot if nothing changes, predicted that it is
	// measured under its evict lines and only predicted above one.
	yet, predicted bool
}

// BasisPods are pods of a node that count for something else than what was
// measured of them.
type BasisPods struct {
	Count int `json:"count"`
	// Points is the difference that they make, in the unit of the metric.
	Points float64 `json:"points"`
	// FirstStarted and LastStarted are when the first and the last of them started,
	// as far as they have; From is when the first counts as measured, AllFrom when
	// all of them do, as far as that is known.
	FirstStarted *time.Time `json:"firstStarted,omitempty"`
	LastStarted  *time.Time `json:"lastStarted,omitempty"`
	From         *time.Time `json:"from,omitempty"`
	AllFrom      *time.Time `json:"allFrom,omitempty"`
	// Undue is how many of them are not known to be measured soon.
	Undue int `json:"undue,omitempty"`
}

// Bases returns why a node is not hot although it is measured or predicted above
// an evict line, and why it is not cool although it is measured under its low
// lines; nil where that is not so.
func (f *Facts) Bases(i int) (notHot, notCool *Basis) {
	if read := &f.View.Nodes[i]; !f.View.Snapshot.Nodes[i].Node.Ready || !usable(read) {
		return nil, nil // its reason says why nothing is decided
	}
	return f.bases(i, f.metrics(i))
}

func (f *Facts) bases(i int, metrics []Metric) (notHot, notCool *Basis) {
	info, read := &f.View.Snapshot.Nodes[i].Node, &f.View.Nodes[i]
	state := f.States[info.Name]
	switch {
	case !info.Ready || !usable(read) || state.State == thresholds.Hot:
		return nil, nil
	case state.State == thresholds.Warm:
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

// ByMeasure reports whether the node is measured above an evict line, and not only
// predicted above it.
func (b *Basis) ByMeasure() bool { return b != nil && !b.predicted }

// Sentence says why a node is not hot, beginning with its name.
func (b *Basis) Sentence(node string) string {
	if b.yet {
		return node + " is not hot yet: " + b.Text + "."
	}
	return node + " is not hot: " + b.Text + "."
}

// basis returns a Basis of a metric over a window.
func (m *Metric) basis(w *Window, text string, values ...any) *Basis {
	return &Basis{
		Text: fmt.Sprintf(text, values...), Metric: m.Name, Window: w.Window, Measured: w.Measured, Counted: w.Current, Predicted: w.Predicted,
		Evict: w.Evict, Low: w.Low,
	}
}

// exceeds reports whether a value is known and on the wrong side of a line.
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

// newest returns the newest reading, and the line above which it is above the
// evict lines of all windows; nil if there is none of both.
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

// unjudged finds a node above an evict line by its newest reading whose windows
// have not filled.
func (f *Facts) unjudged(_ int, m *Metric, state *thresholds.NodeState) *Basis {
	w, line := m.newest()
	if state.State != thresholds.Unknown || w == nil || !m.exceeds(w.Measured, line) {
		return nil
	}
	return m.basis(w, "the newest reading of %s, %s, is %s the evict line %s, and %s (%s)", m.Name, m.say(w.Measured), m.than(), m.line(line),
		state.Unknown.Sentence(), state.Unknown)
}

// overNotYet finds a node that is over by what counts, and not for long enough.
func (f *Facts) overNotYet(_ int, m *Metric, state *thresholds.NodeState) *Basis {
	if !m.Over {
		return nil
	}
	over := phrases([]Metric{*m}, evictLine)
	w, _ := m.newest()
	if judged := m.judged(); len(judged) > 0 {
		w = judged[0]
	}
	if len(over) == 0 || w == nil {
		return nil
	}
	basis := m.basis(w, "%s, in %d of the %s in a row that make it hot", over[0], state.Over, reasons.Count(max(f.SamplesNeeded, 1), "sample"))
	if !state.Starting.IsZero() {
		basis = m.basis(w, "%s, but it became ready too recently for that to count before %s", over[0], f.clock(state.Starting))
	}
	basis.yet = true
	return basis
}

// overUncounted finds a node that is measured above an evict line by usage that
// does not count.
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
	f.addUncounted(basis, i, m)
	if len(others) > 0 {
		basis.Text += fmt.Sprintf("; %s %s not %s it", Enumerated(others), isOrAre(len(others)), m.than())
		basis.yet = false
	}
	return basis
}

// overInPart finds a node that is over in some windows of a metric only.
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

// overByNewest finds a node whose newest reading alone is above an evict line.
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
		m.say(w.Measured), m.than(), m.line(line), Enumerated(judged), isOrAre(len(judged)))
	basis.Evict = line
	if !m.exceeds(w.Current, line) && w.Current != nil {
		text := basis.Text
		basis.Text = fmt.Sprintf("%s %s of that reading", m.say(w.Measured), m.Name)
		f.addUncounted(basis, i, m)
		basis.Text, basis.yet = text+"; "+basis.Text, false
	}
	return basis
}

// overPredicted finds a node that is predicted above an evict line, and measured
// under it.
func (f *Facts) overPredicted(i int, m *Metric, _ *thresholds.NodeState) *Basis {
	for _, w := range m.judged() {
		if m.exceeds(w.Predicted, w.Evict) && !m.exceeds(w.Measured, w.Evict) {
			basis := m.basis(w, "%s %s is predicted at %s, %s the evict line %s, and measured at %s", m.Name, w.Window, m.say(w.Predicted), m.than(),
				m.line(w.Evict), m.say(w.Measured))
			f.addEstimated(basis, i, m)
			basis.predicted = true
			return basis
		}
	}
	return nil
}

// notCool finds a node that is warm by nothing that was measured.
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
	f.addEstimated(basis, i, found)
	return basis
}

// addUncounted says what of the measured usage does not count towards hot, whose
// it is, and until when.
func (f *Facts) addUncounted(b *Basis, i int, m *Metric) {
	if b.Measured == nil || b.Counted == nil {
		return
	}
	b.Text += fmt.Sprintf(", and counts as %s", m.say(b.Counted))
	difference := round(math.Abs(*b.Measured - *b.Counted))
	resource, ofPods := m.resource()
	if !ofPods { // contention belongs to no pod
		b.Text += ": the rest has left with pods that ended or are terminating"
		return
	}
	var uncounted cluster.Amounts
	var pods BasisPods
	unseen, terminating := 0, 0
	for j, pod := range f.View.Snapshot.Nodes[i].Pods {
		read := &f.View.Nodes[i].Pods[j]
		seen := read.Measured || read.Starting || read.Span > 0 || read.Uncounted != cluster.Amounts{}
		switch {
		case pod.Terminating:
			terminating++
		case read.Uncounted[resource] > 0:
			uncounted = uncounted.Plus(read.Uncounted)
			pods.add(pod, read, f.View.At)
		case !seen && read.MeasuredIn > 0: // later it counts without a sample
			unseen++
			pods.add(pod, read, f.View.At)
		}
	}
	whole := f.whole(i, m)
	pods.Points = min(round(100*float64(uncounted[resource])/float64(max(whole, 1))), difference)
	if unseen > 0 {
		pods.Points = difference // nothing tells them apart from pods that left
	}
	rest := round(difference - pods.Points)
	if rest < leastPoints {
		pods.Points, rest = difference, 0
	}
	if pods.Count > 0 {
		b.Pods = &pods
		b.Text += fmt.Sprintf(": %s from %s", m.points(pods.Points), pods.words(f, "counts", "count"))
		b.yet = pods.AllFrom != nil && pods.Undue == 0
	}
	if pods.Count == 0 {
		rest = difference
	}
	if b.LeftPoints = rest; rest > 0 {
		b.Text += map[bool]string{true: ": ", false: " and "}[pods.Count == 0] + m.points(rest) + " from pods that ended"
		if terminating > 0 {
			b.Text += fmt.Sprintf(" or are terminating (%d)", terminating)
		}
		b.Text += ", which stay in the measurement for 5 min after their end"
	}
}

// leastPoints is the least difference that is told apart from inaccuracy.
const leastPoints = 1

// addEstimated says what of the predicted usage was not measured, whose it is,
// and until when.
func (f *Facts) addEstimated(b *Basis, i int, m *Metric) {
	resource, ofPods := m.resource()
	if !ofPods || b.Measured == nil || b.Predicted == nil {
		return
	}
	var pods BasisPods
	for j, pod := range f.View.Snapshot.Nodes[i].Pods {
		if read := &f.View.Nodes[i].Pods[j]; !read.Measured && read.Used[resource] > 0 {
			pods.add(pod, read, f.View.At)
		}
	}
	if pods.Count == 0 {
		b.Text += ": its pods use more now than this window shows"
		return
	}
	pods.Points = round(math.Abs(*b.Predicted - *b.Measured))
	b.Pods = &pods
	b.Text += fmt.Sprintf(": %s estimated, by requests or by pods like them, for %s", m.points(pods.Points), pods.words(f, "is measured", "are measured"))
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

// words are such as "12 pods that started 2 min ago and count from 05:30 UTC on".
func (p *BasisPods) words(f *Facts, one, many string) string {
	words, verb := reasons.Count(p.Count, "pod"), many
	if p.Count == 1 {
		verb = one
	}
	if p.FirstStarted == nil {
		return words + isOrHas(p.Count) + " not started"
	}
	oldest, youngest := ago(f.View.At.Sub(*p.FirstStarted)), ago(f.View.At.Sub(*p.LastStarted))
	if words += " that started " + youngest; oldest != youngest {
		words += " to " + oldest
	}
	words += " ago"
	if p.From == nil {
		return words + map[bool]string{true: " and has", false: " and have"}[p.Count == 1] + " no usable sample"
	}
	first, last := f.clock(*p.From), f.clock(*p.AllFrom)
	words += fmt.Sprintf(" and %s from %s on", verb, first)
	if first != last {
		words += fmt.Sprintf(" (all of them from %s on)", last)
	}
	if p.Undue > 0 {
		words += fmt.Sprintf("; %d of them %s no usable sample", p.Undue, map[bool]string{true: "has", false: "have"}[p.Undue == 1])
	}
	return words
}

// clock is the minute by which a time has come.
func (f *Facts) clock(at time.Time) string {
	return clock(at.Add(time.Minute-time.Nanosecond).Truncate(time.Minute).UTC(), f.View.At)
}

// ago is a past time in words: "45 s", "2 min", "3 h".
func ago(past time.Duration) string {
	switch past = max(past, 0); {
	case past < 90*time.Second:
		return fmt.Sprintf("%d s", past/time.Second)
	case past < 2*time.Hour:
		return fmt.Sprintf("%d min", (past+30*time.Second)/time.Minute)
	}
	return fmt.Sprintf("%d h", past/time.Hour)
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

func isOrHas(n int) string {
	if n == 1 {
		return " that has"
	}
	return " that have"
}

// points says how much of a metric something is.
func (m *Metric) points(v float64) string {
	if m.Percent {
		return fmt.Sprintf("%.1f points are", v)
	}
	return fmt.Sprintf("%.1f is", v)
}

// resource returns the resource that a metric is of, if it is of one.
func (m *Metric) resource() (resource cluster.Resource, ok bool) {
	switch usage.Metric(m.Name) {
	case usage.CPU:
		return cluster.CPU, true
	case usage.Memory, thresholds.MemoryAvailable:
		return cluster.Memory, true
	default:
		return cluster.NumResources, false
	}
}

// whole is what a metric of a resource is a percentage of.
func (f *Facts) whole(i int, m *Metric) int64 {
	resource, _ := m.resource()
	node := &f.View.Snapshot.Nodes[i].Node
	if usage.Metric(m.Name) == thresholds.MemoryAvailable {
		return node.Capacity[resource]
	}
	return cmp.Or(node.Allocatable[resource], 1)
}
