#!/usr/bin/env python3
"""The library for C, asked by examples/simulate.c, says of the samples in examples/manifests what gangsched-simulate --output json says,
warnings and mistakes included.   usage: simulate_library.py SIMULATE"""
import json
import pathlib
import subprocess
import sys
import tempfile

from simulate_samples import MANIFESTS, check_documented


def both(program, *files, where=MANIFESTS):
    def run(*command):
        return subprocess.run(command, cwd=where, capture_output=True, text=True, timeout=60)

    return run(program, "--output", "json", *files), run(pathlib.Path(program).with_name("gangsched-simulate-c"), *files)


def check_reads_all_files(program):
    """However many there are and however long they are; and one that cannot be read is a mistake."""
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec: {containers: [{name: c, resources: {requests: {cpu: 1}}}]}\n"
    with tempfile.TemporaryDirectory() as folder:
        names = [f"{i}.yaml" for i in range(20)]
        for name in names:
            (pathlib.Path(folder) / name).write_text(pod % ("p" + name[:-5]), encoding="utf-8")
        (pathlib.Path(folder) / "long.yaml").write_text("# long\n" * (1 << 18) + pod % "last", encoding="utf-8")
        tool, library = both(program, *names, "long.yaml", where=folder)
        assert library.returncode == 0 and tool.stdout == library.stdout and "last" in library.stdout, library
        _, library = both(program, "0.yaml", "none.yaml", where=folder)
        assert library.returncode == 1 and library.stdout == "" and "none.yaml: cannot be read" in library.stderr, library


def main(program):
    if not pathlib.Path(program).with_name("gangsched-simulate-c").exists():
        print("there is no library for C in this build")
        return
    workloads = {path.name: path.with_name(path.name.replace("-workload", "-cluster")) for path in MANIFESTS.glob("*-workload.yaml")}
    samples = [(cluster.name, name) for name, cluster in sorted(workloads.items())]
    samples += [(path.name,) for path in sorted(MANIFESTS.glob("*.yaml"))
                if not path.name.endswith(("-workload.yaml", "-cluster.yaml")) and path.name not in ("shapes.yaml", "over-time.yaml")]
    assert len(samples) > 25, samples
    for sample in samples:
        tool, library = both(program, *sample)
        assert tool.returncode in (0, 1) and library.returncode == 0, (sample, tool.stderr, library.stderr)
        assert tool.stdout == library.stdout, sample
        assert tool.stderr.replace("warning: ", "") == library.stderr, (sample, tool.stderr, library.stderr)
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "a.yaml").write_text("kind: Pod\napiVersion: v1\nmetadata: {name: x}\nspec: {containers: 7}\n", encoding="utf-8")
        (pathlib.Path(folder) / "b.yaml").write_text("a: [\n", encoding="utf-8")
        tool, library = both(program, "a.yaml", "b.yaml", where=folder)
        assert tool.returncode == 2 and tool.stdout == "" and library.returncode == 1
        report = json.loads(library.stdout)
        check_documented([report])
        told = [": ".join(one[part] for part in ("object", "field", "reason") if part in one) for one in report["errors"]]
        assert tool.stderr.splitlines() == [f"error: {one}" for one in told] and len(told) == 2, (tool.stderr, told)
        assert library.stderr.splitlines() == told[:1], library.stderr
    check_reads_all_files(program)


main(sys.argv[1])
