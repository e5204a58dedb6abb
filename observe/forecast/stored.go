package forecast

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Stored is the knowledge about one workload that is passed on to another process.
type Stored struct {
	// Key is the workload's key.
	Key     uint64
	Pattern *Pattern
	// Without is the number of parts without a sample, at most 255.
	Without int32
}

// Patterns are stored as a header (version, period in seconds and number of the
// last part: 4, 4 and 8 bytes, little endian) followed, for each workload, by
// its key (8 bytes), its Pattern, and the number of parts without a sample (1
// byte).
const (
	storedVersion = 2
	storedHeader  = 4 + 4 + 8
	storedBytes   = 8 + PatternSize + 1
)

// Store encodes what is known at the given part, in at most most bytes. If space is
// short, it prefers workloads that recur, and among these the ones whose usage varies
// most. It reorders all. It returns nil if all is empty.
func Store(all []Stored, most int, clock Clock, part int64) []byte {
	if len(all) == 0 {
		return nil
	}
	slices.SortFunc(all, func(a, b Stored) int {
		if recurs := a.Pattern.Recurs(); recurs != b.Pattern.Recurs() {
			if recurs {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(b.Pattern.Spread, a.Pattern.Spread), cmp.Compare(a.Key, b.Key))
	})
	all = all[:min(len(all), max(most-storedHeader, 0)/storedBytes)]
	data := make([]byte, 0, storedHeader+len(all)*storedBytes)
	data = binary.LittleEndian.AppendUint32(data, storedVersion)
	data = binary.LittleEndian.AppendUint32(data, uint32(clock.Period/time.Second)) // at most a week
	data = binary.LittleEndian.AppendUint64(data, uint64(part))
	for _, s := range all {
		data = binary.LittleEndian.AppendUint64(data, s.Key)
		data = append(s.Pattern.Append(data), byte(s.Without)) // at most 255
	}
	return data
}

// Restore decodes what another process has stored. age is the number of parts since the
// data was stored. The error describes what is wrong with the data. Data for another
// period or from the future is left out, but clocks may differ by one part.
func Restore(data []byte, clock Clock, now time.Time) (all []Stored, age int64, err error) {
	if len(data) < storedHeader {
		return nil, 0, errors.New("patterns: no header")
	}
	version, period, part := binary.LittleEndian.Uint32(data), binary.LittleEndian.Uint32(data[4:]), int64(binary.LittleEndian.Uint64(data[8:]))
	rest := data[storedHeader:]
	switch {
	case version != storedVersion:
		return nil, 0, fmt.Errorf("patterns: version %d, want %d", version, storedVersion)
	case len(rest)%storedBytes != 0:
		return nil, 0, fmt.Errorf("patterns: %d trailing bytes", len(rest)%storedBytes)
	}
	for ; len(rest) > 0; rest = rest[storedBytes:] {
		p, err := DecodePattern(rest[8 : storedBytes-1])
		if err != nil {
			return nil, 0, fmt.Errorf("patterns: %w", err)
		}
		all = append(all, Stored{binary.LittleEndian.Uint64(rest), p, int32(rest[storedBytes-1])})
	}
	const clocksDiffer = 1
	if time.Duration(period)*time.Second != clock.Period || period == 0 {
		return nil, 0, nil
	}
	if age = clock.Part(now.Unix()) - part; age < -clocksDiffer {
		return nil, 0, nil
	}
	return all, max(age, 0), nil
}
