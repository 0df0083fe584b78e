#!/usr/bin/env python3
"""Compiles programs that must not compile and reads the compiler's first error.

usage: check.py FOLDER|CASE.cpp COMPILER FLAG...

The first line of a case is `// expect: REGEX`: compilation must fail and its first error line must match, so that what a user of the library
reads first is the sentence written for the mistake. `// expect: success` is a control: it must compile.

Cases that include the same are compiled together first, each in a namespace of its own: what they include is compiled once. Whose first error
is not the expected one there, or who has none, is compiled alone, and that counts.
"""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

INCLUDE = re.compile(r"^#include [^\n]*$", re.MULTILINE)


class Case:
    def __init__(self, path):
        self.path, self.text = path, path.read_text(encoding="utf-8")
        first, self.expected = re.fullmatch(r"(// expect: )?(.*)", self.text.split("\n", 1)[0]).groups()
        if not first:
            sys.exit(f"{path}: the first line must be `// expect: ...`")
        self.includes = tuple(sorted(INCLUDE.findall(self.text)))


def compiled(command, source):
    run = subprocess.run([*command, "-fsyntax-only", "-fdiagnostics-color=never", str(source)], env=os.environ | {"LC_ALL": "C"},
                         capture_output=True, text=True)
    return run.returncode, run.stderr


def alone(case, command):
    """What is wrong with a case, or None."""
    code, told = compiled(command, case.path)
    if case.expected == "success":
        return None if code == 0 else f"{case.path}: must compile, but:\n{told}"
    if code == 0:
        return f"{case.path}: compiles, but must fail with: {case.expected}"
    error = next((line for line in told.splitlines() if "error:" in line), "")
    return None if re.search(case.expected, error) else f"{case.path}: the first error must say: {case.expected}\n{told}"


def first_errors(told, cases):
    """The first error line of each case: the one below, or with, the first line that names the case's file."""
    found, current = {}, None
    for line in told.splitlines():
        current = next((case for case in cases if str(case.path) in line), current)
        if "error:" in line and current is not None:
            found.setdefault(current, line)
    return found


def together(cases, command):
    """Those of the cases that do not fail as they should when all are compiled as one."""
    if len(cases) == 1:
        return cases
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "cases.cpp"
        # What is precompiled has to come first: a profile's header.
        lines = sorted(cases[0].includes, key=lambda line: ("/profile.hpp" not in line, line))
        for number, case in enumerate(cases):
            lines += [f"namespace case_{number} {{", f'#line 1 "{case.path}"', INCLUDE.sub("", case.text), "}"]
        source.write_text("\n".join(lines), encoding="utf-8")
        found = first_errors(compiled(command, source)[1], cases)
    return [case for case in cases if case not in found or not re.search(case.expected, found[case])]


def main(where, *command):
    where = pathlib.Path(where)
    cases = [Case(path) for path in (sorted(where.glob("*.cpp")) if where.is_dir() else [where])]
    groups = {}
    for case in cases:
        groups.setdefault(case.includes if case.expected != "success" else case.path, []).append(case)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        left = [case for some in pool.map(lambda group: together(group, command), groups.values()) for case in some]
        problems = [problem for problem in pool.map(lambda case: alone(case, command), left) if problem]
    for problem in problems:
        print(problem)
    print(f"{len(cases)} cases, {len(left)} of them compiled alone, {len(problems)} problems")
    return 1 if problems or not cases else 0


sys.exit(main(*sys.argv[1:]))
