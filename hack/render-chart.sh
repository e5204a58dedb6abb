#!/usr/bin/env bash
# Renders the Helm chart with each of its ci values into a folder. Run by `make update-chart`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=${1:?the folder to write to}
mkdir -p "$target"
rm -f "$target"/*.yaml
for values in charts/evenkeel/ci/*-values.yaml; do
  name=$(basename "$values" -values.yaml)
  kubernetes=1.36.0
  [[ $name == serve-webhook ]] && kubernetes=1.35.0
  bin/helm template evenkeel charts/evenkeel --namespace evenkeel --kube-version "$kubernetes" --values "$values" >"$target/$name.yaml"
done
