package slim

import (
	"bytes"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// message lists the fields of a protobuf message that are pruned, by their numbers in the API's generated.proto.
// A field in neither list is kept as it is.
type message struct {
	drop   []protowire.Number
	within map[protowire.Number]*message
	// empty drops all fields.
	empty bool
}

// The fields of a pod that strip drops whatever their values are.
var (
	emptied   = &message{empty: true}
	ended     = &message{drop: []protowire.Number{4, 5, 7}} // message, startedAt, containerID
	waiting   = &message{drop: []protowire.Number{2}}       // message
	container = &message{
		// command, args, workingDir, env, volumeMounts, livenessProbe, readinessProbe, lifecycle, terminationMessagePath,
		// imagePullPolicy, envFrom, terminationMessagePolicy, startupProbe
		drop: []protowire.Number{3, 4, 5, 7, 9, 10, 11, 12, 13, 14, 19, 20, 22},
	}
	state           = &message{within: map[protowire.Number]*message{1: waiting, 3: ended}}
	containerStatus = &message{
		drop:   []protowire.Number{6, 7, 8, 12, 13}, // image, imageID, containerID, volumeMounts, user
		within: map[protowire.Number]*message{2: state, 3: state},
	}
	condition = &message{drop: []protowire.Number{3, 6, 7}} // lastProbeTime, message, observedGeneration
	// A volume of these kinds is only recognized by its kind: secret, downwardAPI, configMap, projected.
	volumeSource = &message{within: map[protowire.Number]*message{6: emptied, 16: emptied, 19: emptied, 26: emptied}}
	volume       = &message{within: map[protowire.Number]*message{2: volumeSource}}
	podMessage   = &message{within: map[protowire.Number]*message{
		1: {drop: []protowire.Number{2, 4, 17}}, // generateName, selfLink, managedFields
		2: {
			// serviceAccount, imagePullSecrets, subdomain, automountServiceAccountToken, hostAliases, dnsConfig,
			// shareProcessNamespace, enableServiceLinks, setHostnameAsFQDN
			drop:   []protowire.Number{9, 15, 17, 21, 23, 26, 27, 30, 35},
			within: map[protowire.Number]*message{1: volume, 2: container, 20: container},
		},
		3: {
			drop:   []protowire.Number{3, 5, 6, 12, 16}, // message, hostIP, podIP, podIPs, hostIPs
			within: map[protowire.Number]*message{2: condition, 8: containerStatus, 10: containerStatus, 13: containerStatus},
		},
	}}
	podListMessage = &message{within: map[protowire.Number]*message{2: podMessage}}
)

// prefix marks objects that the API server encodes as protobuf.
var prefix = []byte("k8s\x00")

// The fields of the envelope runtime.Unknown, and of its TypeMeta.
const (
	envelopeType, envelopeRaw, envelopeEncoding = 1, 2, 3
	typeVersion, typeKind                       = 1, 2
)

// Prune returns a pod or a list of pods, as the API server encodes them in protobuf, without
// the fields that Transform drops from every pod. Decoding them would take most of the time
// and memory that a pod costs. Anything else is returned unchanged.
func Prune(data []byte) []byte {
	if !bytes.HasPrefix(data, prefix) {
		return data
	}
	var of *message
	var raw []byte
	var from, to int // of raw
	for at := len(prefix); at < len(data); {
		number, kind, tagged := protowire.ConsumeTag(data[at:])
		if tagged < 0 {
			return data
		}
		length := protowire.ConsumeFieldValue(number, kind, data[at+tagged:])
		if length < 0 {
			return data
		}
		if kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(data[at+tagged:])
			switch {
			case number == envelopeType:
				of = messageOf(value)
			case number == envelopeRaw:
				raw, from, to = value, at+tagged, at+tagged+length
			case number == envelopeEncoding && len(value) > 0:
				return data // compressed
			}
		}
		at += tagged + length
	}
	if of == nil || raw == nil {
		return data
	}
	out, ok := of.prune(append(make([]byte, 0, len(data)/2), data[:from]...), raw)
	if !ok {
		return data
	}
	return append(out, data[to:]...)
}

// messageOf returns what to prune of an object of a type; nil for nothing.
func messageOf(typeMeta []byte) *message {
	var version, kind string
	for len(typeMeta) > 0 {
		number, wire, tagged := protowire.ConsumeTag(typeMeta)
		if tagged < 0 || wire != protowire.BytesType {
			return nil
		}
		value, length := protowire.ConsumeBytes(typeMeta[tagged:])
		if length < 0 {
			return nil
		}
		if number == typeVersion {
			version = string(value)
		}
		if number == typeKind {
			kind = string(value)
		}
		typeMeta = typeMeta[tagged+length:]
	}
	switch {
	case version == "v1" && kind == "Pod":
		return podMessage
	case version == "v1" && kind == "PodList":
		return podListMessage
	}
	return nil
}

// lengthBytes is the size of the lengths that prune writes. A varint may be longer than
// necessary, so the length can be filled in after the value.
const lengthBytes = 5

// prune appends a message, preceded by its length, without the fields to be dropped. It
// reports whether the message can be read.
func (m *message) prune(out, in []byte) (pruned []byte, ok bool) {
	at := len(out)
	out = append(out, make([]byte, lengthBytes)...)
	for len(in) > 0 {
		number, kind, tagged := protowire.ConsumeTag(in)
		if tagged < 0 {
			return out, false
		}
		length := protowire.ConsumeFieldValue(number, kind, in[tagged:])
		if length < 0 {
			return out, false
		}
		within := m.within[number]
		switch {
		case m.drops(number):
		case within != nil && kind == protowire.BytesType:
			value, _ := protowire.ConsumeBytes(in[tagged:])
			if out, ok = within.prune(append(out, in[:tagged]...), value); !ok {
				return out, false
			}
		default:
			out = append(out, in[:tagged+length]...)
		}
		in = in[tagged+length:]
	}
	length := len(out) - at - lengthBytes
	for i := range lengthBytes {
		out[at+i] = byte(length>>(7*i))&0x7f | 0x80
	}
	out[at+lengthBytes-1] &= 0x7f
	return out, true
}

func (m *message) drops(number protowire.Number) bool {
	return m.empty || slices.Contains(m.drop, number)
}
