#!/usr/bin/env bash
# Writes the ConfigMaps that hold copies of policy.yaml. Run by `make update-deploy`. The one in deploy/base is an exact copy. In the
# one for steering by the API server, a patch, nodesync's taints are enabled.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# write TARGET: writes a ConfigMap with the policy that it reads from standard input.
write() {
  local new
  new=$(mktemp "$1.XXXXXX")
  {
    cat <<'EOF'
# Made from policy.yaml by `make update-deploy`; edit that file.
apiVersion: v1
kind: ConfigMap
metadata:
  name: evenkeel-policy
  namespace: evenkeel
data:
  policy.yaml: |
EOF
    sed 's/^./    &/'
  } >"$new" || { rm -f "$new"; return 1; }
  chmod 644 "$new"
  mv "$new" "$1"
}

write deploy/base/policy-configmap.yaml <policy.yaml
sed -E '/^  (taint|rejectTaint):$/,/enabled:/s/enabled: false/enabled: true/' policy.yaml |
  write deploy/components/admission-steering-base/policy-configmap.yaml
