#!/usr/bin/env python3
"""Measures what a consumer pays for `#include "gangsched/gangsched.hpp"`: gcc's processor time at -O0. Fails above the limit.

usage: include_cost.py COMPILER FLAG...
"""
import os
import subprocess
import sys
import tempfile

LIMIT = 1.5  # seconds
RUNS = 10    # at most; ends as soon as three runs are done and one is within the limit


def cost(command):
    before = os.times()
    if subprocess.run(command).returncode != 0:
        sys.exit(1)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def main(compiler, *flags):
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "one_include.cpp")
        with open(source, "w", encoding="utf-8") as text:
            text.write('#include "gangsched/gangsched.hpp"\nint main() {}\n')
        command = [compiler, *flags, "-O0", "-c", source, "-o", os.path.join(folder, "one_include.o")]
        costs = []
        while len(costs) < RUNS and (len(costs) < 3 or min(costs) > LIMIT):
            costs.append(cost(command))
    verdict = "within" if min(costs) <= LIMIT else "ABOVE"
    print(f"gangsched.hpp: {min(costs):.2f} s at -O0, the least of {len(costs)} runs; {verdict} the limit of {LIMIT} s")
    return 0 if min(costs) <= LIMIT else 1


sys.exit(main(*sys.argv[1:]))
