// Package configmap stores the ledger in one ConfigMap, which the evicting
// process writes and all others follow.
//
// It writes its own keys only and preserves everything else in the object,
// above all the annotation that pauses evictions. It reports content under its
// key that it cannot read. The process that holds the ledger in memory sets
// such content aside under another key and rewrites the ledger; any other
// process writes nothing until it can be read. A write by another process since
// the last one is a conflict: this process is then not the one that evicts.
package configmap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/evenkeel/evenkeel/ledger"
)

const (
	// Key holds the ledger, as package ledger encodes it.
	Key = "ledger.json.gz"
	// SetAsideKey holds unreadable content found under Key. Later such content
	// gets this key with a number appended, up to maxSetAside.
	SetAsideKey = "ledger.set-aside"

	// Keys for human readers.
	generationKey = "generation"
	writerKey     = "writer"
	writtenKey    = "written"
	inFlightKey   = "inFlight"

	// maxSetAsideBytes is how much of unreadable content is kept, maxSetAside
	// how many times. The largest ledger leaves room for both.
	maxSetAsideBytes = 100 << 10
	maxSetAside      = 3
	// attempts is how often a write is tried when something other than a ledger
	// writer changes the object.
	attempts = 4
)

// ErrTaken means that another process has written the ledger since this one
// read it.
var ErrTaken = errors.New("another process has written the ledger")

// ErrUnreadable means that the stored ledger cannot be read, and that this
// process does not hold its content.
var ErrUnreadable = errors.New("the stored ledger cannot be read")

// Config is what a Store depends on.
type Config struct {
	Client          kubernetes.Interface
	Namespace, Name string
	// Writer names this process in the stored ledger.
	Writer string
	// Leader is asked before each write; nil for a process that is the only
	// one.
	Leader Leader
	// Timeout bounds each call, WriteTimeout one that writes; 0 means Timeout.
	Timeout, WriteTimeout time.Duration
	Now                   func() time.Time
	// Report receives what could not be read, once each; may be nil.
	Report func(error)
}

// Leader knows whether this process leads.
type Leader interface {
	// Leads returns an error if this process must not write any more.
	Leads() error
}

// Store reads and writes the ConfigMap. It is safe for concurrent use.
type Store struct {
	config Config

	mu sync.Mutex
	// generation is that of the document that this process last loaded or
	// saved, newest that of the newest one it knows of.
	generation, newest int64
	// held says that this process has read or written the whole ledger, so that
	// it can restore a damaged one.
	held bool
	// reported is the resourceVersion of the content last reported.
	reported string
}

// New returns a Store.
func New(config Config) (*Store, error) {
	if config.Client == nil || config.Namespace == "" || config.Name == "" || config.Now == nil || config.Timeout <= 0 {
		return nil, errors.New("configmap: Client, Namespace, Name, Now and Timeout must be set")
	}
	config.WriteTimeout = cmp.Or(config.WriteTimeout, config.Timeout)
	return &Store{config: config}, nil
}

// Release makes this process one that does not hold the ledger: another may
// have written it in the meantime, in whatever format.
func (s *Store) Release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = false
}

// Generation returns that of the newest document read or written.
func (s *Store) Generation() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest
}

// Load reads the ledger for a process that will write it. Without a ConfigMap
// it returns an empty document. For unreadable content it does the same in a
// process that holds the ledger, and fails with ErrUnreadable in any other.
func (s *Store) Load(ctx context.Context) (ledger.Document, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	object, err := s.get(ctx)
	if err != nil {
		return ledger.Document{}, err
	}
	if object == nil {
		s.held = true
		return ledger.Document{}, nil
	}
	document, err := s.read(object)
	if s.held && err != nil {
		return ledger.Document{}, nil // reported by read; Save sets it aside
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
	defer s.mu.Unlock()
	document.Format, document.Writer, document.Written = ledger.Format, s.config.Writer, s.config.Now().UTC()
	for try := 1; ; try++ {
		err := s.write(ctx, document)
		if err == nil || try == attempts || !changedMeanwhile(err) {
			return err
		}
	}
}

// changedMeanwhile reports whether the object changed between reading and
// writing it.
func changedMeanwhile(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

func (s *Store) write(ctx context.Context, document ledger.Document) error {
	object, err := s.get(ctx)
	if err != nil {
		return err
	}
	create := object == nil
	if create {
		object = &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.config.Namespace, Name: s.config.Name}}
	} else if err := s.claim(object); err != nil {
		return err
	}
	document.Generation = s.generation + 1
	if err := fill(object, document); err != nil {
		return err
	}
	if err := s.put(ctx, object, create); err != nil {
		return err
	}
	s.knows(document.Generation)
	return nil
}

func (s *Store) knows(generation int64) {
	s.generation, s.held = generation, true
	s.newest = max(s.newest, generation)
}

// claim ensures that nobody else's content is overwritten.
func (s *Store) claim(object *v1.ConfigMap) error {
	found, err := s.read(object)
	switch {
	case err != nil && !s.held:
		return err
	case err != nil:
		setAside(object)
	case found.Generation <= s.generation:
	case found.Writer == s.config.Writer: // written, but the answer got lost
		s.generation = found.Generation
	default:
		return fmt.Errorf("%w: %q wrote generation %d, after %d", ErrTaken, found.Writer, found.Generation, s.generation)
	}
	return nil
}

func fill(object *v1.ConfigMap, document ledger.Document) error {
	packed, err := document.Encode()
	if err != nil {
		return fmt.Errorf("storing the ledger: %w", err)
	}
	if object.BinaryData == nil {
		object.BinaryData = map[string][]byte{}
	}
	if object.Data == nil {
		object.Data = map[string]string{}
	}
	delete(object.Data, Key) // a key is in one of the two only
	object.BinaryData[Key] = packed
	object.Data[generationKey] = strconv.FormatInt(document.Generation, 10)
	object.Data[writerKey] = document.Writer
	object.Data[writtenKey] = document.Written.Format(time.RFC3339)
	object.Data[inFlightKey] = strconv.Itoa(document.InFlight())
	return nil
}

// setAside moves unreadable content, as far as there is room, to a key that is
// not read. The oldest is worth most: it is somebody's, while later content
// probably has the same origin.
func setAside(object *v1.ConfigMap) {
	content, ok := object.BinaryData[Key]
	if !ok {
		content = []byte(object.Data[Key])
	}
	if object.BinaryData == nil {
		object.BinaryData = map[string][]byte{}
	}
	key := freeKey(object)
	delete(object.Data, key)
	object.BinaryData[key] = content[:min(len(content), maxSetAsideBytes)]
}

// freeKey returns the key for the next unreadable content: the first free one,
// or the last.
func freeKey(object *v1.ConfigMap) string {
	key := SetAsideKey
	for n := 2; n <= maxSetAside; n++ {
		_, asBytes := object.BinaryData[key]
		if _, asText := object.Data[key]; !asBytes && !asText {
			break
		}
		key = SetAsideKey + "." + strconv.Itoa(n)
	}
	return key
}

// read returns the ledger of an object, empty if it has none, and reports
// unreadable content.
func (s *Store) read(object *v1.ConfigMap) (ledger.Document, error) {
	packed, ok := object.BinaryData[Key]
	if _, foreign := object.Data[Key]; !ok && !foreign {
		return ledger.Document{}, nil
	}
	document, err := ledger.Decode(packed)
	if err != nil {
		err = s.unreadable(err)
		if s.config.Report != nil && s.reported != object.ResourceVersion {
			s.config.Report(err)
		}
		s.reported = object.ResourceVersion
		return ledger.Document{}, err
	}
	return document, nil
}

// unreadable explains what happens to content that cannot be read.
func (s *Store) unreadable(cause error) error {
	object := s.config.Namespace + "/" + s.config.Name
	if s.held {
		return fmt.Errorf("key %q of ConfigMap %q is not a ledger, the next write sets it aside under %q: %w",
			Key, object, SetAsideKey, cause)
	}
	return fmt.Errorf("%w: key %q of ConfigMap %q: %w; a process that starts or takes over evicts nothing until the key is "+
		"restored, or removed to start with an empty ledger", ErrUnreadable, Key, object, cause)
}

// get returns the object, nil if there is none.
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

func (s *Store) put(ctx context.Context, object *v1.ConfigMap, create bool) (err error) {
	if s.config.Leader != nil {
		if err := s.config.Leader.Leads(); err != nil {
			return err
		}
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
