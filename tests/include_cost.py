#!/usr/bin/env python3
"""Measures what a consumer pays for `#include "gangsched/gangsched.hpp"`: gcc's processor time at -O0. Fails above the limit: of
seconds, or on a slow machine of times what a few headers of the standard library cost there.

usage: include_cost.py COMPILER FLAG...
"""
import os
import subprocess
import sys
import tempfile

LIMIT = 1.5  # seconds
TIMES = 4.2  # the standard headers below; inventories and claims of devices are a third of it
STANDARD = ("chrono", "functional", "map", "memory", "optional", "span", "string", "variant", "vector")
RUNS = 10    # at most; ends as soon as three runs are done and one is within the limit


def cost(command):
    before = os.times()
    if subprocess.run(command).returncode != 0:
        sys.exit(1)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def main(compiler, *flags):
    with tempfile.TemporaryDirectory() as folder:
        def command(name, headers):
            source = os.path.join(folder, name + ".cpp")
            with open(source, "w", encoding="utf-8") as text:
                text.write("".join(f"#include <{one}>\n" for one in headers) + "int main() {}\n")
            return [compiler, *flags, "-O0", "-c", source, "-o", os.path.join(folder, name + ".o")]

        own, usual = command("own", ["gangsched/gangsched.hpp"]), command("usual", STANDARD)
        costs, others = [], []
        limit = LIMIT
        while len(costs) < RUNS and (len(costs) < 3 or min(costs) > limit):
            costs.append(cost(own))
            others.append(cost(usual))
            limit = max(LIMIT, TIMES * min(others))
    verdict = "within" if min(costs) <= limit else "ABOVE"
    print(f"gangsched.hpp: {min(costs):.2f} s at -O0, the least of {len(costs)} runs; {verdict} the limit of {limit:.2f} s")
    return 0 if min(costs) <= limit else 1


sys.exit(main(*sys.argv[1:]))
