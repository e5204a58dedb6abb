package forecast

// Trough is the lowest usage of a node in the last two to four hours, the time that Peak
// also covers. The zero value holds no samples.
type Trough struct {
	// half is the number of the current half of Horizon, and last the second of the
	// newest sample.
	half, last uint32
	// least is the lowest five-minute mean of the current half, before that of the
	// previous half, in milli-cores. Either is 0 if its half was not observed completely.
	least, before float32
}

// Add adds the mean, in milli-cores, of the five minutes that end at second.
func (t *Trough) Add(second uint32, milliCores int64) {
	if float64(second-t.last) > ends[0] { // usage in between is unknown
		*t = Trough{}
	}
	t.last = second
	switch half := second / halfSeconds; half {
	case t.half:
		t.least = min(t.least, float32(milliCores))
	case t.half + 1:
		t.half, t.least, t.before = half, float32(milliCores), t.least
	default:
		t.half, t.least, t.before = half, 0, 0
	}
}

// MilliCores returns the lowest usage up to the newest sample; 0 unless two
// hours are known.
func (t *Trough) MilliCores() int64 { return int64(max(min(t.least, t.before), 0)) }
