package exporters

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// verdictAge is how long the API server's verdict is cached. Kubelets cache it for
// minutes, which is too long for a test.
const verdictAge = 2 * time.Second

// maxTokens is the maximum number of tokens that are remembered.
const maxTokens = 100

// gate asks the API server for a token's user and whether that user has access, like a
// kubelet with webhook authentication and authorization.
type gate struct {
	client kubernetes.Interface

	mu       sync.Mutex
	verdicts map[string]verdict
	// tokens holds the tokens that clients have presented, each once.
	tokens []string
}

// verdict is the HTTP status for a token and a subresource.
type verdict struct {
	until  time.Time
	status int
	reason string
}

// admit passes the requests of users who may get a subresource of nodes.
func (g *gate) admit(subresource string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		if !bearer {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		v, err := g.judge(r.Context(), token, subresource)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		if v.status != http.StatusOK {
			http.Error(w, v.reason, v.status)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// judge holds the lock during its request, so that simultaneous requests for all nodes
// cause only one query to the API server.
func (g *gate) judge(ctx context.Context, token, subresource string) (verdict, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Contains(g.tokens, token) && len(g.tokens) < maxTokens {
		g.tokens = append(g.tokens, token)
	}
	key := subresource + " " + token
	if v, known := g.verdicts[key]; known && time.Now().Before(v.until) {
		return v, nil
	}
	v, err := g.ask(ctx, token, subresource)
	if err != nil {
		return verdict{}, err
	}
	v.until = time.Now().Add(verdictAge)
	if g.verdicts == nil || len(g.verdicts) > 100 {
		g.verdicts = map[string]verdict{}
	}
	g.verdicts[key] = v
	return v, nil
}

func (g *gate) ask(ctx context.Context, token, subresource string) (verdict, error) {
	who, err := g.client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token},
	}, metav1.CreateOptions{})
	if err != nil {
		return verdict{}, fmt.Errorf("reviewing a token: %w", err)
	}
	if !who.Status.Authenticated {
		return verdict{status: http.StatusUnauthorized, reason: "Unauthorized"}, nil
	}
	user := who.Status.User
	extra := map[string]authorizationv1.ExtraValue{}
	for name, values := range user.Extra {
		extra[name] = authorizationv1.ExtraValue(values)
	}
	may, err := g.client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user.Username, UID: user.UID, Groups: user.Groups, Extra: extra,
			ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "get", Version: "v1", Resource: "nodes", Subresource: subresource},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return verdict{}, fmt.Errorf("reviewing access: %w", err)
	}
	if !may.Status.Allowed {
		reason := fmt.Sprintf("Forbidden (user=%s, verb=get, resource=nodes, subresource=[%s])", user.Username, subresource)
		return verdict{status: http.StatusForbidden, reason: reason}, nil
	}
	return verdict{status: http.StatusOK}, nil
}
