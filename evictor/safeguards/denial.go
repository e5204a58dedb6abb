package safeguards

import (
	"errors"
	"strings"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Denial returns the words in which a webhook or a ValidatingAdmissionPolicy
// denied an eviction, in which the API server says that it could not ask a
// webhook, or that the pod's namespace is being deleted. That concerns this pod and those like it, and says nothing about the
// API server. The phrases are those of k8s.io/apiserver's
// admission/plugin/webhook/errors and admission/plugin/policy/validating.
func Denial(err error) (words string, denied bool) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || apierrors.IsTooManyRequests(err) {
		return "", false
	}
	words = status.Status().Message
	return words, saysNo(words) || unasked(words) || apierrors.HasStatusCause(err, v1.NamespaceTerminatingCause)
}

// PutOff reports whether a webhook denied an eviction for now, with the code by
// which a PodDisruptionBudget does. It may be asked again.
func PutOff(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && apierrors.IsTooManyRequests(err) && saysNo(status.Status().Message)
}

func saysNo(words string) bool {
	return strings.Contains(words, "denied the request") || strings.Contains(words, "denied request")
}

// unasked reports whether the words of a denial are that a webhook could not be
// asked: k8s.io/apiserver's util/webhook. A webhook may quote them.
func unasked(words string) bool {
	return strings.Contains(words, `failed calling webhook "`) && !saysNo(words)
}
