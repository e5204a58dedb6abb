package scorer

import "github.com/evenkeel/evenkeel/cluster"

// Formula is how measured usage becomes a score; policy.Formula says what each does.
type Formula uint8

// The formulas.
const (
	FormulaCrane Formula = iota
	FormulaMemoryLoad
	FormulaMinMax
)

// Measured judges nodes by measured windows in place of predicted usage.
type Measured struct {
	Formula Formula
	Terms   []Term
	Limits  []Limit
}

// Term is one window of usage that is scored. Window is its place in the View's windows.
type Term struct {
	Resource cluster.Resource
	Window   int
	Weight   float64
}

// Limit is one window of usage that keeps pods off a node: above Percent, or from Percent on.
type Limit struct {
	Resource cluster.Resource
	Window   int
	Percent  float64
	From     bool
}
