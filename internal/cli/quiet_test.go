package cli

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"k8s.io/klog/v2/textlogger"
)

// If only warnings are requested, errors are logged and Info lines are not,
// even if they span several lines.
func TestWarnings(t *testing.T) {
	var out bytes.Buffer
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(warnings{&out})))
	logger.Info("Planned", "moves", 5, "why", "one\ntwo")
	logger.Error(errors.New("connection refused"), "Reading usage failed")
	if said := out.String(); strings.Contains(said, "Planned") || strings.Contains(said, "two") || !strings.HasPrefix(said, "E") {
		t.Errorf("logged:\n%s", said)
	}
}
