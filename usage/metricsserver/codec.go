package metricsserver

import (
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// withCodec completes a config for raw requests; the codec is only used for the
// API server's error answers.
func withCodec(config *rest.Config) *rest.Config {
	config.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return config
}
