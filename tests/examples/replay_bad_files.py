#!/usr/bin/env python3
"""gangsched-replay names file, line, column and reason of what is wrong in a file, and exits with 2.   usage: replay_bad_files.py REPLAY"""
import pathlib
import subprocess
import sys
import tempfile

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn1,64000,262144,2,P100\nn2,32000,131072,0,\n"
POD_HEADER = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n"
POD = "p1,4000,1024,1,500,P100|T4,LS,Running,10,20,11\n"
GANGS = "job,vc,arrival_s,workers,duration_s,model\nj1,a,0,2,60,\"LM, large\"\n"

# (file that is bad, its content, what the message says after the file's name)
CASES = [
    ("nodes", "", ':1:1: the file is empty; a header with the names of the columns should be here'),
    ("pods", "", ':1:1: the file is empty; a header with the names of the columns should be here'),
    ("gangs", "", ':1:1: the file is empty; a header with the names of the columns should be here'),
    ("nodes", "sn,cpu_milli,memory_mib,gpu,model\n", ":1:34: nothing comes after the header"),
    # missing column
    ("nodes", "sn,cpu_milli,gpu,model\nn1,1,1,\n",
     ':1:23: column "memory_mib" is missing; there are: sn, cpu_milli, gpu, model'),
    ("pods", "name,cpu_milli,memory_mib,num_gpu\np1,1,1,0\n",
     ':1:34: column "gpu_milli" is missing; there are: name, cpu_milli, memory_mib, num_gpu'),
    ("gangs", "job,arrival_s,duration_s\nj,0,1\n", ':1:25: column "workers" is missing; there are: job, arrival_s, duration_s'),
    ("gangs", "job,arrival_s,workers,job,duration_s\n", ':1:23: column "job" is there twice'),
    # negative number
    ("nodes", NODES + "n3,-1,1,0,\n", ":4:4: cpu_milli: -1 is negative"),
    ("pods", POD_HEADER + POD + "p2,4000,1024,-3,1000,,LS,Running,10,20,11\n", ":3:14: num_gpu: -3 is negative"),
    ("pods", POD_HEADER + "p1,4000,1024,1,1000,,LS,Running,-10,20,11\n", ":2:33: creation_time: -10 is negative"),
    ("gangs", GANGS + "j2,a,0,1,-5,LM\n", ":3:10: duration_s: -5 is negative"),
    # truncated line
    ("nodes", NODES + "n3,64000,2621", ":4:14: the line ends after 3 of 5 fields; gpu is missing"),
    ("nodes", NODES + "\nn3,1,1,0,\n", ":4:1: the line ends after 1 of 5 fields; cpu_milli is missing"),
    ("pods", POD_HEADER + "p1,4000,1024,1,500,P100", ":2:24: the line ends after 6 of 11 fields; qos is missing"),
    ("gangs", GANGS + "j2,a,10", ":3:8: the line ends after 3 of 6 fields; workers is missing"),
    # a field too many
    ("gangs", GANGS + "j2,a,0,1,5,LM,7\n", ":3:15: one field too many: the header has 6 columns"),
    # bad number
    ("nodes", NODES + "n3,64e3,1,0,\n", ':4:4: cpu_milli: "64e3" is not a whole number'),
    ("nodes", NODES + "n3,,1,0,\n", ":4:4: cpu_milli: is empty; a whole number should be here"),
    ("pods", POD_HEADER + "p1,4000, 1024,1,500,,LS,Running,10,20,11\n", ':2:9: memory_mib: " 1024" is not a whole number'),
    ("gangs", GANGS + "j2,a,0,two,5,LM\n", ':3:8: workers: "two" is not a whole number'),
    ("gangs", GANGS + "j2,a,0,0,5,LM\n", ":3:8: workers: 0 is less than 1"),
    ("gangs", GANGS + "j2,a,99999999999999999999,1,5,LM\n", ":3:6: arrival_s: 99999999999999999999 is too large"),
    ("gangs", GANGS + "j2,a,0,1,300000001,LM\n", ":3:10: duration_s: 300000001 is more than 300000000"),
    # numbers that do not go together
    ("pods", POD_HEADER + "p1,4000,1024,0,500,,LS,Running,10,20,11\n", ":2:16: gpu_milli: 500 with num_gpu 0"),
    ("pods", POD_HEADER + "p1,4000,1024,2,500,,LS,Running,10,20,11\n",
     ":2:16: gpu_milli: a pod with several GPUs must take them whole (1000)"),
    ("pods", POD_HEADER + "p1,4000,1024,1,500,,LS,Running,10,9,11\n", ":2:35: deletion_time: 9 is before creation_time 10"),
    # duplicate name
    ("nodes", NODES + "n1,1,1,0,\n", ':4:1: sn: "n1" is in line 2 already'),
    ("pods", POD_HEADER + POD + POD, ':3:1: name: "p1" is in line 2 already'),
    ("gangs", GANGS + "j1,a,0,1,5,LM\n", ':3:1: job: "j1" is in line 2 already'),
    # names that the library does not take
    ("nodes", NODES + ",1,1,0,\n", ":4:1: sn: "),
    ("nodes", NODES + "n3,1,1,1,no such model!\n", ":4:10: model: "),
    ("pods", POD_HEADER + "a b,4000,1024,0,0,,LS,Running,10,20,11\n", ":2:1: name: "),
    ("gangs", GANGS + "Job_2,a,0,1,5,LM\n", ":3:1: job: "),
    # more than there may be
    ("gangs", "job," + ",".join(f"c{i}" for i in range(1000)) + "\n", ":1:4890: more than 1000 columns"),
    ("nodes", NODES + "n3,1,1,1025,T4\n", ":4:8: gpu: 1025 is more than 1024"),
    ("gangs", GANGS + "".join(f"k{i},a,0,4096,60,LM\n" for i in range(1300)), ":1223:11: workers: more than 5000000 workers in all"),
    # quotes
    ("gangs", GANGS + 'j2,a,0,1,5,"LM\n', ":3:12: the quote is not closed in this line"),
    ("gangs", GANGS + '"j2"x,a,0,1,5,LM\n', ":3:5: text after the closing quote"),
]


def main():
    replay = sys.argv[1]
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        room = pathlib.Path(folder)

        def run(nodes=NODES, pods=POD_HEADER + POD, gangs=GANGS):
            for name, content in (("nodes", nodes), ("pods", pods), ("gangs", gangs)):
                (room / f"{name}.csv").write_bytes(content.encode())
            return command("--nodes", room / "nodes.csv", "--pods", room / "pods.csv", "--gangs", room / "gangs.csv")

        def command(*args):
            return subprocess.run([replay, *map(str, args)], capture_output=True, text=True, timeout=120)

        def check(what, done, code, message):
            if done.returncode != code or not done.stderr.startswith(message) or (code == 2 and done.stdout):
                failures.append(f"{what}:\n  wanted exit code {code} and {message!r}\n"
                                f"  got exit code {done.returncode} and {done.stderr!r}\n  stdout {done.stdout[:200]!r}")

        for name, content, message in CASES:
            whole = not message.endswith(": ")
            check(f"{name} {content!r}", run(**{name: content}), 2, f"{room / name}.csv{message}" + ("\n" if whole else ""))
        check("good files", run(), 0, "")
        check("Windows line ends, byte order mark", run(gangs="\ufeff" + GANGS.replace("\n", "\r\n")), 0, "")
        check("no line end at the end", run(gangs=GANGS.rstrip("\n")), 0, "")
        check("a blank line at the end", run(gangs=GANGS + "\n"), 0, "")
        check("no such file", command("--gangs", room / "none.csv"), 2, f"{room / 'none.csv'}: No such file or directory\n")
        check("a folder", command("--gangs", room), 2, f"{room}: is a directory\n")
        check("nodes without pods", command("--nodes", room / "nodes.csv"), 2, "--nodes requires --pods\n")
        check("unknown option", command("--gang", "x"), 2, "The following arguments were not expected")
        check("unknown profile", command("--profile", "tight"), 2, "--profile")
        check("negative GPUs", command("--gpus", "-8"), 2, "--gpus")
        check("help", command("--help"), 0, "")

    print("\n".join(failures) if failures else f"{len(CASES)} kinds of bad files are reported")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
