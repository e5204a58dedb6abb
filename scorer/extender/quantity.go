package extender

import (
	"math"
	"math/bits"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/evenkeel/evenkeel/internal/quantity"
)

// Amounts are counted in units; these are the numbers of units per core and per byte.
const (
	cpuUnits    int64 = 1e9
	memoryUnits int64 = 1e3
)

// parseQuantity returns text in units of 1/perOne, rounded up. Negative
// quantities, which no API server accepts, become 0; quantities too large for
// int64, which no node has, become math.MaxInt64.
func parseQuantity(text []byte, perOne int64) (int64, error) {
	if n, ok := plainQuantity(text, uint64(perOne)); ok {
		return n, nil
	}
	q, err := quantity.Parse(string(text))
	if err != nil {
		return 0, err
	}
	switch {
	case q.Sign() < 0:
		return 0, nil
	case q.CmpInt64(math.MaxInt64/perOne) >= 0:
		return math.MaxInt64, nil
	case perOne == cpuUnits:
		return q.ScaledValue(resource.Nano), nil
	}
	return q.ScaledValue(resource.Milli), nil
}

// plainQuantity parses the forms that pods use in practice: up to 15 digits,
// with or without a fraction, and a suffix from m to Pi.
//
//	units = digits * factor(suffix) * perOne / (10^fraction * divisor(suffix))
func plainQuantity(text []byte, perOne uint64) (int64, bool) {
	digits, fraction, suffix := plainNumber(text)
	factor, divisor := suffixFactor(suffix)
	if fraction < 0 || factor == 0 {
		return 0, false
	}
	for range fraction {
		divisor *= 10 // 14 times at most, from 1000 at most: below 2^64
	}
	high, low := bits.Mul64(factor, perOne)
	if high != 0 {
		return 0, false
	}
	high, low = bits.Mul64(low, digits)
	if high >= divisor {
		return 0, false
	}
	quotient, remainder := bits.Div64(high, low, divisor)
	if quotient >= math.MaxInt64 {
		return 0, false
	}
	if remainder != 0 {
		quotient++
	}
	return int64(quotient), true
}

// plainNumber splits text into its digits, the number of digits after the point, and the
// suffix. A negative fraction means that text is not a plain number.
func plainNumber(text []byte) (digits uint64, fraction int, suffix []byte) {
	const maxLen = 16 // 15 digits and a point, or 16 digits: below 2^64
	i, point := 0, -1
	for ; i < len(text); i++ {
		c := text[i]
		if c == '.' && point < 0 && i > 0 {
			point = i
			continue
		}
		if !isDigit(c) {
			break
		}
		digits = digits*10 + uint64(c-'0')
	}
	if i == 0 || i > maxLen || point == i-1 {
		return 0, -1, nil
	}
	if point > 0 {
		fraction = i - point - 1
	}
	return digits, fraction, text[i:]
}

// suffixFactor returns a suffix's factor and divisor. The factor is 0 for an unknown
// suffix.
func suffixFactor(suffix []byte) (factor, divisor uint64) {
	switch string(suffix) {
	case "":
		return 1, 1
	case "m":
		return 1, 1000
	case "k":
		return 1e3, 1
	case "M":
		return 1e6, 1
	case "G":
		return 1e9, 1
	case "T":
		return 1e12, 1
	case "P":
		return 1e15, 1
	case "Ki":
		return 1 << 10, 1
	case "Mi":
		return 1 << 20, 1
	case "Gi":
		return 1 << 30, 1
	case "Ti":
		return 1 << 40, 1
	case "Pi":
		return 1 << 50, 1
	}
	return 0, 0
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
