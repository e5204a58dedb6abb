package configmap

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/evenkeel/evenkeel/ledger"
)

const (
	// Key holds the ledger as encoded by package ledger.
	Key = "ledger.json.gz"
	// AcceptAnnotation on the ConfigMap accepts the loss of its ledger, so that
	// evicting continues without it. Its value is the digest of the content, so it
	// never accepts the loss of other content.
	AcceptAnnotation = "evenkeel.io/ledger-loss-accepted"

	// Keys for human readers, which also describe a ledger that cannot be read.
	generationKey = "generation"
	writerKey     = "writer"
	writtenKey    = "written"
	inFlightKey   = "inFlight"
	// scaledUpKey was written by versions that scaled Deployments up for a move.
	scaledUpKey = "scaledUp"

	// maxStated bounds the generation that is accepted from an object, so that
	// generations never overflow.
	maxStated = 1 << 53
)

// fill stores a ledger in an object.
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
	delete(object.Data, Key) // a key must not be in both
	object.BinaryData[Key] = packed
	object.Data[generationKey] = strconv.FormatInt(document.Generation, 10)
	object.Data[writerKey] = document.Writer
	object.Data[writtenKey] = document.Written.Format(time.RFC3339)
	object.Data[inFlightKey] = strconv.Itoa(document.InFlight())
	delete(object.Data, scaledUpKey)
	return nil
}

// content returns the value of the ledger's key, and whether there is one.
func content(object *v1.ConfigMap) ([]byte, bool) {
	if packed, ok := object.BinaryData[Key]; ok {
		return packed, true
	}
	text, ok := object.Data[Key]
	return []byte(text), ok
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8])
}

// stated returns the generation that is stored next to the ledger for human readers; 0 if
// there is none.
func stated(object *v1.ConfigMap) int64 {
	generation, err := strconv.ParseInt(object.Data[generationKey], 10, 64)
	if err != nil || generation < 0 || generation > maxStated {
		return 0
	}
	return generation
}
