#!/usr/bin/env python3
"""What gangsched-simulate writes as a log gangsched-replay-log shows, replays and compares.   usage: replay-log_samples.py REPLAY_LOG"""
import pathlib
import subprocess
import sys
import tempfile

MANIFESTS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "manifests"


def run(code, program, *args):
    done = subprocess.run([program, *map(str, args)], cwd=MANIFESTS, capture_output=True, text=True, timeout=120)
    assert done.returncode == code, (args, done.returncode, done.stdout, done.stderr)
    return done.stderr if code == 2 else done.stdout


def main(program):
    simulate = pathlib.Path(program).with_name("gangsched-simulate")
    with tempfile.TemporaryDirectory() as folder:
        at = pathlib.Path(folder)
        for sample, code in {"gang": 1, "preemption": 1, "jobs": 0}.items():
            files = (f"{sample}-cluster.yaml", f"{sample}-workload.yaml")
            table = run(code, simulate, *files)
            assert run(code, simulate, *files, "--log", at / sample) == table, "a recording changes what is decided"
            said = run(0, program, at / sample)
            assert said.startswith("the same: "), said
            calls = int(said.split()[2])
            shown = run(0, program, at / sample, "--show").splitlines()
            assert shown[0] == "by gangsched 0.1.0", shown[0]
            assert sum(line[:6].strip().isdigit() for line in shown[1:]) == calls + 1, "each call, and the digest"
            assert any(line.startswith("        => bind pod ") for line in shown), shown
            other = run(1, simulate, *files, "--log", at / "other", "--seed", "7") if code else run(0, simulate, *files, "--log", at / "other", "--seed", "7")
            assert other
            parted = run(1, program, at / sample, at / "other")
            assert "make_scheduler default-scheduler {seed: 7" in parted, parted
            assert run(0, program, at / sample, at / sample) == f"the same: {calls} calls\n"
            assert run(0, program, at / sample, "--to", "3").startswith("the same: 3 calls")
            assert "profile default-scheduler: plugins[" in run(2, program, at / sample, "--profile", "with-queues")
            log = (at / sample).read_bytes()
            (at / "cut").write_bytes(log[:-3])
            assert "the log ends in the middle of a record" in run(0, program, at / "cut")
            (at / "damaged").write_bytes(log[:200] + bytes([log[200] ^ 1]) + log[201:])
            assert "is damaged" in run(2, program, at / "damaged")
        (at / "none").write_text("kind: Pod\n", encoding="utf-8")
        assert "is no decision log" in run(2, program, at / "none")
        assert "cannot be read" in run(2, program, at / "missing")
        run(2, program)
        run(2, program, at / "cut", "--profile", "mine")


main(*sys.argv[1:])
