#!/usr/bin/env bash
# What the action runs: reviews, annotates, writes SARIF, and ends as the review did. Only 0 is a pass.
set -uo pipefail
tribunal="${RUNNER_TEMP:-/tmp}/tribunal/bin/tribunal"
command -v "$tribunal" >/dev/null || tribunal=tribunal
read -r -a more <<<"${ARGS:-}"
code=0
"$tribunal" review --diff "${DIFF:-origin/${BASE:-main}...HEAD}" --yes --format github "${more[@]}" || code=$?
if [ -n "${SARIF:-}" ] && [ "$code" != 2 ] && [ "$code" != 3 ]; then
  "$tribunal" report --format sarif >"$SARIF" || code=3
fi
[ -z "${GITHUB_OUTPUT:-}" ] || echo "code=$code" >>"$GITHUB_OUTPUT"
exit "$code"
