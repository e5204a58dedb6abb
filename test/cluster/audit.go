package cluster

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
)

// AuditMark is a position in the audit log.
type AuditMark int64

// Request is a request that the API server has answered, or a watch that it has begun to
// serve.
type Request struct {
	// User is "system:serviceaccount:<namespace>:<name>" for a ServiceAccount.
	User, Verb string
	// Group is the API group; empty for the core API. Resource includes the subresource,
	// such as "pods" or "pods/eviction". For requests that are not about a resource, it is
	// the path.
	Group, Resource, Namespace, Name string
	// Code is the HTTP status.
	Code int
	// DryRun means that nothing was stored.
	DryRun bool
}

// Requests are in the order of their responses.
type Requests []Request

// auditEvent is the part of audit.k8s.io/v1 Event that Request needs.
type auditEvent struct {
	AuditID    string `json:"auditID"`
	Stage      string `json:"stage"`
	RequestURI string `json:"requestURI"`
	Verb       string `json:"verb"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	ObjectRef *struct {
		APIGroup    string `json:"apiGroup"`
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
	} `json:"objectRef"`
	ResponseStatus struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
}

func (c *Cluster) auditLog() string { return c.file("audit.log") }

// AuditPath returns the path of the audit log, for following it as it grows.
func (c *Cluster) AuditPath() string { return c.auditLog() }

// AuditMark returns the current end of the audit log.
func (c *Cluster) AuditMark() (AuditMark, error) {
	info, err := os.Stat(c.auditLog())
	if err != nil {
		return 0, fmt.Errorf("reading the audit log: %w", err)
	}
	return AuditMark(info.Size()), nil
}

// Audit lists the requests that the API server has answered since a mark; 0 means since
// it was first started.
func (c *Cluster) Audit(since AuditMark) (Requests, error) {
	log, err := os.Open(c.auditLog())
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	defer log.Close()
	if _, err := log.Seek(int64(since), io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	return readAudit(log)
}

func readAudit(log io.Reader) (Requests, error) {
	var requests Requests
	watching := map[string]bool{}
	lines := bufio.NewReader(log)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			// The text after the last line break is an incomplete line.
			return requests, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		var event auditEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return nil, fmt.Errorf("reading a line of the audit log: %w", err)
		}
		// A watch is logged when it begins and when it ends. Only one of the entries counts.
		if watching[event.AuditID] {
			delete(watching, event.AuditID)
			continue
		}
		if event.Stage == "ResponseStarted" {
			watching[event.AuditID] = true
		}
		requests = append(requests, event.request())
	}
}

func (e auditEvent) request() Request {
	path, query, _ := strings.Cut(e.RequestURI, "?")
	r := Request{User: e.User.Username, Verb: e.Verb, Resource: path, Code: e.ResponseStatus.Code}
	r.DryRun = strings.Contains(query, "dryRun=All")
	if ref := e.ObjectRef; ref != nil {
		r.Group, r.Resource, r.Namespace, r.Name = ref.APIGroup, ref.Resource, ref.Namespace, ref.Name
		if ref.Subresource != "" {
			r.Resource += "/" + ref.Subresource
		}
	}
	return r
}

// Where keeps the requests that satisfy the condition.
func (r Requests) Where(condition func(Request) bool) Requests {
	return slices.DeleteFunc(slices.Clone(r), func(request Request) bool { return !condition(request) })
}

// By keeps the requests of one user.
func (r Requests) By(user string) Requests {
	return r.Where(func(request Request) bool { return request.User == user })
}

// To keeps the requests with a verb on a resource, such as "create" on
// "pods/eviction".
func (r Requests) To(verb, resource string) Requests {
	return r.Where(func(request Request) bool { return request.Verb == verb && request.Resource == resource })
}

// Writes keeps the requests that were meant to change stored objects, whether or not they
// were allowed. It excludes reviews and tokens, because these are created without being
// stored.
func (r Requests) Writes() Requests {
	return r.Where(func(request Request) bool {
		switch request.Verb {
		case "get", "list", "watch":
			return false
		}
		return !request.DryRun && !strings.HasSuffix(request.Resource, "reviews") && request.Resource != "serviceaccounts/token"
	})
}

// Forbidden keeps the requests that RBAC or admission refused with 403.
func (r Requests) Forbidden() Requests {
	return r.Where(func(request Request) bool { return request.Code == http.StatusForbidden })
}

// RequestKind is the key of Tally.
type RequestKind struct{ User, Verb, Resource string }

// Tally counts requests by user, verb and resource.
func (r Requests) Tally() map[RequestKind]int {
	tally := map[RequestKind]int{}
	for _, request := range r {
		tally[RequestKind{request.User, request.Verb, request.Resource}]++
	}
	return tally
}
