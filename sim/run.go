package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"github.com/evenkeel/evenkeel/cluster"
	"github.com/evenkeel/evenkeel/sim/contest"
	"github.com/evenkeel/evenkeel/sim/kubescheduler"
)

// Run plays all variants, one after the other. Each begins with the same pods on the same
// nodes.
func Run(ctx context.Context, c Config) ([]Result, error) {
	if c.Steps == 0 && c.Fleet != nil {
		c.Steps = c.Fleet.Steps
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(klog.NewContext(ctx, logr.Discard())) // upstream's plugin would log every node in every step
	defer cancel()
	places, err := firstPlaces(ctx, &c)
	if err != nil {
		return nil, err
	}
	var results []Result
	for i := range c.Variants {
		result, err := play(ctx, &c, &c.Variants[i], places)
		if err != nil {
			return results, fmt.Errorf("playing %q: %w", c.Variants[i].Name, err)
		}
		results = append(results, result)
	}
	return results, nil
}

// firstPlaces lets kube-scheduler place all pods, without an extender.
func firstPlaces(ctx context.Context, c *Config) ([]string, error) {
	w, err := newWorld(ctx, c.Fleet, kubescheduler.Config{Seed: c.Seed}, c.Gap)
	if err != nil {
		return nil, err
	}
	if err := w.populate(); err != nil {
		return nil, err
	}
	return w.places(), nil
}

// player plays one variant.
type player struct {
	config   *Config
	variant  *Variant
	world    *world
	tally    *tally
	evenkeel *evenkeel
	upstream *upstream
	rival    *contest.Player
}

func play(ctx context.Context, c *Config, v *Variant, places []string) (Result, error) {
	p := &player{config: c, variant: v, tally: newTally()}
	if err := p.build(ctx, places); err != nil {
		return Result{}, err
	}
	for step := range c.Steps {
		if err := ctx.Err(); err != nil {
			return Result{}, err
		}
		if err := p.step(ctx, step); err != nil {
			return Result{}, fmt.Errorf("step %d: %w", step, err)
		}
		if c.Progress != nil {
			c.Progress(v.Name, step+1, c.Steps)
		}
	}
	return p.tally.result(c, v), nil
}

func (p *player) build(ctx context.Context, places []string) (err error) {
	scheduling := kubescheduler.Config{Seed: p.config.Seed, Weight: p.config.ExtenderWeight}
	if p.variant.Policy != nil {
		if p.evenkeel, err = newEvenkeel(ctx, p.variant.Policy, p.tally); err != nil {
			return err
		}
		p.evenkeel.nominates = p.variant.Admission
		if p.variant.Steers {
			scheduling.Extender = directExtender{p.evenkeel.answerer}
		}
	}
	if p.variant.Rival != "" {
		p.rival = contest.New(p.variant.Rival)
		if p.variant.Lines != (cluster.Percents{}) {
			p.rival.EvictAbove(p.variant.Lines)
		}
		p.rival.Schedule(&scheduling)
	}
	if p.world, err = newWorld(ctx, p.config.Fleet, scheduling, p.config.Gap); err != nil {
		return err
	}
	p.tally.world = p.world
	p.world.blind = blindness{p.config.Blind, p.config.Seed}
	p.world.maxUnavailable, p.world.usage.byShare = p.config.MaxUnavailablePercent, p.config.MeasureServed
	p.world.deploys = deploys(p.config.Fleet, p.config.DeploysPerDay, p.config.Steps, p.config.Seed)
	if err := p.world.adopt(places); err != nil {
		return err
	}
	if p.rival != nil {
		p.rival.Join(newArena(p.config.Seed, p.world, p.tally))
	}
	if p.evenkeel != nil {
		if p.variant.Marks {
			p.evenkeel.marks = newMarks(p.evenkeel, p.world.scheduler)
		}
		return p.evenkeel.join(p.world)
	}
	if p.variant.Upstream != nil {
		p.upstream, err = newUpstream(ctx, p.variant.Upstream, p.config.Seed, p.world, p.tally)
	}
	return err
}

func (p *player) step(ctx context.Context, step int) error {
	begins := p.world.start.Add(time.Duration(step) * Step)
	p.tally.step = step
	if err := p.cycle(ctx, step, begins); err != nil {
		return err
	}
	if err := p.world.until(begins.Add(Step - time.Nanosecond)); err != nil {
		return err
	}
	p.world.usage.end(p.world)
	return nil
}

// cycle lets the variant's evictor act on the measurements from before the step.
func (p *player) cycle(ctx context.Context, step int, begins time.Time) error {
	due := time.Duration(step)*Step%p.config.Every == 0 || p.rival != nil && p.rival.PacesItself()
	if p.evenkeel != nil && step > 0 {
		if err := p.evenkeel.observe(ctx, begins, p.config.Lag); err != nil { // at this time, demand is still the previous step's
			return err
		}
	}
	if err := p.world.proceed(step, begins.Add(p.config.Lag)); err != nil {
		return err
	}
	switch {
	case step == 0 || !due:
		return nil
	case p.evenkeel != nil && p.variant.Evicts:
		return p.evenkeel.cycle(ctx)
	case p.upstream != nil:
		return p.upstream.cycle(ctx, begins.Add(p.config.Lag))
	case p.rival != nil:
		return p.rival.Cycle(ctx, begins.Add(Step))
	case p.variant.Oracle && step%stepsPerHour == 0:
		o := oracle{world: p.world, tally: p.tally, steps: p.config.Steps}
		return o.arrange(step, begins.Add(p.config.Lag))
	}
	return nil
}
