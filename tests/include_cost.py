#!/usr/bin/env python3
"""Measures what a consumer pays for the library's headers: gcc's processor time at -O0, and the lines of ours that it reads. Fails above
the limits: of seconds, or on a slow machine of times what a few headers of the standard library cost there.

usage: include_cost.py COMPILER FLAG...
"""
import os
import re
import subprocess
import sys
import tempfile

# Header, seconds, times the standard headers below, lines.
LIMITS = [("gangsched/gangsched.hpp", 0.95, 2.1, 3950), ("gangsched/plugins/node_name.hpp", 0.9, 2.0, 6250)]
STANDARD = ("chrono", "functional", "map", "memory", "optional", "span", "string", "variant", "vector")
RUNS = 20  # at most; ends as soon as three runs are done and one is within the limit


def cost(command):
    before = os.times()
    if subprocess.run(command).returncode != 0:
        sys.exit(1)
    after = os.times()
    return after.children_user - before.children_user + after.children_system - before.children_system


def lines_of_ours(command):
    """The lines of all files of the library that the preprocessor reads."""
    read = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    files = {os.path.realpath(one) for one in re.findall(r'^# \d+ "([^"]*/gangsched/[^"]*)"', read, re.MULTILINE)}
    total = 0
    for one in files:
        with open(one, encoding="utf-8") as text:
            total += sum(1 for _ in text)
    return total


def main(compiler, *flags):
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        def command(name, headers, *mode):
            source = os.path.join(folder, name + ".cpp")
            with open(source, "w", encoding="utf-8") as text:
                text.write("".join(f"#include <{one}>\n" for one in headers) + "int main() {}\n")
            return [compiler, *flags, *(mode or ("-O0", "-c", "-o", os.path.join(folder, name + ".o"))), source]

        usual = command("usual", STANDARD)
        others = []
        for header, seconds, times, most_lines in LIMITS:
            own = command("own", [header])
            costs = []
            limit = seconds
            while len(costs) < RUNS and (len(costs) < 3 or min(costs) > limit):
                costs.append(cost(own))
                others.append(cost(usual))
                limit = max(seconds, times * min(others))
            lines = lines_of_ours(command("own", [header], "-E"))
            verdict = "within" if min(costs) <= limit else "ABOVE"
            print(f"{header}: {min(costs):.2f} s at -O0, the least of {len(costs)} runs, {min(costs) / min(others):.2f} times the standard "
                  f"headers; {verdict} the limit of {limit:.2f} s")
            print(f"{header}: {lines} lines of {'at most' if lines <= most_lines else 'MORE THAN'} {most_lines}")
            failed |= min(costs) > limit or lines > most_lines
    return 1 if failed else 0


sys.exit(main(*sys.argv[1:]))
