// Opens pages of --report in a browser and compares what they say with the tools' JSON, computed here in another way.
//   usage: check.mjs SIMULATE REPLAY CHROMIUM ROOM [FOLDER]     ROOM: has node_modules; FOLDER: screenshots are left there
import assert from "node:assert/strict";
import {spawnSync} from "node:child_process";
import {mkdirSync, mkdtempSync, writeFileSync} from "node:fs";
import {createRequire} from "node:module";
import {tmpdir} from "node:os";
import {join, resolve} from "node:path";

const [simulate, replay, chromium, modules, folder] = process.argv.slice(2);
const puppeteer = createRequire(resolve(modules, "any.js"))("puppeteer-core");
const room = mkdtempSync(join(tmpdir(), "report-page-"));
const manifests = resolve(import.meta.dirname, "../../../examples/manifests");
if (folder) mkdirSync(folder, {recursive: true});

function run(program, args, cwd) {
  const done = spawnSync(program, args, {cwd, encoding: "utf8", maxBuffer: 1 << 28});
  assert.ok(done.status === 0 || done.status === 1, `${program} ${args.join(" ")}: ${done.stderr}`);
  return JSON.parse(done.stdout);
}

// Three digits, as the page writes them.
const short = value => (value === 0 ? "0" : String(Number(value.toPrecision(3))));
function time(seconds) {
  const [unit, name] = seconds < 120 ? [1, "s"] : seconds < 7200 ? [60, "min"] : seconds < 172800 ? [3600, "h"] : [86400, "d"];
  return `${short(seconds / unit)} ${name}`;
}
const percent = share => `${(100 * share).toFixed(1)} %`;
const sum = values => values.reduce((a, b) => a + b, 0);

async function table(tab, id) {
  return tab.$$eval(`#${id} tbody tr:not(.detail)`, rows => rows.map(row => [...row.cells].map(cell => cell.textContent)));
}

// What is requested at a time, of all nodes or of one.
function requested(report, resource, at, node) {
  return sum(report.pods.flatMap(pod => (pod.stays || [])
    .filter(stay => stay.from_seconds <= at && at < (stay.until_seconds ?? Infinity) && (!node || stay.node === node))
    .map(() => pod.requests[resource] || 0)));
}

async function checkUsage(tab, report) {
  const end = report.summary.end_seconds;
  const times = [...new Set([0, end, ...report.pods.flatMap(pod => (pod.stays || []).flatMap(stay =>
    [stay.from_seconds, stay.until_seconds ?? end]))])].filter(at => at <= end).sort((a, b) => a - b);
  const rows = await table(tab, "usage");
  assert.ok(rows.length > 0);
  for (const [resource, , mean, peak, last] of rows) {
    if (resource === "all GPUs") continue;  // checkMap
    const all = sum(report.nodes.map(node => node.allocatable[resource] || 0));
    const used = times.map(at => requested(report, resource, at));
    const area = sum(times.slice(1).map((at, i) => (at - times[i]) * used[i]));
    assert.equal(peak, percent(Math.max(...used) / all), resource);
    assert.equal(last, percent(used.at(-1) / all), resource);
    assert.equal(mean, percent((end > 0 ? area / end : used.at(-1)) / all), resource);
  }
}

async function heat(tab) {
  return tab.$$eval(".heatmap tbody tr", rows => rows.map(row => [row.querySelector("th").textContent, [...row.querySelectorAll("td")]
    .map(cell => cell.textContent)]));
}

async function checkMap(tab, report) {
  const end = report.summary.end_seconds;
  if (report.node_gpus.length) {
    for (const [node, cells] of await heat(tab)) {
      const {gpus} = report.node_gpus.find(one => one.node === node);
      gpus.forEach((gpu, i) => gpu.used_slices === undefined && assert.equal(cells[i], String(Math.round(gpu.used_milli / 10)), node));
    }
    return;
  }
  const columns = await tab.$$eval(".heatmap thead th", all => all.slice(1).map(one => one.textContent));
  for (const part of end > 0 ? [0, 0.3, 0.6, 1] : [1]) {
    const at = end * part;
    await tab.$eval("input[type=range]", (slider, value) => {
      slider.value = value;
      slider.dispatchEvent(new Event("input"));
    }, 1000 * part);
    if (end > 0) assert.equal(await tab.$eval("output", one => one.textContent), time(at));
    for (const [node, cells] of await heat(tab)) {
      const there = report.nodes.find(one => one.name === node).allocatable;
      columns.forEach((resource, i) => {
        const share = requested(report, resource, at, node) / (there[resource] || NaN);
        assert.equal(cells[i], Number.isNaN(share) ? "" : String(Math.round(100 * share)), `${node} ${resource} at ${at}`);
      });
    }
  }
}

async function checkQueues(tab, report) {
  if (!report.queues.length) return;
  const columns = await tab.$$eval("#queues thead th", all => all.map(one => one.textContent));
  for (const row of await table(tab, "queues")) {
    const of = name => row[columns.indexOf(name)];
    const amount = report.queues.find(one => one.name === of("queue")).amounts.find(one => one.resource === of("resource"));
    assert.equal(of("resource"), "nvidia.com/gpu");
    assert.equal(Number(of("in the end")), amount.used, of("queue"));
    assert.equal(Number(of("guaranteed")), amount.guaranteed, of("queue"));
  }
}

async function checkPods(tab, report) {
  const rows = await table(tab, "items");
  const names = await tab.$$eval("#items thead th", all => all.map(one => one.textContent));
  const at = name => names.indexOf(name);
  assert.equal(rows.length, Math.min(20, report.pods.length));
  for (const row of rows) {
    const pod = report.pods.find(one => `${one.namespace}/${one.name}` === row[0]);
    assert.equal(row[at("status")], pod.status);
    assert.equal(row[at("node")], pod.node || "");
    assert.equal(row[at("why")], pod.reason || (pod.rejections || []).at(-1)?.reason || "");
    if (pod.status === "placed" && pod.placed_seconds !== undefined)
      assert.equal(row[at("waited")], time(pod.placed_seconds - (pod.arrived_seconds || 0)));
  }
  await tab.$eval("#items tbody tr", row => row.click());
  const told = await tab.$eval("#items tbody tr.detail", row => row.textContent);
  const first = report.pods.find(one => `${one.namespace}/${one.name}` === rows[0][0]);
  for (const one of first.rejections || []) assert.ok(told.includes(one.reason), told);
}

async function checkWaits(tab, report) {
  const [[, started, waiting, , , , , longest]] = await table(tab, "waits");
  const tried = report.pods.filter(pod => pod.attempts !== undefined);
  const waits = tried.filter(pod => pod.placed_seconds !== undefined && pod.status !== "waiting")
    .map(pod => pod.placed_seconds - (pod.arrived_seconds || 0));
  assert.equal(Number(started.replace(",", "")), waits.length);
  assert.equal(Number(waiting), tried.length - waits.length);
  assert.equal(longest, waits.length ? time(Math.max(...waits)) : "–");
  const gangs = (report.groups || []).filter(group => !group.composite && group.condition);
  assert.equal((await tab.$$(".gantt-row .bar.runs")).length, gangs.filter(group => group.condition.status === "True").length);
  assert.equal((await tab.$$(".gantt-row")).length, gangs.length ? gangs.length + 1 : 0);
}

async function checkSheet(tab, report) {
  if (!report.explain) return;
  const told = await tab.$$eval("#changes li", all => all.map(one => one.textContent));
  const changes = report.explain.changes || [];
  assert.deepEqual(told, changes.map(one => `${one.change} (${one.nodes} node${one.nodes === 1 ? "" : "s"})`));
  if (changes.length) return;
  const rows = await table(tab, "scores");
  const fitting = report.explain.nodes.filter(node => node.scores);
  assert.equal(rows.length, Math.min(10, fitting.length));
  for (const [name, total] of rows) assert.equal(Number(total), fitting.find(node => node.name === name.replace(" (chosen)", "")).total);
}

async function checkTiles(tab, wanted) {
  const shown = Object.fromEntries(await tab.$$eval("[data-tile]", all => all.map(one => [one.dataset.tile, one.textContent])));
  for (const [name, value] of Object.entries(wanted)) {
    const text = typeof value === "number" ? value.toLocaleString("en") : value;
    if (value !== 0 || name in shown) assert.equal(shown[name], text, name);
  }
}

async function checkReplay(tab, report) {
  const {jobs, load} = report;
  await checkTiles(tab, {jobs: jobs.arrived, finished: jobs.finished, waiting: jobs.waiting, "peak load": percent(load.peak),
    "load until the last arrival": percent(load.computing), "last event": time(report.end_seconds)});
  for (const [size, started, , mean, p50, p90, p99, max] of await table(tab, "waits")) {
    const figures = report.waiting_seconds[size];
    assert.equal(Number(started.replace(",", "")), figures ? figures.count : 0, size);
    if (!figures) continue;
    assert.deepEqual([mean, p50, p90, p99, max], ["mean", "p50", "p90", "p99", "max"].map(name => time(figures[name])), size);
  }
  const told = await table(tab, "reasons");
  const most = Object.values(report.first_rejections).concat(Object.values(report.still_waiting)).sort((a, b) => b - a);
  assert.deepEqual(told.map(row => Number(row[0].replace(",", ""))), most.slice(0, told.length));
}

const samples = [
  {name: "gang", args: ["gang-cluster.yaml", "gang-workload.yaml", "--explain", "bert-3-plhhx"]},
  {name: "spread", args: ["spread-cluster.yaml", "spread-workload.yaml", "--explain", "shop/front-8"]},
  {name: "two-teams", args: ["two-teams.yaml"]},
  {name: "devices", args: ["devices-cluster.yaml", "devices-workload.yaml"]},
  {name: "jobs", args: ["jobs-cluster.yaml", "jobs-workload.yaml"]},
  {name: "preemption", args: ["preemption-cluster.yaml", "preemption-workload.yaml"]},
  {name: "workload-tree", args: ["workload-tree.yaml"]},
  {name: "over-time", args: [join(room, "over-time.yaml"), "--arrivals", join(room, "times.csv")]},
];
writeFileSync(join(room, "over-time.yaml"), [
  ...[1, 2, 3].map(i => `apiVersion: v1\nkind: Node\nmetadata: {name: node-${i}}\nstatus: {allocatable: {cpu: "8", memory: 32Gi, pods: "50"}}\n`),
  ...[...Array(60).keys()].map(i => "apiVersion: v1\nkind: Pod\n" +
    `metadata: {name: job-${i}}\n` +
    `spec: {containers: [{name: c, image: i, resources: {requests: {cpu: "${1 + i % 4}", memory: ${1 + i % 3}Gi}}}]}\n`),
].join("---\n"));
writeFileSync(join(room, "times.csv"), "name,arrival_s,duration_s\n" +
  [...Array(60).keys()].map(i => `job-${i},${7 * i},${60 + 31 * (i % 9)}\n`).join(""));
writeFileSync(join(room, "gangs.csv"), "job,vc,arrival_s,workers,duration_s\n" + [...Array(200).keys()].map(i =>
  `${i},${["a", "b", "</script><b>"][i % 3]},${97 * i},${[1, 1, 2, 4, 8][i % 5]},${600 + 1777 * (i % 11)}\n`).join(""));

const browser = await puppeteer.launch({executablePath: chromium, args: ["--no-sandbox"]});

async function open(page, scheme, width, check, shot) {
  const tab = await browser.newPage(), wrong = [];
  tab.on("console", message => wrong.push(`${message.type()}: ${message.text()}`));
  tab.on("pageerror", error => wrong.push(error.message));
  tab.on("request", request => request.url() !== `file://${page}` && wrong.push(`asks for ${request.url()}`));
  await tab.emulateMediaFeatures([{name: "prefers-color-scheme", value: scheme}]);
  await tab.setViewport({width, height: 900});
  await tab.goto(`file://${page}`);
  await tab.waitForSelector("body[data-ready]", {timeout: 20000});
  await new Promise(done => setTimeout(done, 100));
  const light = await tab.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).map(Number)[0]);
  assert.ok(scheme === "dark" ? light < 60 : light > 200, `background in ${scheme}: ${light}`);
  assert.ok(await tab.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${page} is wider than ${width}`);
  const charts = await tab.$$eval(".chart canvas", all => all.map(one => one.width));
  assert.ok(charts.every(chart => chart > 200), "charts are drawn");
  if (folder) await tab.screenshot({path: join(folder, `${shot}-${scheme}-${width}.png`), fullPage: true});
  await check(tab);
  assert.deepEqual(wrong, []);
  await tab.close();
}

async function everyWay(page, name, check) {
  for (const scheme of ["light", "dark"])
    for (const width of [1280, 400]) await open(page, scheme, width, check, name);
  console.log("ok:", name);
}

try {
  for (const {name, args} of samples) {
    const page = join(room, `${name}.html`);
    const report = run(simulate, [...args, "--report", page, "-o", "json", "--all", "--gpus", "--queues", "--timeline"], manifests);
    const all = report.summary;
    await everyWay(page, name, async tab => {
      assert.deepEqual(JSON.parse(await tab.$eval("#data", one => one.textContent)).runs[0].result, report);
      await checkTiles(tab, {nodes: all.nodes, "pods to place": all.pods, placed: all.placed, ended: all.ended, evicted: all.evicted,
        unscheduled: all.unscheduled, "last change": time(all.end_seconds)});
      for (const check of [checkUsage, checkMap, checkQueues, checkPods, checkWaits, checkSheet]) await check(tab, report);
    });
  }
  for (const [name, more, keys] of [["replay", [], ["group_cycle", "permit", "pod_by_pod"]],
    ["tenants", ["--queues", "--policies", "FIFO,FairShare"], ["FIFO", "FairShare"]]]) {
    const page = join(room, `${name}.html`);
    const args = ["--gangs", join(room, "gangs.csv"), "--gpus", "64", "--json", "--timeline", "--report", page, ...more];
    const report = run(replay, args, room), runs = keys.map(key => (report.philly || report)[key]);
    await everyWay(page, name, async tab => {
      assert.deepEqual(JSON.parse(await tab.$eval("#data", one => one.textContent)).runs.map(one => one.result.timeline),
        runs.map(one => one.timeline));
      for (let i = 0; i < runs.length; ++i) {
        await tab.$eval("header select", (select, value) => {
          select.value = value;
          select.dispatchEvent(new Event("change"));
        }, String(i));
        await checkReplay(tab, runs[i]);
      }
    });
  }
} finally {
  await browser.close();
}
