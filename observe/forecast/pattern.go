package forecast

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"
)

// Parts is how many parts of equal length a period has.
const Parts = 48

// Clock maps seconds to the parts of a period.
type Clock struct {
	// Period is the length of a period in whole seconds, 0 for none.
	Period time.Duration
}

// Part returns the number of the part that contains the given second. Parts are numbered
// across periods from 1970; earlier times are in part 0.
func (c Clock) Part(unixSecond int64) int64 { return max(unixSecond, 0) * Parts / c.seconds() }

// begins returns the first second of a part.
func (c Clock) begins(part int64) int64 { return (part*c.seconds() + Parts - 1) / Parts }

// Length returns the length of a part.
func (c Clock) Length() time.Duration { return c.Period / Parts }

func (c Clock) seconds() int64 { return max(int64(c.Period/time.Second), 1) }

// Pattern is what one pod of an owner uses in each part of a period. It is
// immutable.
type Pattern struct {
	// Means holds milli-cores by part of the period; parts never seen hold the
	// mean of the others.
	Means [Parts]float32
	// Pods holds the number of pods in each part.
	Pods [Parts]PodCount
	// These are mean squared differences: Off between parts and their expectation, Spread
	// between parts and their mean, and Within between single samples, of any pod, and
	// the mean of their part.
	Off, Spread, Within float32
	// Periods is the number of periods observed.
	Periods int32

	mean float64 // 0 where it was not computed
}

// leastExplained is the share of the variance of a pod's usage that a pattern
// must have predicted before it is used.
const leastExplained = 0.5

// Recurs reports whether the pattern has recurred as predicted, and often enough: once to
// be seen, and once more to rule out coincidence. If the pods of an owner differ too
// much, their mean usage predicts nothing for any of them, so Recurs returns false.
func (p *Pattern) Recurs() bool {
	if p == nil || p.Periods < 2 {
		return false
	}
	off, spread, within := float64(p.Off), float64(p.Spread), float64(p.Within)
	return off+within <= (1-leastExplained)*(spread+within)
}

// Mean returns the mean of a period, in milli-cores.
func (p *Pattern) Mean() float64 {
	if p.mean > 0 {
		return p.mean
	}
	sum := 0.0
	for _, m := range p.Means {
		sum += float64(m)
	}
	return sum / Parts
}

// variance returns the variance of the means over a period.
func (p *Pattern) variance() float32 {
	mean, sum := p.Mean(), 0.0
	for _, m := range p.Means {
		sum += (float64(m) - mean) * (float64(m) - mean)
	}
	return float32(sum / Parts)
}

// Among returns the pattern of each pod among the given number of pods. In a part that
// had fewer pods, those did all the work. The additional pods will share that work or be
// gone by then.
func (p *Pattern) Among(pods int) *Pattern {
	now := PodCountOf(pods)
	fewer := func(then PodCount) bool { return then > 0 && then < now }
	if !slices.ContainsFunc(p.Pods[:], fewer) {
		return p
	}
	shared := *p
	for at, then := range p.Pods {
		if fewer(then) {
			shared.Means[at] *= float32(math.Exp2((float64(then) - float64(now)) / podCountSteps))
		}
	}
	shared.summed()
	return &shared
}

// summed computes the overall mean once all part means are final.
func (p *Pattern) summed() {
	p.mean = 0
	p.mean = p.Mean()
}

// PodCount is a number of pods on a logarithmic scale, in eighths of a doubling; 0
// if unknown.
type PodCount uint8

const podCountSteps = 8

// PodCountOf returns a number of pods as a PodCount.
func PodCountOf(pods int) PodCount {
	if pods <= 0 {
		return 0
	}
	return PodCount(min(1+math.Round(podCountSteps*math.Log2(float64(pods))), math.MaxUint8)) // at most 255
}

// Recurrence detects whether the usage of an owner's pods repeats in each
// period. Adding a sample takes constant time. The zero value has seen nothing.
type Recurrence struct {
	pattern *Pattern
	// part is the unfinished part; sum, squares and samples accumulate its mean
	// and the variance of its samples.
	part         int64
	sum, squares float64
	samples      int64
	// first is the first finished part, and ended the number of finished parts. judged is
	// the number of finished parts that could be compared with an expectation. known
	// marks the parts that have ever been seen.
	first  int64
	ended  int64
	judged int64
	known  [Parts]uint8
}

// Pattern returns the pattern so far; nil before the first part is finished.
func (r *Recurrence) Pattern() *Pattern { return r.pattern }

// Add adds the usage of one pod, in milli-cores, to a part numbered by Clock.
func (r *Recurrence) Add(part, milliCores int64) {
	if part != r.part {
		r.Finish(part, 0)
	}
	used := float64(milliCores)
	r.sum, r.squares, r.samples = r.sum+used, r.squares+used*used, r.samples+1
}

// mostPeriods is the number of periods that a part's mean covers. Older periods fade.
const mostPeriods = 4

// Finish closes the current part if it is over. pods is the current number of pods, 0 if
// unknown. Samples of a future part are dropped, because they come from a clock that was
// wrong.
func (r *Recurrence) Finish(part int64, pods int) {
	finished, samples, sum, squares := r.part, r.samples, r.sum, r.squares
	if part == finished {
		return
	}
	r.part, r.samples, r.sum, r.squares = part, 0, 0, 0
	if samples == 0 || part < finished {
		return
	}
	next := Pattern{}
	if r.pattern != nil {
		next = *r.pattern
	}
	at, mean := finished%Parts, sum/float64(samples)
	if seen := r.known[at]; seen == 0 {
		next.Means[at] = float32(mean)
	} else {
		r.judge(&next, mean-float64(next.Means[at]), mean-r.level(&next))
		next.Means[at] += float32((mean - float64(next.Means[at])) / float64(min(seen, mostPeriods-1)+1))
	}
	if r.ended == 0 || finished < r.first {
		r.first = finished
	}
	r.ended++
	within := max(squares/float64(samples)-mean*mean, 0)
	next.Within += float32((within - float64(next.Within)) / float64(min(r.ended, Parts)))
	r.known[at] = min(r.known[at], math.MaxUint8-1) + 1
	next.Periods = 0
	if finished-r.first >= Parts-1 {
		next.Periods = r.periods()
	}
	if pods > 0 {
		next.Pods[at] = PodCountOf(pods)
	}
	level := float32(r.level(&next))
	for i, seen := range r.known {
		if seen == 0 {
			next.Means[i] = level
		}
	}
	next.summed()
	r.pattern = &next
}

// judge records a part's deviations from its expectation and from the mean of the period.
func (r *Recurrence) judge(p *Pattern, off, spread float64) {
	r.judged++
	gain := 1 / float64(min(r.judged, Parts))
	p.Off += float32(gain * (off*off - float64(p.Off)))
	p.Spread += float32(gain * (spread*spread - float64(p.Spread)))
}

// level returns the mean of the parts that have been seen.
func (r *Recurrence) level(p *Pattern) float64 {
	sum, seen := 0.0, 0
	for at, m := range p.Means {
		if r.known[at] > 0 {
			sum, seen = sum+float64(m), seen+1
		}
	}
	return sum / float64(max(seen, 1))
}

// periods returns the number of periods for which the pattern was observed. This is how
// often each part was seen, apart from the few parts that were missed and those that
// never had pods.
func (r *Recurrence) periods() int32 {
	seen := r.known
	slices.Sort(seen[:])
	ever := seen[:]
	for len(ever) > 1 && ever[0] == 0 {
		ever = ever[1:]
	}
	return int32(ever[len(ever)/mostMissed])
}

// mostMissed limits the gaps in a pattern: one in mostMissed parts of a period
// may be missing.
const mostMissed = 12

// Ahead is what a pattern predicts for the spans that begin now, in milli-cores: their
// means, and the portion of each mean that comes from busy parts.
type Ahead struct{ means, busy [Spans]float32 }

// Ahead returns what the pattern predicts from now on.
func (p *Pattern) Ahead(clock Clock, now time.Time) (ahead Ahead) {
	part, begun, mean := clock.Part(now.Unix()), 0.0, p.Mean()
	length := clock.Length().Seconds()
	into := float64(max(now.Unix(), 0)) - float64(part)*length
	for s := range ahead.means {
		from, until := begun, ends[s]
		begun = until
		if until-from >= Parts*length { // whole periods: the remaining parts hardly count
			from, until = 0, Parts*length
		}
		sum, busy, seconds := 0.0, 0.0, until-from
		for at := from + into; at < until+into; {
			k := math.Floor(at/length + 1e-9)
			end := min((k+1)*length, until+into)
			used := float64(p.Means[(part+int64(k))%Parts]) * (end - at)
			sum += used
			if p.busy((part+int64(k))%Parts, mean) {
				busy += used
			}
			at = end
		}
		ahead.means[s], ahead.busy[s] = float32(sum/seconds), float32(busy/seconds)
	}
	return ahead
}

// busy reports whether pods use more in this part of the period than on
// average.
func (p *Pattern) busy(at int64, mean float64) bool { return float64(p.Means[at]) > mean }

// Adopt takes over a pattern that another process has learned, if that process
// observed it for longer.
func (r *Recurrence) Adopt(p *Pattern) {
	if r.pattern != nil && r.pattern.Periods >= p.Periods {
		return
	}
	p = new(*p)
	p.summed()
	p.Spread = min(p.Spread, 4*(p.variance()+p.Off)) // otherwise a wrong pattern would be believed for years
	r.pattern, r.judged, r.ended, r.first = p, int64(max(p.Periods-1, 0))*Parts, int64(p.Periods)*Parts, math.MinInt32
	for at := range r.known {
		r.known[at] = uint8(min(p.Periods, math.MaxUint8)) // at most 255
	}
}

// PatternSize is the size of an encoded Pattern in bytes. Periods, Off, Spread and Within
// take 4 bytes each, every mean takes 2 (11 significant bits), and every number of pods
// takes 1.
const PatternSize = 4*4 + 3*Parts

// Append encodes the pattern.
func (p *Pattern) Append(to []byte) []byte {
	to = binary.LittleEndian.AppendUint32(to, uint32(p.Periods)) // never negative
	to = binary.LittleEndian.AppendUint32(to, math.Float32bits(p.Off))
	to = binary.LittleEndian.AppendUint32(to, math.Float32bits(p.Spread))
	to = binary.LittleEndian.AppendUint32(to, math.Float32bits(p.Within))
	for _, mean := range p.Means {
		to = binary.LittleEndian.AppendUint16(to, shorten(mean))
	}
	for _, pods := range p.Pods {
		to = append(to, byte(pods))
	}
	return to
}

// DecodePattern decodes a pattern that was encoded by Append.
func DecodePattern(from []byte) (*Pattern, error) {
	if len(from) != PatternSize {
		return nil, fmt.Errorf("a pattern has %d bytes, want %d", len(from), PatternSize)
	}
	periods := binary.LittleEndian.Uint32(from)
	p := &Pattern{
		Periods: int32(min(periods, math.MaxUint8)), // at most 255
		Off:     math.Float32frombits(binary.LittleEndian.Uint32(from[4:])), Spread: math.Float32frombits(binary.LittleEndian.Uint32(from[8:])),
		Within: math.Float32frombits(binary.LittleEndian.Uint32(from[12:])),
	}
	for _, v := range []float32{p.Off, p.Spread, p.Within} {
		if !(v >= 0 && v <= math.MaxFloat32) {
			return nil, fmt.Errorf("a pattern has the variance %v", v)
		}
	}
	for at := range p.Means {
		p.Means[at], p.Pods[at] = lengthen(binary.LittleEndian.Uint16(from[16+2*at:])), PodCount(from[16+2*Parts+at])
	}
	return p, nil
}

// Means are shortened to their 11 leading bits plus the number of dropped bits.
const meanBits = 11

func shorten(mean float32) uint16 {
	v := uint64(min(max(mean, 0), math.MaxUint32))
	dropped := max(bits.Len64(v)-meanBits, 0)
	return uint16(dropped)<<meanBits | uint16(v>>dropped) // 5 and 11 bits
}

func lengthen(v uint16) float32 {
	return float32(uint64(v&(1<<meanBits-1)) << (v >> meanBits))
}
