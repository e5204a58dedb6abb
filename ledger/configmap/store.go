// Package configmap stores the ledger in one ConfigMap, which the evicting
// process writes and all others follow.
//
// It writes only its own keys and preserves everything else in the object, above all the
// annotation that pauses evictions. It reports content under its key that it cannot read.
// The process that holds the ledger in memory sets such content aside in another
// ConfigMap and rewrites the ledger; any other process writes nothing until the content
// can be read or a user accepts its loss. If another process has written the ledger since
// this one last did, this is a conflict, and this process must not evict.
package configmap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/evenkeel/evenkeel/ledger"
)

// attempts is the number of attempts to write while something other than a process that
// writes the ledger keeps changing the object.
const attempts = 4

// ErrTaken means that another process has written the ledger since this one
// read it.
var ErrTaken = errors.New("another process has written the ledger")

// Config is what a Store depends on.
type Config struct {
	Client          kubernetes.Interface
	Namespace, Name string
	// Writer is the name of this process in the stored ledger.
	Writer string
	// Leader is asked before each write; nil if this process is the only one.
	Leader Leader
	// Timeout bounds each call, and WriteTimeout each write. A WriteTimeout of 0 means
	// Timeout.
	Timeout, WriteTimeout time.Duration
	Now                   func() time.Time
	// Report is called once for each piece of unreadable content; it may be nil.
	Report func(error)
}

// Leader reports whether this process leads.
type Leader interface {
	// Leads returns an error if this process must not write any longer.
	Leads() error
}

// Store reads and writes the ConfigMap. It is safe for concurrent use.
type Store struct {
	config Config

	// mu is held during calls to the API server, which may be slow. In the meantime,
	// other goroutines read known, the state when mu was last released.
	mu    sync.Mutex
	known atomic.Pointer[known]
	// generation is the generation of the document that this process last loaded or
	// saved, and newest the highest generation that it has seen.
	generation, newest int64
	// size is the size of the ledger in bytes when it was last read or written.
	size int
	// held is true if this process has read or written the whole ledger. It can then
	// restore a damaged ledger, unless another process has written since.
	held bool
	// unreadable is the content that was found when the object was last read; nil if it
	// was a ledger. reported is the resourceVersion of the content that was last
	// reported.
	unreadable *Unreadable
	reported   string
	aside      aside
}

// known is the state that a Store reports about itself.
type known struct {
	newest     int64
	size       int
	unreadable *Unreadable
}

// unlock publishes the Store's state and unlocks it.
func (s *Store) unlock() {
	s.known.Store(&known{newest: s.newest, size: s.size, unreadable: s.unreadable})
	s.mu.Unlock()
}

// New returns a Store.
func New(config Config) (*Store, error) {
	if config.Client == nil || config.Namespace == "" || config.Name == "" || config.Now == nil || config.Timeout <= 0 {
		return nil, errors.New("configmap: Client, Namespace, Name, Now and Timeout must be set")
	}
	config.WriteTimeout = cmp.Or(config.WriteTimeout, config.Timeout)
	s := &Store{config: config, aside: aside{client: config.Client, timeout: config.WriteTimeout, now: config.Now}}
	s.known.Store(&known{})
	return s, nil
}

// Release records that this process no longer holds the ledger, because another process
// may have written it in the meantime, in whatever format.
func (s *Store) Release() {
	s.mu.Lock()
	defer s.unlock()
	s.held = false
}

// Generation returns the generation of the newest document read or written.
func (s *Store) Generation() int64 { return s.known.Load().newest }

// Size returns the compressed size in bytes of the stored ledger when it was
// last read or written. The API server accepts one MiB.
func (s *Store) Size() int { return s.known.Load().size }

// Unreadable returns why the stored ledger prevents evictions; nil if it does
// not.
func (s *Store) Unreadable() error {
	unreadable := s.known.Load().unreadable
	if unreadable == nil || unreadable.replaceable() {
		return nil
	}
	return unreadable
}

// Damaged reports whether the stored ledger has to be written again because it
// could not be read.
func (s *Store) Damaged() bool {
	unreadable := s.known.Load().unreadable
	return unreadable != nil && unreadable.replaceable()
}

// Load reads the ledger for a process that will write it. If there is no ConfigMap, it
// returns an empty document. If the content is unreadable, it returns an empty document
// in a process that holds the ledger, or if the loss of the content is accepted;
// otherwise it fails with ErrUnreadable.
func (s *Store) Load(ctx context.Context) (ledger.Document, error) {
	s.mu.Lock()
	defer s.unlock()
	object, err := s.get(ctx)
	if err != nil {
		return ledger.Document{}, err
	}
	if object == nil {
		s.held, s.unreadable = true, nil
		return ledger.Document{}, nil
	}
	document, err := s.read(object)
	if err != nil && s.unreadable.replaceable() {
		return ledger.Document{}, nil // read has reported the content; Save sets it aside
	}
	if err != nil {
		return ledger.Document{}, err
	}
	s.knows(document.Generation)
	return document, nil
}

// Save writes the ledger under the next generation. It fails with ErrTaken if
// another process has written in the meantime.
func (s *Store) Save(ctx context.Context, document ledger.Document) error {
	s.mu.Lock()
	defer s.unlock()
	document.Format, document.Writer, document.Written = ledger.Format, s.config.Writer, s.config.Now().UTC()
	for try := 1; ; try++ {
		err := s.write(ctx, document)
		changed := apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err) // the object has changed since it was read
		if err == nil || try == attempts || !changed {
			return err
		}
	}
}

func (s *Store) write(ctx context.Context, document ledger.Document) error {
	object, err := s.get(ctx)
	if err != nil {
		return err
	}
	create := object == nil
	if create {
		object = &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.config.Namespace, Name: s.config.Name}}
	} else if err := s.claim(ctx, object); err != nil {
		return err
	}
	document.Generation = max(s.generation, s.newest) + 1 // never decreases, even if the object was created anew
	if err := fill(object, document); err != nil {
		return err
	}
	if err := s.put(ctx, object, create); err != nil {
		return err
	}
	s.knows(document.Generation)
	s.measure(object)
	return nil
}

func (s *Store) measure(object *v1.ConfigMap) {
	packed, _ := content(object)
	s.size = len(packed)
}

func (s *Store) knows(generation int64) {
	s.generation, s.held, s.unreadable = generation, true, nil
	s.newest = max(s.newest, generation)
}

// claim ensures that no other process's content is overwritten.
func (s *Store) claim(ctx context.Context, object *v1.ConfigMap) error {
	found, err := s.read(object)
	switch {
	case err != nil && !s.unreadable.replaceable():
		return err
	case err != nil:
		s.generation = max(s.generation, stated(object))
		if err := s.leads(); err != nil {
			return err
		}
		if err := s.aside.keep(ctx, object, s.unreadable); err != nil {
			return err
		}
		empty(object)
	case found.Generation <= s.generation && (s.held || found.Format == 0):
	case found.Writer == s.config.Writer: // our write succeeded, but the response was lost
		s.generation = max(s.generation, found.Generation)
	default:
		return fmt.Errorf("%w: %q wrote generation %d, after %d", ErrTaken, found.Writer, found.Generation, s.generation)
	}
	return nil
}

// read returns the ledger of an object, empty if it has none, and reports
// unreadable content.
func (s *Store) read(object *v1.ConfigMap) (ledger.Document, error) {
	document, err := Inspect(object)
	s.measure(object)
	s.unreadable, _ = errors.AsType[*Unreadable](err)
	if s.unreadable == nil {
		return document, nil
	}
	s.unreadable.held = s.holds(object)
	if s.config.Report != nil && s.reported != object.ResourceVersion {
		s.config.Report(err)
	}
	s.reported = object.ResourceVersion
	return ledger.Document{}, err
}

// holds reports whether this process holds the ledger that was stored before the object's
// content was damaged. It does if it knows of no later ledger and no other process has
// put its name into the object. A newer version, whose format this version cannot read,
// would have done so.
func (s *Store) holds(object *v1.ConfigMap) bool {
	return s.held && s.generation >= s.newest && (stated(object) <= s.generation || object.Data[writerKey] == s.config.Writer)
}

// get returns the object; nil if there is none.
func (s *Store) get(ctx context.Context) (*v1.ConfigMap, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	object, err := s.config.Client.CoreV1().ConfigMaps(s.config.Namespace).Get(ctx, s.config.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil //nolint:nilnil // no object is an answer
	}
	if err != nil {
		return nil, fmt.Errorf("reading ConfigMap %q: %w", s.config.Namespace+"/"+s.config.Name, err)
	}
	return object, nil
}

// leads returns an error if this process must not write any longer.
func (s *Store) leads() error {
	if s.config.Leader == nil {
		return nil
	}
	return s.config.Leader.Leads()
}

func (s *Store) put(ctx context.Context, object *v1.ConfigMap, create bool) (err error) {
	if err := s.leads(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.WriteTimeout)
	defer cancel()
	client := s.config.Client.CoreV1().ConfigMaps(s.config.Namespace)
	if create {
		_, err = client.Create(ctx, object, metav1.CreateOptions{})
	} else {
		_, err = client.Update(ctx, object, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("writing ConfigMap %q: %w", s.config.Namespace+"/"+s.config.Name, err)
	}
	return nil
}
