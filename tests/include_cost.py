#!/usr/bin/env python3
"""Measures what a consumer pays for the library's headers: the memory that gcc takes at -O0, as times what a few headers of the standard
library take, and the lines of ours that it reads. Fails above the limits. Both are the same in every run; seconds are not, so they are
only shown (they are in proportion to the memory).

usage: include_cost.py GCC FLAG...
"""
import os
import re
import subprocess
import sys
import tempfile

# Header, times the memory for the standard headers below, lines.
LIMITS = [("gangsched/gangsched.hpp", 2.05, 4000), ("gangsched/plugins/node_name.hpp", 1.95, 6470)]
STANDARD = ("chrono", "functional", "map", "memory", "optional", "span", "string", "variant", "vector")
UNITS = {"": 1, "k": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def cost(command):
    """Bytes that gcc allocated and its seconds."""
    before = os.times()
    subprocess.run(command, check=True)
    after = os.times()
    report = subprocess.run([*command, "-ftime-report"], capture_output=True, text=True, check=True).stderr
    amount, unit = re.search(r"^ *TOTAL .*?(\d+)([kMG]?) *$", report, re.MULTILINE).groups()
    return int(amount) * UNITS[unit], after.children_user - before.children_user + after.children_system - before.children_system


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
            return [compiler, *flags, *mode, source]

        compiled = ("-O0", "-c", "-o", os.path.join(folder, "one.o"))
        standard_bytes, standard_seconds = cost(command("standard", STANDARD, *compiled))
        for header, most_times, most_lines in LIMITS:
            taken, seconds = cost(command("own", [header], *compiled))
            lines = lines_of_ours(command("own", [header], "-E"))
            times = taken / standard_bytes
            print(f"{header}: {taken >> 20} MB of gcc's memory, {times:.2f} times the standard headers', "
                  f"{'at most' if times <= most_times else 'MORE THAN'} {most_times}; {seconds:.2f} s where those take {standard_seconds:.2f}")
            print(f"{header}: {lines} lines of {'at most' if lines <= most_lines else 'MORE THAN'} {most_lines}")
            failed |= times > most_times or lines > most_lines
    return 1 if failed else 0


sys.exit(main(*sys.argv[1:]))
