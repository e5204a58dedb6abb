package usage

import (
	"errors"
	"slices"
)

// Retune goes on by another Config with the samples there are. What is sampled,
// and how often, must be the same.
func (s *Store) Retune(config Config) error {
	other, err := NewStore(config, s.epoch)
	if err != nil {
		return err
	}
	same := config.SampleInterval == s.config.SampleInterval && slices.Equal(other.windows, s.windows) && slices.Equal(other.metrics, s.metrics)
	if !same {
		return errors.New("usage store: other windows, signals or another interval need other samples")
	}
	s.config = config
	return nil
}
