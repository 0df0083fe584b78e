#!/usr/bin/env python3
"""gangsched-simulate refuses of real manifests what Kubernetes' API server refuses, and nothing else.   usage: oracle.py SIMULATE FOLDER

FOLDER has cluster.yaml and cluster-dra.yaml, a cluster to try the files on, and oracle.jsonl: for each document of each file (`File`, a path
below FOLDER) its `Kind`, and if it is refused `Err` (it does not decode) or `Validation` (it decodes, and is not valid). Documents that are empty
and kinds that the oracle does not know say nothing."""
import collections
import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys

# The end of a file's path, and why the answer is another one.
EXCEPTIONS = {
    "tests/bats/specs/nvb.tmpl.yaml": "refused: the name of an object of a kind that the oracle does not know has a placeholder of a shell in it",
    "invalid_jobs/duplicatedTaskName-webhook-deny.yaml": "refused: as Volcano's webhook refuses it",
    "invalid_jobs/minAvailable-webhook-deny.yaml": "refused: as Volcano's webhook refuses it",
    "fibre_channel/fc.yaml": "taken: a field of a volume that scheduling does not read has another type",
    "testdata/pod-running-with-job.input.yaml": "taken: a time that scheduling does not read is none",
}


def is_refused(document):
    wrong = document.get("Err", "")
    return bool(document.get("Validation")) or wrong not in ("", "empty") and "no kind" not in wrong


def main(program, folder):
    files = collections.defaultdict(list)
    for line in (folder / "oracle.jsonl").read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        files[document["File"]].append(document)

    def ask(file):
        cluster = folder / ("cluster-dra.yaml" if "dra" in file else "cluster.yaml")
        return subprocess.run([program, cluster, folder / file, "-o", "json", "--no-grace"], capture_output=True, text=True, timeout=120)

    wrong, seen, last_words = [], set(), {0: "taken", 1: "taken", 2: "refused"}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as side_by_side:
        for (file, documents), done in zip(files.items(), side_by_side.map(ask, files)):
            # All was read then: the file has services, quotas and the like alone.
            idle = done.stderr.endswith("error: there is nothing to schedule: no pods, and nothing that makes some\n")
            says = "taken" if idle else last_words.get(done.returncode, f"exit code {done.returncode}")
            wanted = "refused" if any(map(is_refused, documents)) else "taken"
            known = [end for end in EXCEPTIONS if file.endswith(end)]
            seen.update(known)
            if (says == wanted) == bool(known):
                wrong.append(f"{file}: {says}, and {wanted} by the oracle: {done.stderr[-300:]}")
    wrong += [f"{end}: is in no file" for end in EXCEPTIONS if end not in seen]
    print(*wrong, sep="\n")
    print(f"{len(files)} files, {len(EXCEPTIONS)} exceptions, {len(wrong)} differences")
    assert files and not wrong


if __name__ == "__main__":
    main(str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]))
