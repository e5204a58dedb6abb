// Package charttools pins the tools that check the Helm chart, helm and helm-unittest, in
// a separate module, so that Evenkeel's module does not depend on theirs.
package charttools
