#!/usr/bin/env bash
# Writes deploy/base/policy-configmap.yaml, the ConfigMap that holds an exact copy of policy.yaml. Run by `make update-deploy`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=deploy/base/policy-configmap.yaml
new=$(mktemp "$target.XXXXXX")
trap 'rm -f "$new"' EXIT

cat >"$new" <<'EOF'
# Made from policy.yaml by `make update-deploy`; edit that file.
apiVersion: v1
kind: ConfigMap
metadata:
  name: evenkeel-policy
  namespace: evenkeel
data:
  policy.yaml: |
EOF
sed 's/^./    &/' policy.yaml >>"$new"
chmod 644 "$new"
mv "$new" "$target"
