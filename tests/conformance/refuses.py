#!/usr/bin/env python3
"""gangsched-conformance on files that it cannot run: exit 2 and a message that says where; a difference: exit 1.   usage: refuses.py PROGRAM"""
import json
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = sys.argv[1]


def run(*paths):
    done = subprocess.run([PROGRAM, *map(str, paths)], capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def main():
    problems = []
    case = json.loads((HERE / "data/fit.jsonl").read_text(encoding="utf-8").splitlines()[0])
    feasible = next(s for s in case["steps"] if s["op"] == "schedule" and s["expect"].get("bind"))
    feasible["expect"]["total"][0] += 1
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)

        def expect(name, content, code, part):
            path = folder / name
            if content is not None:
                path.write_text(content, encoding="utf-8")
            got, out, err = run(path)
            if got != code or part not in out + err:
                problems.append(f"{name}: exit {got}, expected {code} and \"{part}\":\n{out}{err}")

        expect("missing.jsonl", None, 2, "cannot be opened")
        expect("empty.jsonl", "", 2, "is empty")
        expect("broken.jsonl", "{\"a\": 1}\n{\"a\":\n", 2, "broken.jsonl:2")
        expect("unknown.jsonl", "{\"what\": \"ever\"}\n", 2, "no case of a kind")
        expect("no_steps.jsonl", json.dumps(case | {"steps": [{"op": "dance"}]}), 2, "unknown op")
        expect("differs.jsonl", json.dumps(case), 1, "1 differences")
        (folder / "none").mkdir()
        expect("none", None, 2, "no .jsonl files")
    if run()[0] != 2:
        problems.append("no path: has to be exit 2")
    print("\n".join(problems) or "refuses what it should")
    return 1 if problems else 0


sys.exit(main())
