package forecast

// Peak is the most that a pod used lately: in the last two to four hours. It takes
// 12 bytes. The zero value remembers nothing.
type Peak struct {
	// half is the number of the half of Horizon at hand.
	half uint32
	// most is the highest mean of five minutes in it, and before in the one before,
	// in milli-cores.
	most, before float32
}

const halfSeconds = uint32(Horizon / 2 / 1e9)

// Add adds the mean of the five minutes before a second, in milli-cores.
func (p *Peak) Add(second uint32, milliCores int64) {
	switch half := second / halfSeconds; half {
	case p.half:
	case p.half + 1:
		*p = Peak{half: half, before: p.most}
	default:
		*p = Peak{half: half}
	}
	p.most = max(p.most, float32(milliCores))
}

// MilliCores returns the most that was used up to the newest sample.
func (p *Peak) MilliCores() int64 { return int64(max(p.most, p.before)) }
