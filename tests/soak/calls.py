#!/usr/bin/env python3
"""Runs a few hundred sequences of the soak, and fails when one shows a fault, or when they leave out a public call of cluster, of its queues,
or of scheduler.

usage: calls.py ROOT PROGRAM     PROGRAM: gangsched-soak

Every public member function that the headers declare must have been made, under the name the soak notes it by:
"cluster::add_node", or, if there are overloads, "cluster::contains(pod_id)" with the type of the first parameter.
"""
import pathlib
import re
import subprocess
import sys

HEADERS = {"cluster": "model/cluster.hpp", "cluster_queues": "model/cluster_queues.hpp", "queue_questions": "model/cluster_queues.hpp",
           "scheduler": "scheduler.hpp"}
# Whose calls are noted as those of the class that has them from it.
BASES = {"cluster": ("cluster_questions", "model/cluster_questions.hpp")}
# Moves and construction, and what is the library's own.
NOT_CALLS = {f"{name}::{what}" for name in HEADERS for what in (f"{name}({name} &&)", "operator=", f"~{name}")} | {
    "cluster::cluster(const cluster_options &)", "scheduler::scheduler(std::unique_ptr<engine::core>)", "scheduler::inside"}


def public_part(text, name):
    body = re.search(r"^class GANGSCHED_API " + name + r"(?: : public \w+)? {\n(.*?)^};", text, re.MULTILINE | re.DOTALL)[1]
    body = re.split(r"\n (?:private|protected):", body)[0]
    body = re.sub(r"//[^\n]*", "", body)
    return re.sub(r"\s+", " ", body)


def first_type(parameters):
    """The type of the first parameter, without its name and default."""
    depth = 0
    for end, letter in enumerate(parameters):
        depth += {"<": 1, "(": 1, ">": -1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parameters = parameters[:end]
            break
    parameters = parameters.split("=")[0].strip()
    return re.sub(r"\s*([&*]+)\s*\w*$", r" \1", parameters) if re.search(r"[&*]", parameters) else parameters.rsplit(" ", 1)[0]


def parameter_types(parameters):
    depth, parts = 0, [""]
    for letter in parameters:
        depth += {"<": 1, "(": 1, "{": 1, ">": -1, ")": -1, "}": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [first_type(part) for part in parts if part.strip()]


def declared(header, name):
    """Maps each public member function of the class to the names that the soak may note it by."""
    parts = [(name, HEADERS[name])] + ([BASES[name]] if name in BASES else [])
    code = " ".join(public_part((header / path).read_text(encoding="utf-8"), part) for part, path in parts)
    functions = re.findall(r"([~\w]+|operator=)\s*\(((?:[^()]|\([^()]*\))*)\)\s*(?:const)?\s*(?:noexcept)?\s*[;{]", code)
    functions = [(call, parameter_types(parameters)) for call, parameters in functions]
    functions = [one for i, one in enumerate(functions) if one not in functions[:i] and not one[0].endswith("_")]  # const or not
    names = [call for call, _ in functions]
    for call, types in functions:
        if names.count(call) == 1:
            yield f"{name}::{call}"
            continue
        mates = [other for other_call, other in functions if other_call == call and other is not types]
        for count in range(1, len(types) + 1):
            if all(other[:count] != types[:count] for other in mates):
                break
        yield f"{name}::{call}({', '.join(types[:count])})"


def main(root, program):
    header = pathlib.Path(root) / "include" / "gangsched"
    wanted = [one for name in HEADERS for one in declared(header, name)]
    ran = subprocess.run([program, "1", "401", "150", "--calls"], capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        print(ran.stdout, ran.stderr, f"the soak ended with {ran.returncode}", sep="\n")
    made = dict(re.findall(r"^call (.*): (\d+)$", ran.stdout, re.MULTILINE))
    missing = [one for one in wanted if one not in made and one not in NOT_CALLS]
    stale = [one for one in made if one not in wanted]
    for one in missing:
        print(f"{one}: the soak does not call it")
    for one in stale:
        print(f"{one}: the soak notes it, the headers do not declare it")
    if len(wanted) < 80:
        print(f"only {len(wanted)} public calls were found in the headers")
    print(f"{len(wanted) - len(missing)} of {len(wanted)} public calls")
    return 1 if ran.returncode != 0 or missing or stale or len(wanted) < 80 else 0


if len(sys.argv) != 3:
    sys.exit(__doc__)
sys.exit(main(*sys.argv[1:]))
