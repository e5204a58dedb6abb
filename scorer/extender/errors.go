package extender

import (
	"errors"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/klog/v2"
)

// statusError is an error with its HTTP status.
type statusError struct {
	code int
	err  error
}

func (e statusError) Error() string { return e.err.Error() }
func (e statusError) Unwrap() error { return e.err }

// panicError is a recovered panic of the Answerer.
type panicError struct {
	value any
	stack []byte
}

func (e panicError) Error() string { return fmt.Sprintf("the scorer panicked: %v", e.value) }

// notAllowed returns an error that lists the allowed methods.
func notAllowed(w http.ResponseWriter, methods ...string) error {
	w.Header().Set("Allow", strings.Join(methods, ", "))
	return statusError{http.StatusMethodNotAllowed, fmt.Errorf("use %s", strings.Join(methods, " or "))}
}

// adapter converts a function that returns an error to a handler. It is the only place
// where errors are logged and written.
type adapter func(http.ResponseWriter, *http.Request) error

// ServeHTTP implements http.Handler.
func (a adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	err := a(w, r)
	if err == nil {
		return
	}
	code := http.StatusInternalServerError
	if status, ok := errors.AsType[statusError](err); ok {
		code = status.code
	}
	logger := klog.FromContext(r.Context())
	var panicked panicError
	switch {
	case errors.As(err, &panicked):
		logger.Error(err, "Scorer panicked", "path", r.URL.Path, "stack", string(panicked.stack))
	case code >= http.StatusInternalServerError && code != http.StatusServiceUnavailable:
		logger.Error(err, "Request not answered", "path", r.URL.Path, "client", r.RemoteAddr)
	default:
		LogRefused(logger, "Request refused", "path", oneLine(r.URL.Path), "client", r.RemoteAddr, "code", code, "reason", err.Error())
	}
	http.Error(w, oneLine(err.Error()), code)
}

// oneLine reduces a message to one line of reasonable length.
func oneLine(message string) string {
	const limit = 300
	if len(message) > limit {
		message = message[:limit] + "…"
	}
	return strings.Join(strings.Fields(message), " ")
}
