package probe

import (
	"context"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/evenkeel/evenkeel/status/doctor"
)

const (
	// reviewTimeout bounds one review by the API server, and reviewsAtOnce the number of
	// concurrent reviews.
	reviewTimeout = 10 * time.Second
	reviewsAtOnce = 8
)

// Rights asks the API server which of the needs the client is granted. If a request fails, the Answer contains the
// error.
func Rights(ctx context.Context, client kubernetes.Interface, needs []doctor.Need) doctor.Rights {
	rights := doctor.Rights{Answers: make([]doctor.Answer, len(needs)), Identity: identity(ctx, client)}
	var group errgroup.Group
	group.SetLimit(reviewsAtOnce)
	for i := range needs {
		group.Go(func() error {
			rights.Answers[i] = review(ctx, client, needs[i])
			return nil
		})
	}
	_ = group.Wait() // none of the functions returns an error
	return rights
}

func review(ctx context.Context, client kubernetes.Interface, need doctor.Need) doctor.Answer {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	resource, subresource, _ := strings.Cut(need.Resource, "/")
	asked := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: need.Namespace, Verb: need.Verb, Group: need.Group, Resource: resource, Subresource: subresource, Name: need.Name,
		},
	}}
	answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, asked, metav1.CreateOptions{})
	if err != nil {
		return doctor.Answer{Need: need, Err: fmt.Errorf("reviewing access: %w", err)}
	}
	return doctor.Answer{Need: need, Allowed: answer.Status.Allowed && !answer.Status.Denied}
}

// identity returns the client's user name; empty if the API server does not report it, as before Kubernetes 1.28.
func identity(ctx context.Context, client kubernetes.Interface) string {
	ctx, cancel := context.WithTimeout(ctx, reviewTimeout)
	defer cancel()
	answer, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return ""
	}
	return answer.Status.UserInfo.Username
}
