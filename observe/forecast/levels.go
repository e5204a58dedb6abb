package forecast

import "math"

const (
	// levelSteps is the number of levels per doubling, so that a level is within 6 % of
	// what was used. The lowest level is everything up to leastLevel milli-cores, and the
	// highest is everything from 58 cores on.
	levelSteps = 6
	leastLevel = 16
	numLevels  = 72
	// levelSeconds is the time that one count stands for.
	levelSeconds = sampleSeconds
)

// Levels counts how often a pod used how much CPU, in five-minute means. When a count
// reaches its maximum, all are halved, which makes what was more than about a day ago
// fade. It takes 76 bytes. The zero value has seen nothing.
type Levels struct {
	last   uint32 // the second of the newest counted mean; 0 if there is none
	counts [numLevels]uint8
}

// Add counts the mean, in milli-cores, of the five minutes that end at second, unless
// the mean counted before covers part of them.
func (l *Levels) Add(second uint32, milliCores int64) {
	if l.last != 0 && second >= l.last && second-l.last < levelSeconds {
		return
	}
	l.last = max(second, 1)
	at := levelOf(milliCores)
	if l.counts[at] == math.MaxUint8 {
		for i := range l.counts {
			l.counts[i] /= 2
		}
	}
	l.counts[at]++
}

func levelOf(milliCores int64) int {
	if milliCores <= leastLevel {
		return 0
	}
	return int(min(levelSteps*math.Log2(float64(milliCores)/leastLevel)+1, numLevels-1)) // at most numLevels-1
}

// milliCores returns the middle of a level.
func milliCores(level int) float64 {
	if level == 0 {
		return leastLevel / 2
	}
	return leastLevel * math.Exp2((float64(level)-0.5)/levelSteps)
}

// Pool adds up the Levels of several pods. The zero value is empty.
type Pool struct {
	counts [numLevels]int64
	all    int64
}

// Add adds a pod.
func (p *Pool) Add(l *Levels) {
	for i, n := range l.counts {
		p.counts[i] += int64(n)
		p.all += int64(n)
	}
}

// Count returns the number of five-minute means.
func (p *Pool) Count() int64 { return p.all }

// Mean returns the mean usage in milli-cores; 0 if the pool is empty.
func (p *Pool) Mean() int64 {
	sum := 0.0
	for i, n := range p.counts {
		sum += float64(n) * milliCores(i)
	}
	return int64(math.Round(sum / float64(max(p.all, 1))))
}

// At returns the usage, in milli-cores, that the given percentage of the means did not
// exceed; 0 if the pool is empty.
func (p *Pool) At(percent int64) int64 {
	needed := (p.all*percent + 99) / 100
	for i, n := range p.counts {
		if needed -= n; needed <= 0 && p.all > 0 {
			return int64(math.Round(milliCores(i)))
		}
	}
	return 0
}
