#!/bin/sh
# A custom plugin of the node-problem-detector: collect before anything repairs. Exit status 0 means that all is
# well, 1 that there is a problem, 2 unknown. health-checker restarts a runtime that does not answer; give it a
# longer --cooldown-time than this takes, so that the bundle is there first.
dir=/var/log/plegdiag
stamp=$dir/.collected
mkdir -p "$dir" || exit 2

# Asks only the runtime. An answer that does not come is a row with "answered":false.
if ! plegdiag collect --only runtime --timeout 40s --min-free 0 -o - 2>/dev/null | tar xzO 2>/dev/null | grep -q '"answered":false'; then
	echo "the container runtime answers"
	exit 0
fi
# One bundle an hour is enough.
if [ -z "$(find "$stamp" -mmin -60 2>/dev/null)" ]; then
	touch "$stamp"
	cd "$dir" && plegdiag collect --timeout 100s >/dev/null 2>&1
fi
echo "the container runtime does not answer; bundles are in $dir"
exit 1
