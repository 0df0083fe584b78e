"use strict";
// What both tools' JSON has, as one kind of run. Times are seconds of virtual time, amounts as in the JSON (cpu in milli).

const BYTES = /^(memory|ephemeral-storage|hugepages-.*)$/;

function round(value) {
  return value === 0 ? "0" : String(Number(value.toPrecision(3)));
}

function timeText(seconds) {
  if (seconds === undefined || seconds === null) return "";
  const [unit, name] = timeUnit(seconds);
  return `${round(seconds / unit)} ${name}`;
}

function timeUnit(seconds) {
  if (seconds < 120) return [1, "s"];
  if (seconds < 7200) return [60, "min"];
  if (seconds < 172800) return [3600, "h"];
  return [86400, "d"];
}

// "cpu" in cores, memory in GiB, all else as it counts.
function unitOf(resource) {
  if (resource === "cpu") return [1000, "cores"];
  return BYTES.test(resource) ? [1024 ** 3, "GiB"] : [1, ""];
}

function amountText(resource, amount) {
  const [unit, name] = unitOf(resource);
  const value = amount / unit;
  if (resource === "cpu" && value === 1) return "1 core";
  return `${Number.isInteger(value) ? value.toLocaleString("en") : round(value)}${name ? ` ${name}` : ""}`;
}

function percentText(share) {
  return `${(100 * share).toFixed(1)} %`;
}

// What is in use from when on: intervals {from, to, amount} of each key become steps on one axis of times.
function stepsOf(intervals, end) {
  const times = new Set([0, end]);
  for (const list of intervals.values())
    for (const one of list) (times.add(one.from), times.add(Math.min(one.to, end)));
  const x = [...times].sort((a, b) => a - b);
  const place = new Map(x.map((time, index) => [time, index]));
  const series = new Map();
  for (const [key, list] of intervals) {
    const change = new Float64Array(x.length + 1);
    for (const one of list) {
      change[place.get(one.from)] += one.amount;
      if (one.to <= end && Number.isFinite(one.to)) change[place.get(one.to)] -= one.amount;
    }
    let sum = 0;
    // What 0.1 + 0.2 leaves over is nobody's.
    series.set(
      key,
      x.map((_, index) => ((sum += change[index]), Math.abs(sum) < 1e-6 ? 0 : sum)),
    );
  }
  return {x, series};
}

function mostOf(values) {
  return values.reduce((a, b) => Math.max(a, b), 0);
}

// Two such results on one axis.
function together(a, b) {
  const x = [...new Set([...a.x, ...b.x])].sort((c, d) => c - d);
  const series = new Map();
  for (const of of [a, b])
    for (const [key, values] of of.series) {
      let at = 0;
      series.set(
        key,
        x.map(time => {
          while (at + 1 < of.x.length && of.x[at + 1] <= time) ++at;
          return values[at];
        }),
      );
    }
  return {x, series};
}

function meanOf(x, values) {
  let area = 0;
  for (let i = 0; i + 1 < x.length; ++i) area += values[i] * (x[i + 1] - x[i]);
  const length = x[x.length - 1] - x[0];
  return length > 0 ? area / length : values[values.length - 1];
}

// Nearest rank, as the tools' own figures.
function figuresOf(waits) {
  const sorted = [...waits].sort((a, b) => a - b);
  const at = share => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)];
  const sum = sorted.reduce((a, b) => a + b, 0);
  return {count: sorted.length, mean: sum / sorted.length, p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1)};
}

// What pods have of one GPU. Those who share a claim share what it has.
class GpuUse {
  milli = 0;
  memory = 0;
  claims = new Map();

  add(part, sign) {
    if (part.claim) {
      const users = (this.claims.get(part.claim) || 0) + sign;
      this.claims.set(part.claim, users);
      if (users !== (sign > 0 ? 1 : 0)) return;
    }
    this.milli += sign * part.milli;
    this.memory += sign * part.memory;
  }

  // Of compute or memory, whichever is more.
  share(memoryOfAll) {
    return Math.max(this.milli / 1000, memoryOfAll ? this.memory / memoryOfAll : 0);
  }
}

class Run {
  constructor(name, nodes, end) {
    this.name = name;
    this.nodes = nodes; // {name, allocatable, gpus: [name], gpuMemory}
    this.end = end;
    this.nodeIndex = new Map(nodes.map((node, index) => [node.name, index]));
    this.stays = []; // {node, from, to, amounts: {resource: amount}, queue, gpus: [{name, milli, memory, claim}]}
    this.tiles = [];
    this.items = []; // rows of the table: {name, group, queue, status, node, arrived, placed, why, more: [[term, text]]}
    this.gangs = []; // {name, arrived, placed, end, label, done}
    this.waits = []; // {label, values, waiting}
    this.queues = []; // {name, parent, amounts}
    this.usage = null; // {x, series} of the whole cluster where the tool says it itself
    this.reasons = []; // {text, count, what}
  }

  // Resources that somebody asks for and that nodes have: GPUs and the like, cpu, memory.
  finish() {
    const asked = new Set();
    for (const stay of this.stays) for (const name of Object.keys(stay.amounts)) asked.add(name);
    this.capacity = {};
    for (const node of this.nodes)
      for (const [name, amount] of Object.entries(node.allocatable))
        if (asked.has(name) && amount > 0) this.capacity[name] = (this.capacity[name] || 0) + amount;
    const rank = name => ["cpu", "memory"].indexOf(name);
    this.resources = Object.keys(this.capacity).sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
    this.gpuCount = this.nodes.reduce((sum, node) => sum + node.gpus.length, 0);
    this.hasGpus = this.gpuCount > 0;
    const times = new Set();
    for (const stay of this.stays) (times.add(stay.from), times.add(stay.to));
    this.times = [...times].filter(time => time <= this.end).sort((a, b) => a - b);
    return this;
  }

  intervals(resource, wanted = () => true) {
    return this.stays
      .filter(stay => stay.amounts[resource] && wanted(stay))
      .map(stay => ({from: stay.from, to: stay.to, amount: stay.amounts[resource]}));
  }

  // Shares in use of the whole cluster, by resource.
  cluster() {
    if (this.shares) return this.shares;
    let of = this.usage || stepsOf(new Map(this.resources.map(name => [name, this.intervals(name)])), this.end);
    if (this.hasGpus) of = together(of, this.gpuSteps());
    const shares = new Map();
    for (const [name, values] of of.series) {
      const all = this.usage ? this.usage.capacity : this.capacity[name] || this.gpuCount;
      shares.set(
        name,
        values.map(value => value / all),
      );
    }
    return (this.shares = {x: of.x, series: shares});
  }

  ofNode(index) {
    const node = this.nodes[index],
      names = this.resources.filter(name => node.allocatable[name] > 0);
    const steps = stepsOf(
      new Map(names.map(name => [name, this.intervals(name, stay => stay.node === index)])),
      this.end,
    );
    for (const [name, values] of steps.series)
      steps.series.set(
        name,
        values.map(value => value / node.allocatable[name]),
      );
    return steps;
  }

  // Of each node at each of some times, in one pass: shares[time][node].
  nodeShares(resource, times) {
    const used = new Float64Array(this.nodes.length),
      rows = [],
      changes = [];
    for (const stay of this.stays) {
      const amount = stay.amounts[resource];
      if (!amount) continue;
      changes.push([stay.from, stay.node, amount]);
      if (Number.isFinite(stay.to)) changes.push([stay.to, stay.node, -amount]);
    }
    changes.sort((a, b) => a[0] - b[0]);
    let next = 0;
    for (const time of times) {
      for (; next < changes.length && changes[next][0] <= time; ++next) used[changes[next][1]] += changes[next][2];
      rows.push(
        this.nodes.map((node, i) => (node.allocatable[resource] > 0 ? used[i] / node.allocatable[resource] : null)),
      );
    }
    return rows;
  }

  // Used of each queue, those below it included.
  byQueue(resource) {
    const parents = new Map(this.queues.map(queue => [queue.name, queue.parent]));
    const intervals = new Map(this.queues.map(queue => [queue.name, []]));
    for (const stay of this.stays) {
      if (!stay.amounts[resource]) continue;
      for (let name = stay.queue; name && intervals.has(name); name = parents.get(name))
        intervals.get(name).push({from: stay.from, to: stay.to, amount: stay.amounts[resource]});
    }
    return stepsOf(intervals, this.end);
  }

  // How much of all GPUs is in use from when on, shares and instances of them included.
  gpuSteps() {
    const changes = [];
    for (const stay of this.stays)
      for (const part of stay.gpus) {
        changes.push([stay.from, 1, stay.node, part]);
        if (stay.to <= this.end) changes.push([stay.to, -1, stay.node, part]);
      }
    changes.sort((a, b) => a[0] - b[0]);
    const state = new Map(); // by node and GPU
    const x = [...new Set([0, ...changes.map(change => change[0]), this.end])].sort((a, b) => a - b);
    let sum = 0,
      next = 0;
    const values = x.map(time => {
      for (; next < changes.length && changes[next][0] <= time; ++next) {
        const [, sign, node, part] = changes[next];
        const key = `${node} ${part.name}`;
        if (!state.has(key)) state.set(key, new GpuUse());
        const gpu = state.get(key);
        sum -= gpu.share(this.nodes[node].gpuMemory);
        gpu.add(part, sign);
        sum += gpu.share(this.nodes[node].gpuMemory);
      }
      return Math.abs(sum) < 1e-6 ? 0 : sum;
    });
    return {x, series: new Map([["all GPUs", values]])};
  }

  // Shares in use of each GPU of each node at a time.
  gpusAt(time) {
    const used = this.nodes.map(node => new Map(node.gpus.map(name => [name, new GpuUse()])));
    for (const stay of this.stays) {
      if (stay.from > time || stay.to <= time) continue;
      for (const part of stay.gpus) {
        const gpu = used[stay.node].get(part.name);
        if (gpu) gpu.add(part, 1);
      }
    }
    return this.nodes.map((node, i) => [...used[i].values()].map(gpu => gpu.share(node.gpuMemory)));
  }
}

// Of gangsched-simulate, with --timeline.
function simulatedRun(name, report) {
  const gpus = new Map((report.node_gpus || []).map(node => [node.node, node]));
  const nodes = (report.nodes || []).map(node => ({
    name: node.name,
    allocatable: node.allocatable,
    gpus: gpus.has(node.name) ? gpus.get(node.name).gpus.map(gpu => gpu.name) : [],
    gpuMemory: gpus.has(node.name) ? gpus.get(node.name).gpu_memory_mib || 0 : 0,
  }));
  const all = report.summary;
  const run = new Run(name, nodes, all.end_seconds);
  run.tiles = [
    ["nodes", all.nodes],
    ["pods to place", all.pods],
    ["placed", all.placed],
    ["ended", all.ended],
    ["evicted", all.evicted],
    ["unscheduled", all.unscheduled],
    ["last change", timeText(all.end_seconds)],
  ];
  const waits = {label: "pods", values: [], waiting: 0};
  const members = new Map();
  for (const pod of report.pods) {
    for (const stay of pod.stays || []) {
      const last = stay === pod.stays[pod.stays.length - 1]; // what devices it had before is not told
      run.stays.push({
        node: run.nodeIndex.get(stay.node),
        from: stay.from_seconds,
        to: stay.until_seconds ?? Infinity,
        amounts: pod.requests || {},
        queue: pod.queue,
        gpus: !last
          ? []
          : (pod.devices || [])
              .filter(device => device.taken_milli !== undefined)
              .map(device => ({
                name: device.name,
                milli: device.taken_milli,
                memory: device.memory_mib || 0,
                claim: device.claim,
              })),
      });
    }
    const arrived = pod.arrived_seconds || 0;
    const starts = pod.attempts !== undefined; // it did not run before
    const placed = pod.status === "waiting" ? undefined : pod.placed_seconds;
    if (starts && placed !== undefined) waits.values.push(placed - arrived);
    else if (starts) ++waits.waiting;
    if (pod.group) {
      const key = `${pod.namespace}/${pod.group}`;
      if (!members.has(key)) members.set(key, []);
      members.get(key).push(pod);
    }
    const more = pod.reason ? [["in the end", pod.reason]] : [];
    for (const one of pod.rejections || []) more.push([`rejected at ${timeText(one.at_seconds)}`, one.reason]);
    if (pod.evicts) more.push(["evicts", pod.evicts.join(", ")]);
    if (pod.evicted_by) more.push([`evicted at ${timeText(pod.evicted_seconds)}`, `by ${pod.evicted_by}`]);
    if (pod.ended_seconds !== undefined) more.push(["ended at", timeText(pod.ended_seconds)]);
    if (pod.devices) more.push(["devices", pod.devices.map(device => device.name).join(", ")]);
    const asked = Object.entries(pod.requests || {}).filter(([resource]) => resource !== "pods");
    if (asked.length)
      more.push(["requests", asked.map(([resource, n]) => `${resource} ${amountText(resource, n)}`).join(", ")]);
    if (starts) more.push(["tries", String(pod.attempts)]);
    if (pod.score !== undefined) more.push(["score", String(pod.score)]);
    const latest = (pod.rejections || []).at(-1);
    run.items.push({
      name: `${pod.namespace}/${pod.name}`,
      group: pod.group || "",
      queue: pod.queue || "",
      status: pod.status,
      node: pod.node || "",
      waited: starts ? (placed ?? all.end_seconds) - arrived : null,
      waits: starts && placed === undefined,
      why: pod.reason || (latest ? latest.reason : ""),
      more,
    });
  }
  run.waits.push(waits);
  const namespaces = new Set(report.pods.map(pod => pod.namespace));
  const ofGangs = {label: "groups", values: [], waiting: 0};
  for (const group of report.groups || []) {
    if (group.composite || !group.condition) continue;
    const pods = members.get(`${group.namespace}/${group.name}`) || [];
    const arrivals = pods.map(pod => pod.arrived_seconds || 0).sort((a, b) => a - b);
    const arrived = arrivals[Math.min(Math.max(group.minimum, 1), arrivals.length) - 1] || 0;
    const placed = group.condition.since_seconds;
    const ends = pods.map(pod => (pod.stays || []).map(stay => stay.until_seconds ?? Infinity)).flat();
    const running = pods.some(pod => (pod.stays || []).some(stay => stay.until_seconds === undefined));
    run.gangs.push({
      name: namespaces.size > 1 ? `${group.namespace}/${group.name}` : group.name,
      arrived,
      placed,
      end: running || !ends.length ? Infinity : Math.max(...ends),
      label: `minimum ${group.minimum}, ${group.bound} bound, ${group.pending} pending`,
      why: group.condition.message || "",
    });
    if (placed === undefined) ++ofGangs.waiting;
    else ofGangs.values.push(Math.max(0, placed - arrived));
  }
  if (run.gangs.length) run.waits.push(ofGangs);
  run.queues = report.queues || [];
  run.explain = report.explain;
  return run.finish();
}
