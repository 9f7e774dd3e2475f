#!/usr/bin/env bash
# Runs what computes beside tests that mostly wait: tools/beside.sh 'COMMAND' TESTS...
# The command takes the CPU time that the tests leave, and what it says follows what they say.
set -u
said=$(mktemp)
# shellcheck disable=SC2086 # it is words
nice $1 >"$said" 2>&1 </dev/null &
command=$!
trap 'kill "$command"; rm "$said"; exit 130' INT TERM
shift

"$@"
of_tests=$?
wait "$command"
of_command=$?
cat "$said"
rm "$said"
exit $((of_tests ? of_tests : of_command))
