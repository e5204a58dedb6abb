package safeguards

import (
	"errors"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Denial returns the words in which a webhook or a ValidatingAdmissionPolicy
// denied an eviction. That concerns this pod and those like it, and says nothing
// about the API server. The phrases are those of k8s.io/apiserver's
// admission/plugin/webhook/errors and admission/plugin/policy/validating.
func Denial(err error) (words string, denied bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || apierrors.IsTooManyRequests(err) {
		return "", false
	}
	words = status.Status().Message
	for _, phrase := range []string{"denied the request", "denied request"} {
		denied = denied || strings.Contains(words, phrase)
	}
	return words, denied
}
