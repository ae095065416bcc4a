#!/usr/bin/env bash
# Fails where a program has become slower from one commit to another.
#
#     gate.sh BASE HEAD [PERCENT]
#
# BASE and HEAD are commits of the repository that the script is called in. Both versions of
# the program are built and run in turns, so that what slows the machine down slows both,
# and their recordings are compared: the exit code is 1 where an operation is slower by more
# than PERCENT (5), and that is no chance. RUNS (8) is how often each of them runs: eight
# decide up to 160 operations. COMPARISON names a file that gets the result as Markdown.
set -euo pipefail
base=$1 head=$2 percent=${3:-5}
runs=${RUNS:-8}

repository=$(git rev-parse --show-toplevel)
work=$(mktemp -d)
trap 'cd "$repository" && rm -rf "$work" && git worktree prune' EXIT
for side in base head; do
  git worktree add --quiet --detach "$work/$side" "${!side}"
  # What is built, and how it is run and records into a directory, is all that differs from
  # one project to another.
  go build -C "$work/$side/examples" -trimpath -o "$work/program-$side" ./quickstart
done
go build -C "$work/head" -trimpath -o "$work/optrace" ./cmd/optrace

for run in $(seq "$runs"); do
  for side in base head; do
    "$work/program-$side" -steps "${STEPS:-30}" -o "$work/$side-$run" > /dev/null
  done
done

cd "$work"
./optrace diff -fail-above "$percent" base-*/ops.jsonl -- head-*/ops.jsonl && status=0 || status=$?
if [ -n "${COMPARISON:-}" ]; then
  ./optrace diff -markdown base-*/ops.jsonl -- head-*/ops.jsonl >> "$COMPARISON"
fi
exit $status
