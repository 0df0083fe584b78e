#pragma once
#include "gangsched/c/base.h"
#include "gangsched/c/objects.h"

/// What would kube-scheduler do? Schedules manifests in virtual time, like the program gangsched-simulate (docs/simulate.md).

#ifdef __cplusplus
extern "C" {
#endif

/// The contents of a file; `name` is its name in errors, and decides the format if it ends in .json, .jsonl, .yaml or .yml. Without text
/// there is no file.
typedef struct gangsched_source {
  const char* name;
  const char* text;
  size_t size;
} gangsched_source;

/// When pods arrive and how long they run, each at most 100 years.
typedef struct gangsched_arrival {
  const char* name;  ///< of a pod, of its controller or of its group, with or without `namespace/`
  int64_t arrives;   ///< nanoseconds after the start
  int64_t runs;      ///< nanoseconds; 0: it stays
} gangsched_arrival;

enum {
  GANGSCHED_SIMULATE_LIVE_CONTROLLERS = 1,  ///< controllers act while time passes; else they act once, before the start
  GANGSCHED_SIMULATE_ALL_SCHEDULERS = 2,    ///< pods of a scheduler without a profile use the first profile
  GANGSCHED_SIMULATE_KEEP_GOING = 4,        ///< objects with mistakes are left out, with a warning each
  GANGSCHED_SIMULATE_NO_GRACE = 8,          ///< evicted pods are gone at once
  GANGSCHED_SIMULATE_SCALE_DOWN = 16,       ///< report which nodes can be drained in the end
  GANGSCHED_SIMULATE_TIMELINE = 32,         ///< report which pods were on which node when, and why pods waited
  GANGSCHED_SIMULATE_SAY_ALL = 64,          ///< include pods that ran before and still do
  GANGSCHED_SIMULATE_SAY_GPUS = 128,        ///< report how full each GPU is in the end
  GANGSCHED_SIMULATE_SAY_QUEUES = 256       ///< report the use of each queue in the end
};

/// The settings of a run; fields without a comment are gangsched-simulate's options of that name (docs/simulate.md).
typedef struct gangsched_simulation_options {
  size_t struct_size;
  uint32_t flags;                  ///< GANGSCHED_SIMULATE_…, combined with |
  uint64_t seed;                   ///< of the random choice among equal nodes
  gangsched_source configuration;  ///< a KubeSchedulerConfiguration (--config); none: kube-scheduler's defaults
  const char* default_namespace;   ///< of objects that name none (--namespace)
  const char* queues_policy;
  const char* explain;                ///< a pod or a group
  const char* start;                  ///< RFC 3339
  const char* until;                  ///< "90m"
  gangsched_texts drain;              ///< nodes
  gangsched_texts lose;               ///< nodes or zones
  gangsched_source shapes;            ///< nodes that may be added (--scale-up)
  gangsched_source compare_with;      ///< the JSON of an earlier run (--diff)
  const gangsched_arrival* arrivals;  ///< if several name the same pod the last one counts
  size_t arrival_count;
  uint64_t most_made_pods;  ///< limit of the pods that live controllers create; 0: 250,000
} gangsched_simulation_options;

/// Schedules the pods of the files until nothing changes any more. @p options may be null. @p json receives what gangsched-simulate prints
/// with --output json. If files or options have mistakes, @p error has the first one and @p json an object with all of them: `errors`, each
/// with `object` (which has file and line), `field` and `reason`. Unless @p warnings is null, it receives what was left out and which pods
/// are no longer re-created, a line each, or null if there is nothing. Free both with `gangsched_free`. Both are null if memory runs out or
/// the arguments themselves are wrong (null texts, `struct_size`). O(length + decisions).
GANGSCHED_C_API gangsched_code gangsched_simulate(const gangsched_source* files, size_t file_count,
                                                  const gangsched_simulation_options* options, char** json,
                                                  char** warnings, gangsched_error* error) GANGSCHED_NOEXCEPT;

#ifdef __cplusplus
}
#endif
