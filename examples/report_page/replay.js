"use strict";
// A replay of gangsched-replay, with its time line.

const GPUS = "GPU";

function replayedRun(name, result) {
  const line = result.timeline;
  const nodes = line.nodes.map(([node, milli]) => ({
    name: node,
    allocatable: {[GPUS]: milli / 1000},
    gpus: [],
    gpuMemory: 0,
  }));
  const run = new Run(name, nodes, result.end_seconds);
  run.itemName = "job";
  const {jobs, gangs, load} = result;
  run.tiles = [
    ["nodes", nodes.length],
    ["GPUs", line.gpu_milli / 1000],
    ["jobs", jobs.arrived],
    ["finished", jobs.finished],
    ["running", jobs.running],
    ["hold GPUs and wait", jobs.holding],
    ["waiting", jobs.waiting],
    ["left", jobs.left],
    ["gangs", gangs.arrived],
    ["load until the last arrival", percentText(load.computing)],
    ["peak load", percentText(load.peak)],
    ["last event", timeText(result.end_seconds)],
  ];
  const x = line.usage.map(row => row[0]),
    series = new Map([["at work", line.usage.map(row => row[1])]]);
  if (line.usage.some(row => row[2] > 0))
    series.set(
      "held by incomplete gangs",
      line.usage.map(row => row[2]),
    );
  if (x.length && x[x.length - 1] < run.end) {
    x.push(run.end);
    for (const values of series.values()) values.push(values[values.length - 1]);
  }
  if (x.length) run.usage = {x, series, capacity: line.gpu_milli};
  for (const [job, node, from, until, milli] of line.stays) {
    const tenant = line.tenants[line.jobs[job][3]];
    run.stays.push({node, from, to: until ?? Infinity, amounts: {[GPUS]: milli / 1000}, queue: tenant, gpus: []});
  }
  run.queues = line.tenants.map((tenant, i) => ({
    name: tenant,
    amounts: [{resource: GPUS, guaranteed: line.tenant_gpus[i], used: 0}],
  }));
  const bySize = line.sizes.map(label => ({label, values: [], waiting: 0}));
  for (const [job, workers, size, tenant, complete, started, ended, reason] of line.jobs) {
    const waits = started === null && ended === null;
    if (started !== null) bySize[size].values.push(started - complete);
    else if (waits) ++bySize[size].waiting;
    const end = ended ?? Infinity,
      why = reason === null ? "" : line.reasons[reason];
    if (workers > 1)
      run.gangs.push({
        name: job,
        arrived: complete,
        placed: started ?? undefined,
        end,
        label: `${workers} workers`,
        why,
      });
    const status =
      ended !== null ? (started !== null ? "finished" : "left") : started !== null ? "running" : "waiting";
    run.items.push({
      name: job,
      group: "",
      queue: line.tenants[tenant] || "",
      status,
      node: "",
      waits,
      why,
      waited: (started ?? ended ?? run.end) - complete,
      more: [
        ["workers", String(workers)],
        ["complete at", timeText(complete)],
        ["started at", timeText(started)],
        ["ended at", timeText(ended)],
      ].filter(([, text]) => text),
    });
  }
  run.waits = bySize.filter(one => one.values.length + one.waiting > 0);
  for (const [what, counts] of [
    ["first rejection", result.first_rejections],
    ["wait in the end", result.still_waiting],
  ])
    for (const [text, count] of Object.entries(counts)) run.reasons.push({what, text, count});
  run.reasons.sort((a, b) => b.count - a.count);
  return run.finish();
}
