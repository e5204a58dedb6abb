package usage

import (
	"errors"
	"slices"
)

// Retune applies another Config and keeps the samples. The sampled metrics and the sample
// interval must stay the same.
func (s *Store) Retune(config Config) error {
	other, err := NewStore(config, s.epoch)
	if err != nil {
		return err
	}
	same := config.SampleInterval == s.config.SampleInterval && slices.Equal(other.windows, s.windows) && slices.Equal(other.metrics, s.metrics)
	if !same {
		return errors.New("retuning the usage store: windows, signals and sample interval must not change")
	}
	if config.Recurs.Period > 0 && config.Recurs != s.recurs { // if patterns are only turned off, they are kept until needed again
		s.owners.forgetPatterns()
		s.recurs = config.Recurs
	}
	s.config = config
	return nil
}
