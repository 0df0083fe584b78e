"use strict";
// Puts the page together: a section each, for the run that is chosen.

function section(title, note, ...children) {
  return make("section", {}, make("h2", {}, title), note ? make("p", {class: "note"}, note) : null, ...children);
}

function choice(label, options, then) {
  const select = make(
    "select",
    {onchange: () => then(select.value)},
    ...options.map(([value, text]) => make("option", {value}, text)),
  );
  return [make("label", {class: "choice"}, `${label} `, select), select];
}

// A table of rows, a part of which is shown until more is asked for.
function longTable(columns, rows, {most = 50, id, detail} = {}) {
  const body = make("tbody");
  const more = make("button", {type: "button", class: "more", onclick: () => show(shown + 10 * most)});
  let shown = 0,
    all = rows;
  const line = row => {
    const cells = columns.map(column =>
      make("td", {class: column.number ? "number" : column.wide ? "wide" : undefined}, column.of(row)),
    );
    const tr = make("tr", {}, ...cells);
    if (detail) {
      tr.classList.add("opens");
      tr.tabIndex = 0;
      const toggle = () => {
        if (tr.nextSibling && tr.nextSibling.classList.contains("detail")) tr.nextSibling.remove();
        else tr.after(make("tr", {class: "detail"}, make("td", {colspan: columns.length}, detail(row))));
      };
      tr.addEventListener("click", toggle);
      tr.addEventListener("keydown", event => event.key === "Enter" && toggle());
    }
    return tr;
  };
  const show = count => {
    shown = Math.min(count, all.length);
    body.replaceChildren(...all.slice(0, shown).map(line));
    more.hidden = shown === all.length;
    more.textContent = `${shown.toLocaleString("en")} of ${all.length.toLocaleString("en")} shown: more`;
  };
  show(most);
  const head = make(
    "tr",
    {},
    ...columns.map(column => make("th", {scope: "col", class: column.number ? "number" : undefined}, column.name)),
  );
  const host = make("div", {class: "scroll"}, make("table", {id}, make("thead", {}, head), body));
  return {host: make("div", {}, host, more), set: rowsNow => ((all = rowsNow), show(most))};
}

function tiles(run) {
  return make(
    "dl",
    {class: "tiles"},
    ...run.tiles
      .filter(([, value], i) => i < 3 || value !== 0)
      .map(([name, value]) =>
        make(
          "div",
          {},
          make("dt", {}, name),
          make("dd", {"data-tile": name}, typeof value === "number" ? value.toLocaleString("en") : value),
        ),
      ),
  );
}

function usageSection(run) {
  const chart = make("div", {class: "chart"}),
    steps = run.cluster();
  const rows = [...steps.series].map(([name, shares]) => ({name, shares}));
  const capacity = name => (run.usage ? run.usage.capacity / 1000 : run.capacity[name] || run.gpuCount);
  const table = longTable(
    [
      {name: run.usage ? "GPUs" : "resource", of: row => row.name},
      {name: "there is", number: true, of: row => amountText(row.name, capacity(row.name))},
      {name: "mean", number: true, of: row => percentText(meanOf(steps.x, row.shares))},
      {name: "peak", number: true, of: row => percentText(mostOf(row.shares))},
      {name: "in the end", number: true, of: row => percentText(row.shares.at(-1))},
    ],
    rows,
    {id: "usage"},
  );
  if (run.end > 0) shareChart(chart, steps);
  return section(
    "Utilisation",
    "What pods on nodes request, of what the nodes have. A node that is only reserved for a pod counts.",
    run.end && chart,
    table.host,
  );
}

function queueSection(run) {
  const chart = make("div", {class: "chart"});
  const amounts = (queue, resource) =>
    (queue.amounts || []).find(one => one.resource === resource && !one.flavor) || {};
  const shared = run.resources.filter(name => run.queues.some(queue => amounts(queue, name).used !== undefined));
  const resources = shared.length ? shared : run.resources;
  const amount = key => row => (row[key] === undefined ? "" : amountText(row.resource, row[key]));
  const some = key =>
    run.queues.some(queue => resources.some(name => amounts(queue, name)[key] !== undefined)) ? [key] : [];
  const table = longTable(
    [
      {name: "queue", of: row => row.name},
      ...(run.queues.some(queue => queue.parent) ? [{name: "in", of: row => row.parent || ""}] : []),
      {name: "resource", of: row => row.resource},
      ...[...some("guaranteed"), ...some("limit"), "mean", "in the end", ...some("waiting")].map(name => ({
        name,
        number: true,
        of: amount(name),
      })),
    ],
    [],
    {id: "queues"},
  );
  const show = resource => {
    const {x, series} = run.byQueue(resource);
    const row = queue => {
      const values = series.get(queue.name);
      const ends = {mean: meanOf(x, values), "in the end": values.at(-1)};
      return {name: queue.name, parent: queue.parent, resource, ...amounts(queue, resource), ...ends};
    };
    table.set(run.queues.map(row));
    if (run.end === 0) return;
    const peaks = new Map([...series].map(([name, values]) => [name, mostOf(values)]));
    const busiest = new Set([...peaks.keys()].sort((a, b) => peaks.get(b) - peaks.get(a)).slice(0, LINES));
    amountChart(chart, {x, series: new Map([...series].filter(([name]) => busiest.has(name)))}, resource);
  };
  const [label] = choice(
    "Resource",
    resources.map(name => [name, name]),
    show,
  );
  show(resources[0]);
  const below = "What each uses, those below it included.";
  const note = run.queues.length > LINES ? `${below} Drawn: the ${LINES} that use most.` : below;
  return section(run.itemName === "job" ? "Tenants" : "Queues", note, label, run.end && chart, table.host);
}

const SAMPLES = 400;

function nodeSection(run) {
  const chart = make("div", {class: "chart"});
  const few = run.nodes.length <= LINES;
  const summary = resource => {
    const x = few
      ? [...new Set([0, ...run.times, run.end])]
      : [...Array(SAMPLES + 1).keys()].map(i => (run.end * i) / SAMPLES);
    const rows = run.nodeShares(resource, x),
      series = new Map();
    if (few) {
      run.nodes.forEach(
        (node, i) =>
          node.allocatable[resource] > 0 &&
          series.set(
            node.name,
            rows.map(row => row[i]),
          ),
      );
    } else {
      const sorted = rows.map(row => row.filter(share => share !== null).sort((a, b) => a - b));
      for (const [name, rank] of [
        ["fullest node", 1],
        ["median node", 0.5],
        ["emptiest node", 0],
      ])
        series.set(
          name,
          sorted.map(row => (row.length ? row[Math.round(rank * (row.length - 1))] : null)),
        );
    }
    return {x, series};
  };
  const options = [
    ...run.resources.map(name => [`r ${name}`, `${few ? "each node" : "all nodes"}: ${name}`]),
    ...run.nodes.slice(0, 2000).map((node, i) => [`n ${i}`, node.name]),
  ];
  const show = value =>
    shareChart(chart, value[0] === "r" ? summary(value.slice(2)) : run.ofNode(Number(value.slice(2))));
  const [label] = choice("Show", options, show);
  show(options[0][0]);
  return section("Nodes", null, label, chart);
}

const GPU_ROWS = 500;

function mapSection(run) {
  const host = make("div", {class: "scroll"}),
    output = make("output");
  const slider = make("input", {
    type: "range",
    min: 0,
    max: 1000,
    step: "any",
    value: 1000,
    "aria-label": "virtual time",
  });
  const big = run.nodes.length > ROWS;
  let time = run.end,
    paint = null;
  const withGpus = run.nodes.map((node, i) => ({node, i})).filter(({node}) => node.gpus.length);
  const choose = value => {
    if (value === "gpus") {
      const columns = [...Array(Math.max(...withGpus.map(({node}) => node.gpus.length))).keys()].map(String);
      const set = heatTable(
        host,
        columns,
        withGpus
          .slice(0, GPU_ROWS)
          .map(({node}) => ({name: node.name, labels: columns.map((_, j) => node.gpus[j] ?? null)})),
      );
      paint = () => {
        const shares = run.gpusAt(time);
        set(withGpus.map(({i}) => shares[i]));
      };
    } else if (big) {
      const set = heatField(
        host,
        run.nodes.map(node => node.name),
      );
      paint = () => set(run.nodeShares(value, [time])[0], value);
    } else {
      const set = heatTable(
        host,
        run.resources,
        run.nodes.map(node => ({
          name: node.name,
          labels: run.resources.map(name => (node.allocatable[name] > 0 ? name : null)),
        })),
      );
      paint = () => {
        const of = run.resources.map(name => run.nodeShares(name, [time])[0]);
        set(run.nodes.map((_, i) => of.map(column => column[i])));
      };
    }
    paint();
  };
  const move = to => {
    time = Math.min(run.end, Math.max(0, to));
    if (document.activeElement !== slider) slider.value = run.end > 0 ? (1000 * time) / run.end : 1000;
    output.textContent = timeText(time);
    paint();
  };
  slider.addEventListener("input", () => move((run.end * slider.value) / 1000));
  slider.disabled = run.end === 0;
  const step = (by, name, text) =>
    make(
      "button",
      {
        type: "button",
        "aria-label": name,
        title: name,
        disabled: run.end === 0,
        onclick: () => {
          const next = by > 0 ? run.times.find(one => one > time) : run.times.findLast(one => one < time);
          if (next !== undefined) move(next);
        },
      },
      text,
    );
  const options = [];
  if (run.hasGpus) options.push(["gpus", "each GPU"]);
  if (big) options.push(...run.resources.map(name => [name, name]));
  else options.push(["resources", "resources"]);
  const [label] = choice("Show", options, choose);
  const shares = run.cluster();
  const all = shares.x.map((_, i) => [...shares.series.values()].reduce((sum, values) => sum + values[i], 0));
  choose(options[0][0]);
  move(all.at(-1) > 0 ? run.end : shares.x[all.indexOf(mostOf(all))]); // where nobody is left, when most was in use

  const notes = run.end === 0 ? ["Everything happened at 0 s."] : [];
  if (withGpus.length > GPU_ROWS) notes.push(`GPUs of the first ${GPU_ROWS} of ${withGpus.length} nodes.`);
  const legend = make("div", {class: "legend"}, "0 %", make("i", {class: "ramp"}), "100 % in use");
  return section(
    run.hasGpus ? "GPUs of each node" : "Nodes at a time",
    notes.join(" ") || null,
    make(
      "div",
      {class: "controls"},
      options.length > 1 ? label : null,
      step(-1, "the change before", "◀"),
      slider,
      step(1, "the next change", "▶"),
      output,
    ),
    host,
    legend,
  );
}

const BARS = 30;

function gangSection(run) {
  const host = make("div", {class: "gantt"});
  const wait = row => (row.placed ?? Infinity) - row.arrived;
  const longest = [...run.gangs].sort((a, b) => (wait(a) === wait(b) ? 0 : wait(b) - wait(a))).slice(0, BARS);
  const chosen = new Set(longest),
    rows = run.gangs.filter(row => chosen.has(row)).sort((a, b) => a.arrived - b.arrived);
  gantt(host, rows, run.end);
  const note =
    run.gangs.length > rows.length
      ? `The ${rows.length} of ${run.gangs.length.toLocaleString("en")} that waited longest, by arrival.`
      : null;
  return section(
    "Gangs",
    note,
    host,
    make("div", {class: "legend"}, make("i", {class: "key waits"}), "waits", make("i", {class: "key runs"}), "runs"),
  );
}

function waitingSection(run) {
  const host = make("div", {class: "scroll"});
  waitingTable(host, run.waits);
  const time = value => timeText(value);
  const figures = longTable(
    [
      {name: "of", of: row => row.label},
      {name: "started", number: true, of: row => row.count.toLocaleString("en")},
      {name: "wait still", number: true, of: row => row.waiting.toLocaleString("en")},
      ...["mean", "p50", "p90", "p99", "max"].map(name => ({
        name,
        number: true,
        of: row => (row.count ? time(row[name]) : "–"),
      })),
    ],
    run.waits.map(one => ({label: one.label, waiting: one.waiting, ...figuresOf(one.values)})),
    {id: "waits"},
  );
  return section(
    "Waiting times",
    "From arrival until there was a node; of a group until it had its minimum.",
    host,
    figures.host,
  );
}

function reasonSection(run) {
  return section(
    "Why pods were rejected",
    null,
    longTable(
      [
        {name: "pods", number: true, of: row => row.count.toLocaleString("en")},
        {name: "", of: row => row.what},
        {name: "reasons", wide: true, of: row => row.text},
      ],
      run.reasons,
      {most: 12, id: "reasons"},
    ).host,
  );
}

function itemSection(run) {
  const has = key => run.items.some(item => item[key] !== "" && item[key] !== undefined);
  const columns = [{name: run.itemName || "pod", of: row => row.name}];
  for (const [key, name] of [
    ["group", "group"],
    ["queue", "queue"],
    ["status", "status"],
    ["node", "node"],
  ])
    if (has(key)) columns.push({name, of: row => row[key]});
  columns.push(
    {
      name: "waited",
      number: true,
      of: row => (row.waited === null ? "" : timeText(row.waited) + (row.waits ? " so far" : "")),
    },
    {name: "why", wide: true, of: row => row.why},
  );
  const detail = row =>
    make(
      "dl",
      {class: "more-of"},
      ...row.more.flatMap(([term, text]) => [make("dt", {}, term), make("dd", {}, text)]),
    );
  const order = [...run.items].sort((a, b) => b.waits - a.waits || (b.waited ?? -1) - (a.waited ?? -1));
  const table = longTable(columns, order, {most: 20, id: "items", detail});
  const search = make("input", {type: "search", placeholder: "name, group, node, reason", "aria-label": "search"});
  const states = [...new Set(run.items.map(item => item.status))].sort();
  let status = "";
  const filter = () => {
    const word = search.value.toLowerCase();
    table.set(
      order.filter(
        item =>
          (!status || item.status === status) &&
          [item.name, item.group, item.queue, item.node, item.why].some(
            text => text && text.toLowerCase().includes(word),
          ),
      ),
    );
  };
  search.addEventListener("input", filter);
  const [label] = choice(
    "Status",
    [["", "all"], ...states.map(state => [state, state])],
    value => ((status = value), filter()),
  );
  return section(
    run.itemName === "job" ? "Jobs" : "Pods",
    "Those that wait, or waited, longest come first. A row opens.",
    make("div", {class: "controls"}, search, label),
    table.host,
  );
}

function explainSection(explain) {
  const title = `Asked about ${explain.pod || explain.groups.map(group => group.name).join(", ")}`;
  if (explain.groups) {
    return section(
      title,
      null,
      ...explain.groups.map(group =>
        make(
          "div",
          {},
          make("p", {}, group.summary),
          group.change ? make("p", {}, `The smallest change that helps: ${group.change}`) : null,
          longTable(
            [
              {name: "placement", of: row => row.name || "all nodes"},
              {name: "fit", number: true, of: row => String(row.fit)},
              {name: "needed", number: true, of: row => String(row.needed)},
              {name: "missing", wide: true, of: row => row.missing || ""},
            ],
            group.placements,
          ).host,
        ),
      ),
    );
  }
  const fitting = explain.nodes.filter(node => node.scores),
    others = explain.nodes.filter(node => !node.scores);
  fitting.sort((a, b) => b.total - a.total);
  const plugins = [...new Set(fitting.flatMap(node => node.scores.map(one => one.plugin)))];
  const score = (node, plugin) => node.scores.find(one => one.plugin === plugin);
  const sheet = longTable(
    [
      {name: "node", of: node => node.name + (node.chosen ? " (chosen)" : "")},
      {name: "total", number: true, of: node => String(node.total)},
      ...plugins.map(plugin => ({
        name: plugin,
        number: true,
        of: node => {
          const one = score(node, plugin);
          return one ? `${one.score}${one.weight !== 1 ? ` = ${one.weight} × ${one.normalized}` : ""}` : "";
        },
      })),
    ],
    fitting,
    {most: 10, id: "scores"},
  );
  const rejected = longTable(
    [
      {name: "node", of: node => node.name},
      {name: "rejected by", of: node => node.plugin || ""},
      {name: "reason", wide: true, of: node => (node.reasons || []).join(", ")},
    ],
    others,
    {most: 10, id: "rejected"},
  );
  const count = nodes => (nodes === 1 ? "1 node" : `${nodes} nodes`);
  const changes = (explain.changes || []).map(one => make("li", {}, `${one.change} (${count(one.nodes)})`));
  if (explain.change_for_group)
    changes.push(make("li", {}, `the smallest change that helps its group: ${explain.change_for_group}`));
  return section(
    title,
    `As things stood at ${timeText(explain.at_seconds)}.`,
    explain.summary ? make("p", {}, explain.summary) : null,
    changes.length ? make("p", {}, "It would fit:") : null,
    changes.length ? make("ul", {id: "changes"}, ...changes) : null,
    fitting.length ? sheet.host : null,
    others.length ? rejected.host : null,
  );
}

function show(run) {
  const parts = [tiles(run)];
  if (run.explain) parts.push(explainSection(run.explain));
  if (run.resources.length) parts.push(usageSection(run));
  if (run.queues.length && run.resources.length) parts.push(queueSection(run));
  if (run.resources.length) parts.push(mapSection(run));
  if (run.resources.length && run.end > 0) parts.push(nodeSection(run));
  if (run.gangs.length) parts.push(gangSection(run));
  if (run.waits.some(one => one.values.length + one.waiting > 0)) parts.push(waitingSection(run));
  if (run.reasons.length) parts.push(reasonSection(run));
  if (run.items.length) parts.push(itemSection(run));
  document.querySelector("main").replaceChildren(...parts);
}

function start() {
  const data = JSON.parse(document.getElementById("data").textContent);
  document.title = `${data.title} – ${data.tool}`;
  document.querySelector("h1").textContent = data.title;
  document.querySelector("#tool").textContent = data.tool;
  const makers = data.runs.map(
    run => () =>
      data.tool === "gangsched-replay" ? replayedRun(run.name, run.result) : simulatedRun(run.name, run.result),
  );
  if (data.runs.length > 1) {
    const [label] = choice(
      "Run",
      data.runs.map((run, i) => [String(i), run.name]),
      value => show(makers[Number(value)]()),
    );
    document.querySelector("header").append(label);
  }
  show(makers[0]());
  document.body.dataset.ready = "yes";
}
start();
