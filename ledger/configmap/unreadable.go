package configmap

import (
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/ledger"
	"github.com/evenkeel/evenkeel/reasons"
)

// ErrUnreadable means that the stored ledger cannot be read, that this process does not
// hold its content, and that nobody has accepted its loss.
var ErrUnreadable = errors.New("the stored ledger cannot be read")

// Unreadable is the error for content that this version cannot read as a
// ledger.
type Unreadable struct {
	// Namespace and Name identify the ConfigMap.
	Namespace, Name string
	// Digest identifies the content.
	Digest string
	// Accepted reports whether the loss of the content was accepted.
	Accepted bool
	Cause    error
	// held reports whether this process holds the ledger that was stored.
	held bool
}

// Inspect reads the ledger of a ConfigMap. If none was written, it returns an empty
// ledger. The error is an *Unreadable.
func Inspect(object *v1.ConfigMap) (ledger.Document, error) {
	packed, ok := content(object)
	written := stated(object)
	if !ok && written == 0 {
		return ledger.Document{}, nil
	}
	document, err := ledger.Document{}, fmt.Errorf("it is missing, and generation %d was written", written)
	if ok {
		document, err = ledger.Decode(packed)
	}
	if err == nil {
		return document, nil
	}
	u := &Unreadable{Namespace: object.Namespace, Name: object.Name, Digest: digest(packed), Cause: err}
	u.Accepted = object.Annotations[AcceptAnnotation] == u.Digest
	return ledger.Document{}, u
}

// replaceable reports whether the content may be set aside and overwritten.
func (u *Unreadable) replaceable() bool { return u.held || u.Accepted }

// Is reports whether the error means ErrUnreadable.
func (u *Unreadable) Is(target error) bool { return target == ErrUnreadable && !u.replaceable() }

// Unwrap returns the cause and the reason.
func (u *Unreadable) Unwrap() []error {
	return []error{u.Cause, &reasons.Refusal{Reason: reasons.LedgerUnreadable}}
}

// Accept returns the command that accepts the loss of the content.
func (u *Unreadable) Accept() string {
	return fmt.Sprintf("kubectl -n %s annotate --overwrite configmap %s %s=%s", u.Namespace, u.Name, AcceptAnnotation, u.Digest)
}

// maxShown bounds how much of the ConfigMap's content is shown, in bytes.
const maxShown = 300

func shown(text string) string { return strings.ToValidUTF8(text[:min(len(text), maxShown)], "") }

func (u *Unreadable) cause() string { return shown(u.Cause.Error()) }

// Error describes the problem and its effect.
func (u *Unreadable) Error() string {
	what := fmt.Sprintf("key %q of ConfigMap %q: %s", Key, u.Namespace+"/"+u.Name, u.cause())
	switch {
	case u.held:
		return what + "; the process that holds the ledger sets this aside and writes it again"
	case u.Accepted:
		return what + "; its loss is accepted, so it is set aside"
	}
	return fmt.Sprintf("%v: %s; a process that starts or takes over evicts nothing until the key is restored, the version that wrote it runs, "+
		"or its loss is accepted by: %s", ErrUnreadable, what, u.Accept())
}
