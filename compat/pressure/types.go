package pressure

import (
	"fmt"
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// rules is a file with dynamicScheduler's rules.
type rules struct {
	// PromJob was never read by any program.
	PromJob struct {
		Name string
	}
	Rulename map[string]rule
}

// rule is a query and the value beyond which a node is under pressure.
type rule struct {
	Promsql   string
	Threshold *float64
	// LowerIsWorse is new: dynamicScheduler's documentation recommends memory.available,
	// which its rules could not express.
	LowerIsWorse bool
}

func (r rule) validate(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if strings.TrimSpace(r.Promsql) == "" {
		errs = append(errs, field.Required(path.Child("Promsql"), "the query whose values are compared with Threshold"))
	}
	switch {
	case r.Threshold == nil:
		errs = append(errs, field.Required(path.Child("Threshold"), "the value beyond which a node is under pressure"))
	case math.IsInf(*r.Threshold, 0) || math.IsNaN(*r.Threshold):
		errs = append(errs, field.Invalid(path.Child("Threshold"), *r.Threshold, "must be a finite number"))
	}
	return errs
}

// expression keeps the worst of a node's series. The query is put on separate lines,
// because it may end with a comment.
func (r rule) expression() string {
	worst := "max"
	if r.LowerIsWorse {
		worst = "min"
	}
	return fmt.Sprintf("%s by (%s) (\n%s\n)", worst, nodeLabel, strings.TrimSpace(r.Promsql))
}

// nodeLabel is the label by which dynamicScheduler distinguished nodes.
const nodeLabel = "instance"
