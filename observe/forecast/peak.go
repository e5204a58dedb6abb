package forecast

// Peak is the highest usage of a pod in the last two to four hours. It takes 12 bytes.
// The zero value holds no samples.
type Peak struct {
	// half is the number of the current half of Horizon.
	half uint32
	// most is the highest five-minute mean of the current half, before that of the
	// previous half, in milli-cores.
	most, before float32
}

const halfSeconds = uint32(Horizon / 2 / 1e9)

// Add adds the mean, in milli-cores, of the five minutes that end at second.
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

// MilliCores returns the highest usage up to the newest sample.
func (p *Peak) MilliCores() int64 { return int64(max(p.most, p.before)) }
