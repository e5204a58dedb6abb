package safeguards

import (
	"errors"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Denial returns the message with which a webhook or a ValidatingAdmissionPolicy denied
// an eviction, or with which the API server reports that it could not call a webhook or
// that the pod's namespace is being deleted. Such an error concerns this pod and similar
// ones, and is no sign of trouble with the API server. The phrases are those of
// k8s.io/apiserver's admission/plugin/webhook/errors and
// admission/plugin/policy/validating.
func Denial(err error) (words string, denied bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || apierrors.IsTooManyRequests(err) {
		return "", false
	}
	words = status.Status().Message
	return words, saysNo(words) || unasked(words) || apierrors.HasStatusCause(err, v1.NamespaceTerminatingCause)
}

// PutOff reports whether a webhook denied an eviction only for now, with the status code
// of a PodDisruptionBudget. The eviction may be retried.
func PutOff(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && apierrors.IsTooManyRequests(err) && saysNo(status.Status().Message)
}

func saysNo(words string) bool {
	return strings.Contains(words, "denied the request") || strings.Contains(words, "denied request")
}

// unasked reports whether a denial's message means that a webhook could not be called.
// The phrases are from util/webhook in k8s.io/apiserver. The message of a webhook may
// quote them.
func unasked(words string) bool {
	return strings.Contains(words, `failed calling webhook "`) && !saysNo(words)
}
