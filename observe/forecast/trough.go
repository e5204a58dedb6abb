package forecast

// Trough is the least that a node used lately: in the last two to four hours, as far
// back as Peak reaches. The zero value remembers nothing.
type Trough struct {
	// half is the number of the half of Horizon at hand, last the second of the newest
	// sample.
	half, last uint32
	// least is the lowest mean of five minutes in it, and before in the one before, in
	// milli-cores; 0 in a half of which a part was not seen.
	least, before float32
}

// Add adds the mean of the five minutes before a second, in milli-cores.
func (t *Trough) Add(second uint32, milliCores int64) {
	if float64(second-t.last) > ends[0] { // whatever it used in between
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

// MilliCores returns the least that was used up to the newest sample; 0 unless it is
// known for two hours.
func (t *Trough) MilliCores() int64 { return int64(max(min(t.least, t.before), 0)) }
