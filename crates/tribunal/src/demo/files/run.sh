#!/bin/sh
# Runs every test beside it, and counts them as TAP does.
n=0
failed=0
for test in tests/*.sh; do
  [ "$test" = tests/run.sh ] && continue
  n=$((n + 1))
  if sh "$test"; then echo "ok $n - $test"; else echo "not ok $n - $test"; failed=1; fi
done
echo "1..$n"
exit $failed
