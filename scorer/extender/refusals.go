package extender

import (
	"log"
	"strings"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/klog/v2"
)

// refusals limits the log lines about refusals, for all servers of the process,
// because strangers control how often refusals occur and must not flood the
// log.
var refusals = rate.Sometimes{First: 100, Interval: time.Second}

// LogRefused logs a refusal at V(2), unless there have recently been too many
// such lines.
func LogRefused(logger klog.Logger, message string, keysAndValues ...any) {
	if logger = logger.V(2); logger.Enabled() {
		refusals.Do(func() { logger.Info(message, keysAndValues...) })
	}
}

// ErrorLog returns the ErrorLog of a server. It logs what net/http reports, such
// as failed TLS handshakes, as LogRefused does.
func ErrorLog(logger klog.Logger) *log.Logger { return log.New(serverLog{logger}, "", 0) }

type serverLog struct{ logger klog.Logger }

// Write implements io.Writer for the log package: one call per message.
func (l serverLog) Write(line []byte) (int, error) {
	LogRefused(l.logger, "HTTP server reported", "message", strings.TrimSpace(string(line)))
	return len(line), nil
}
