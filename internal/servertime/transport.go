package servertime

import (
	"net/http"

	"k8s.io/apimachinery/pkg/util/net"
)

// Wrap returns a RoundTripper that reads the Date of rt's responses. It changes
// neither requests nor responses.
func (c *Clock) Wrap(rt http.RoundTripper) http.RoundTripper { return &reader{clock: c, next: rt} }

type reader struct {
	clock *Clock
	next  http.RoundTripper
}

var (
	_ http.RoundTripper       = (*reader)(nil)
	_ net.RoundTripperWrapper = (*reader)(nil)
)

// RoundTrip implements http.RoundTripper.
func (r *reader) RoundTrip(request *http.Request) (*http.Response, error) {
	sent := r.clock.local()
	response, err := r.next.RoundTrip(request)
	if err != nil || response == nil || !speaks(response) {
		return response, err
	}
	received := r.clock.local()
	date, bad := http.ParseTime(response.Header.Get("Date"))
	if bad != nil {
		return response, nil //nolint:nilerr // a response without a Date is not an error
	}
	if heard, ok := hear(date, sent, received); ok {
		r.clock.learn(request.Context(), heard)
	}
	return response, nil
}

// speaks reports whether a response may be current and from the API server itself. A
// proxy answers for an unavailable server with a 5xx status, and a cache sets Age.
func speaks(response *http.Response) bool {
	return response.StatusCode < http.StatusInternalServerError && response.Header.Get("Age") == ""
}

// WrappedRoundTripper lets client-go unwrap the RoundTripper.
func (r *reader) WrappedRoundTripper() http.RoundTripper { return r.next }
