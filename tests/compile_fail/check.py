#!/usr/bin/env python3
"""Compiles a program that must not compile and reads the compiler's first error.

usage: check.py CASE.cpp COMPILER FLAG...

The first line of CASE.cpp is `// expect: REGEX`: compilation must fail and its first error line must match, so that what a user
of the library reads first is the sentence written for the mistake. `// expect: success` is a control: it must compile.
"""
import os
import re
import subprocess
import sys


def main(case, compiler, *flags):
    with open(case, encoding="utf-8") as text:
        first = text.readline()
    if not first.startswith("// expect: "):
        return f"{case}: the first line must be `// expect: ...`"
    expected = first.removeprefix("// expect: ").strip()

    run = subprocess.run([compiler, *flags, "-fsyntax-only", "-fdiagnostics-color=never", case],
                         env=os.environ | {"LC_ALL": "C"}, capture_output=True, text=True)
    if expected == "success":
        return None if run.returncode == 0 else f"{case}: must compile, but:\n{run.stderr}"
    if run.returncode == 0:
        return f"{case}: compiles, but must fail with: {expected}"
    error = next((line for line in run.stderr.splitlines() if "error:" in line), "")
    print(error)
    return None if re.search(expected, error) else f"{case}: the first error must say: {expected}\n{run.stderr}"


sys.exit(main(*sys.argv[1:]))
