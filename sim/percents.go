package sim

import "github.com/evenkeel/evenkeel/cluster"

func plus(a, b cluster.Percents) cluster.Percents {
	for k := range a {
		a[k] += b[k]
	}
	return a
}

func minus(a, b cluster.Percents) cluster.Percents {
	for k := range a {
		a[k] -= b[k]
	}
	return a
}

// over divides a load by a node's weight.
func over(load, weight cluster.Percents) cluster.Percents {
	for k := range load {
		load[k] /= weight[k]
	}
	return load
}
