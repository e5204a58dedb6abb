package extender

import (
	"net/http"
	"strings"

	"k8s.io/klog/v2"
)

// maxLoggedBytes is how much of a request's body is logged.
const maxLoggedBytes = 4 << 10

// logBody logs a request's body, cut to maxLoggedBytes.
func logBody(r *http.Request, v verb, body []byte) {
	shown, cut := body, ""
	if len(shown) > maxLoggedBytes {
		shown, cut = shown[:maxLoggedBytes], "…"
	}
	klog.FromContext(r.Context()).Info("Request received", "verb", v.String(), "client", r.RemoteAddr, "bytes", len(body),
		"body", strings.ToValidUTF8(string(shown), "")+cut)
}
