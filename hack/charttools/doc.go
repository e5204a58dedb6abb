// Package charttools pins the tools that check the Helm chart, helm and
// helm-unittest, in a module of its own, so that what they depend on stays out
// of Evenkeel's.
package charttools
