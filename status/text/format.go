package text

import "fmt"

// none stands for unknown values.
const none = "-"

func percent(v *float64) string {
	if v == nil {
		return none
	}
	return percentOf(*v)
}

// cores formats milli-cores as cores.
func cores(milli int64) string { return threeDigits(float64(milli)/1000, "") }

// memory formats bytes with a unit that keeps the number short.
func memory(n int64) string {
	const kib = 1 << 10
	v, unit := float64(n)/(kib*kib), 0
	units := []string{"Mi", "Gi", "Ti"}
	for v >= 1000 && unit < len(units)-1 {
		v, unit = v/kib, unit+1
	}
	return threeDigits(v, units[unit])
}

// threeDigits formats a number with three digits, or without decimals if it is whole.
func threeDigits(v float64, unit string) string {
	switch {
	case v == float64(int64(v)) || v >= 99.95:
		return fmt.Sprintf("%.0f%s", v, unit)
	case v >= 9.995:
		return fmt.Sprintf("%.1f%s", v, unit)
	}
	return fmt.Sprintf("%.2f%s", v, unit)
}
