package flags

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evenkeel/evenkeel/internal/policyfile"
	"github.com/evenkeel/evenkeel/observe/usage/kinds"
	"github.com/evenkeel/evenkeel/observe/usage/prometheus"
	"github.com/evenkeel/evenkeel/policy"
)

// NodeSync describes how the flags of `evenkeel nodesync` override its policy,
// and where nodes are reported.
type NodeSync struct {
	// Prometheus, if not empty, overrides the address of the policy's
	// Prometheus source.
	Prometheus string
	// Interval, if not 0, overrides the time between two samples.
	Interval time.Duration
	// WebAddress serves Pages; "0" serves nothing.
	WebAddress string
	// Pages makes /nodes and /status. labelled returns the label's value and the
	// nodes that carry it.
	Pages func(labelled func() (value string, nodes []string, err error)) http.Handler
	// Progress receives progress messages; nil in a cluster, where logs and
	// metrics serve that purpose.
	Progress io.Writer
}

// Amend applies the flags to the policy.
func (m *NodeSync) Amend(file *policy.File) error {
	u := &file.Load.Usage
	if m.Prometheus != "" {
		i := slices.IndexFunc(u.Sources, func(s policy.Source) bool { return s.Type == prometheus.Name })
		if i < 0 {
			return m.invalid(file, fmt.Sprintf("--prom: there is no usage source of type %s", prometheus.Name))
		}
		u.Sources[i].Config.(*prometheus.Config).Address = m.Prometheus
	}
	if m.Interval != 0 {
		u.SampleInterval = metav1.Duration{Duration: m.Interval}
		u.MaxAge.Duration = max(u.MaxAge.Duration, staleAfter*m.Interval)
		u.ObservationPeriod.Duration = max(u.ObservationPeriod.Duration, time.Duration(file.Load.Hot.ConsecutiveSamples)*m.Interval)
	}
	var wrong []string
	for _, err := range policy.Validate(&file.Load, kinds.All) {
		wrong = append(wrong, "with --prom and --seconds: "+err.Error())
	}
	if len(wrong) > 0 {
		return m.invalid(file, wrong...)
	}
	return nil
}

func (m *NodeSync) invalid(file *policy.File, problems ...string) error {
	return policyfile.Invalid(policyfile.NameOf(file), strings.Join(problems, "\n"))
}

// staleAfter is the minimum number of intervals for which a sample stays valid.
const staleAfter = 3
