#!/usr/bin/env python3
"""What shared libraries export: the documented interface and nothing else.

usage: symbols.py NM ROOT LIBRARY...     libraries are told apart by their names

- libgangsched-c exports the functions that the headers in include/gangsched/c/ declare, each of them and no other name.
- libgangsched-kube exports names in gangsched::kube only, libgangsched-report in gangsched::report, libgangsched-record in gangsched::record, libgangsched names in gangsched:: only: no template of the standard library, nothing of
  the engine, and of the tables behind a cluster only those that views ask in line (TABLES).
"""
import pathlib
import re
import subprocess
import sys

TABLES = ["model::node_record::", "model::resource_kinds::"]


def exported(nm, library):
    """Mangled names."""
    run = subprocess.run([nm, "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    return {line.split()[-1].split("@")[0] for line in run.stdout.splitlines()}


def own_name(mangled):
    """What comes behind gangsched::VERSION:: in the name that it is about, "model::node_record::label", or None for what is not there at all."""
    match = re.match(r"_Z(?:TV|TI|TS|TT|GV)?N[KOR]*9gangsched(\d+)(?=v\d)", mangled)
    if not match:
        return None
    rest, made = mangled[match.end() + int(match[1]):], ""
    while part := re.match(r"(\d+)", rest):
        length = int(part[1])
        made += rest[len(part[1]):][:length] + "::"
        rest = rest[len(part[1]) + length:]
    return made


def check_c(found, root):
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted((root / "include/gangsched/c").glob("*.h")))
    declared = set(re.findall(r"\b(gangsched_\w+)\s*\((?=[^;]*\)\s*GANGSCHED_NOEXCEPT;)", text))
    yield from (f"is declared and not exported: {name}" for name in sorted(declared - found))
    yield from (f"is exported and not declared: {name}" for name in sorted(found - declared))


def check_cpp(found, allowed):
    for mangled in sorted(found):
        name = own_name(mangled)
        if name is None or not allowed(name):
            yield f"is no part of the interface: {mangled}"


def main(nm, root, *libraries):
    problems = 0
    for library in libraries:
        name = pathlib.PurePath(library).name
        found = exported(nm, library)
        if name.startswith("libgangsched-c."):
            wrong = check_c(found, pathlib.Path(root))
        elif name.startswith("libgangsched-kube."):
            wrong = check_cpp(found, lambda one: one.startswith("kube::"))
        elif name.startswith("libgangsched-report."):
            wrong = check_cpp(found, lambda one: one.startswith("report::"))
        elif name.startswith("libgangsched-record."):
            wrong = check_cpp(found, lambda one: one.startswith("record::"))
        else:
            wrong = check_cpp(found, lambda one: not one.startswith(("engine::", "kube::", "model::")) or one.startswith(tuple(TABLES)))
        for one in wrong:
            problems += 1
            print(f"{name}: {one}")
        print(f"{name}: {len(found)} names")
    return 1 if problems else 0


sys.exit(main(*sys.argv[1:]))
