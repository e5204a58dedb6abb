#!/usr/bin/env bash
# Writes test/cluster/versions: of each release of Kubernetes the modules that its control plane is built of, at the versions that
# Kubernetes itself requires. Run by `make update-releases`. To add a release or change its patch: hack/update-releases.sh v1.38.0
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../test/cluster"

# required FILE MODULE: the version that a module file requires.
required() { awk -v module="$2" '{sub(/^require /, "")} $1 == module && $2 ~ /^v/ {print $2; exit}' "$1"; }

# write KUBERNETES. Only what the control plane imports is to be required, so it is tidied alone.
write() (
  release=${1#v} release=${release%.*} work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  go mod download "k8s.io/kubernetes@$1"
  theirs=$(go env GOMODCACHE)/cache/download/k8s.io/kubernetes/@v/$1.mod
  cp -r controlplane "$work"
  {
    grep '^module ' go.mod
    grep '^go ' go.mod
    grep '^godebug ' "$theirs"
    echo 'require ('
    echo "go.etcd.io/etcd/server/v3 $(required "$theirs" go.etcd.io/etcd/server/v3)"
    echo "k8s.io/kubernetes $1"
    echo ')'
    echo 'replace ('
    awk -v version="v0${1#v1}" '$1 ~ /^k8s\.io\// && $2 == "v0.0.0" {print "\t" $1 " => " $1 " " version}' "$theirs"
    echo ')'
  } >"$work/go.mod"
  (cd "$work" && go mod tidy && go mod edit -fmt)
  cp "$work/go.mod" "versions/$release.mod"
  cp "$work/go.sum" "versions/$release.sum"
)

if (($# == 0)); then
  for file in versions/*.mod; do set -- "$@" "$(required "$file" k8s.io/kubernetes)"; done
fi
for version; do write "$version"; done
