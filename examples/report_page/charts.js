"use strict";
// Drawn: lines over time (uPlot), a map of shares, bars over time, a histogram.

function make(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, text] of Object.entries(value)) made.style.setProperty(key, text);
    else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter(child => child !== null && child !== undefined && child !== 0));
  return made;
}

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

const LINES = 8; // that can be told apart
const TAIL = 1.03; // of the time until the last change: what it changed is seen
const HEIGHT = 240;
const charts = new Map(); // what is drawn in which element
const sizes = new ResizeObserver(seen => {
  for (const {target} of seen) {
    const {plot} = charts.get(target) || {};
    if (plot && plot.width !== target.clientWidth) plot.setSize({width: target.clientWidth, height: HEIGHT});
  }
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const host of charts.keys()) draw(host);
});

function draw(host) {
  const chart = charts.get(host);
  if (chart.plot) chart.plot.destroy();
  if (!host.isConnected) {
    sizes.unobserve(host);
    charts.delete(host);
    return;
  }
  const {of} = chart;
  const end = of.x[of.x.length - 1];
  const [unit, unitName] = timeUnit(end);
  const axis = {
    stroke: css("--muted"),
    grid: {stroke: css("--grid"), width: 1},
    ticks: {stroke: css("--grid"), width: 1},
    font: "12px system-ui, sans-serif",
    labelFont: "12px system-ui, sans-serif",
    labelSize: 20,
  };
  const steps = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30, 50, 100, 200, 500];
  const plain = tick => String(Number((tick / unit).toPrecision(6)));
  chart.plot = new uPlot(
    {
      width: host.clientWidth,
      height: HEIGHT,
      scales: {
        x: {time: false, range: [0, end * TAIL]},
        y: {range: (_, low, high) => [Math.min(0, low || 0), of.top(high || 0)]},
      },
      axes: [
        {
          ...axis,
          label: `virtual time (${unitName})`,
          size: 32,
          incrs: steps.map(step => step * unit),
          values: (_, ticks) => ticks.map(plain),
        },
        {...axis, label: of.axis, size: 52, values: (_, ticks) => ticks.map(of.tick)},
      ],
      series: [
        {label: "at", value: (_, at) => (at === null ? "–" : timeText(Math.min(at, end)))},
        ...of.lines.map((line, index) => ({
          label: line.label,
          stroke: css(`--line-${(index % LINES) + 1}`),
          width: 2,
          points: {show: false},
          paths: uPlot.paths.stepped({align: 1}),
          value: (_, value) => (value === null ? "–" : of.text(value)),
        })),
      ],
      cursor: {y: false, points: {size: 6}},
    },
    [[...of.x, end * TAIL], ...of.lines.map(line => [...line.values, line.values[line.values.length - 1]])],
    host,
  );
}

// Steps over time. of: {x, lines: [{label, values}], axis, text, tick, top}: text and tick make a value's words, top is where the axis ends.
function lineChart(host, of) {
  const before = charts.get(host);
  if (before && before.plot) before.plot.destroy();
  charts.set(host, {of, plot: null});
  requestAnimationFrame(() => {
    draw(host);
    sizes.observe(host);
  });
}

function shareChart(host, steps) {
  lineChart(host, {
    x: steps.x,
    lines: [...steps.series].map(([name, values]) => ({label: name, values})),
    axis: "in use (% of what there is)",
    text: percentText,
    tick: share => `${Math.round(100 * share)}`,
    top: high => Math.max(1, high),
  });
}

function amountChart(host, steps, resource) {
  const [unit, name] = unitOf(resource);
  lineChart(host, {
    x: steps.x,
    lines: [...steps.series].map(([key, values]) => ({label: key, values})),
    axis: `in use (${name || resource})`,
    text: value => amountText(resource, value),
    tick: value => round(value / unit),
    top: high => (high > 0 ? 1.1 * high : unit),
  });
}

const ROWS = 60; // nodes that have a row each; more are one field of cells

function shade(cell, share, label, withText) {
  cell.style.setProperty("--share", share === null ? "0%" : `${Math.min(100, 100 * share).toFixed(1)}%`);
  cell.classList.toggle("none", share === null);
  cell.classList.toggle("high", share !== null && share > 0.55);
  if (withText) cell.textContent = share === null ? "" : `${Math.round(100 * share)}`;
  cell.title = `${label}: ${share === null ? "has none" : percentText(share)}`;
}

// columns: [name]; rows: [{name, labels}], of which labels says what cell i is. Gives a function that takes shares[row][column].
function heatTable(host, columns, rows) {
  const head = make("tr", {}, make("th", {}, "node"), ...columns.map(name => make("th", {scope: "col"}, name)));
  const cells = [];
  const body = rows.map(row => {
    const own = row.labels.map(label =>
      label === null ? make("td", {class: "heat absent"}) : make("td", {class: "heat"}),
    );
    cells.push(own);
    return make("tr", {}, make("th", {scope: "row", title: row.name}, row.name), ...own);
  });
  host.replaceChildren(make("table", {class: "heatmap"}, make("thead", {}, head), make("tbody", {}, ...body)));
  return shares =>
    rows.forEach((row, i) =>
      row.labels.forEach((label, j) => {
        if (label !== null) shade(cells[i][j], shares[i][j] ?? null, `${row.name}, ${label}`, true);
      }),
    );
}

function heatField(host, names) {
  const cells = names.map(() => make("i", {class: "heat"}));
  const size = names.length <= 200 ? 26 : names.length <= 1500 ? 18 : 12;
  host.replaceChildren(make("div", {class: "field", style: {"--size": `${size}px`}}, ...cells));
  return (shares, what) => names.forEach((name, i) => shade(cells[i], shares[i], `${name}, ${what}`, false));
}

function timeAxis(start, end) {
  const axis = make("div", {class: "track axis"});
  const [unit, name] = timeUnit(end);
  const length = (end - start) / unit || 1;
  const step = [0.001, 0.01, 0.1, 1, 10, 100, 1000].flatMap(n => [n, 2 * n, 5 * n]).find(n => n * 5 >= length);
  for (let at = Math.ceil(start / unit / step) * step; at * unit <= end; at += step) {
    const left = (100 * (at - start / unit)) / length;
    const text = `${Number(at.toPrecision(6))} ${name}`;
    axis.append(make("span", {class: left > 90 ? "tick last" : "tick", style: {left: `${left}%`}}, text));
  }
  return axis;
}

// Bars from the first arrival to the last end. rows: [{name, arrived, placed, end, label, why}]: striped while it waits, full while it runs.
function gantt(host, rows, last) {
  const start = rows.reduce((least, row) => Math.min(least, row.arrived), Infinity);
  const end = rows.reduce((most, row) => Math.max(most, Math.min(row.end, last)), start);
  const percent = time =>
    end > start ? (100 * (Math.min(time, end) - start)) / (end - start) : time > start ? 100 : 0;
  const bar = (kind, name, from, to) =>
    make("i", {
      class: `bar ${kind}`,
      title: `${name} ${kind}: ${timeText(from)} to ${to === Infinity ? "the end" : timeText(to)}`,
      style: {left: `${percent(from)}%`, width: `${percent(to) - percent(from)}%`},
    });
  const line = row => {
    const never = row.placed === undefined;
    const start = never ? row.end : row.placed;
    const track = make("div", {class: "track"});
    if (start > row.arrived) track.append(bar("waits", row.name, row.arrived, start));
    if (!never) track.append(bar("runs", row.name, row.placed, row.end));
    const then = row.end === Infinity ? "runs" : `gone at ${timeText(row.end)}`;
    const since = `waits since ${timeText(row.arrived)}`;
    const state = never
      ? row.end === Infinity
        ? since
        : then
      : `waited ${timeText(row.placed - row.arrived)}, ${then}`;
    return make(
      "div",
      {class: "gantt-row", title: row.why ? `${row.label}\n${row.why}` : row.label},
      make("div", {class: "gantt-name"}, row.name),
      track,
      make("div", {class: "gantt-note"}, state),
    );
  };
  const axis = make(
    "div",
    {class: "gantt-row"},
    make("div"),
    timeAxis(start, end),
    make("div", {class: "gantt-note"}),
  );
  host.replaceChildren(...rows.map(line), axis);
}

const WAITS = [
  [0, "none"],
  [1, "to 1 s"],
  [10, "to 10 s"],
  [60, "to 1 min"],
  [600, "to 10 min"],
  [3600, "to 1 h"],
  [21600, "to 6 h"],
  [86400, "to 1 d"],
  [Infinity, "longer"],
];

// of: [{label, values, waiting}]: how many waited how long, a column each.
function waitingTable(host, of) {
  const counts = of.map(one => {
    const made = WAITS.map(() => 0);
    for (const value of one.values) ++made[WAITS.findIndex(([most]) => value <= most)];
    return [...made, one.waiting];
  });
  const names = [...WAITS.map(([, name]) => name), "waits still"];
  const first = counts.reduce(
    (seen, own) =>
      own.findIndex(n => n > 0) < 0
        ? seen
        : Math.min(
            seen,
            own.findIndex(n => n > 0),
          ),
    WAITS.length,
  );
  const used = names.map((_, i) => counts.some(own => own[i] > 0));
  const last = Math.max(used.slice(0, WAITS.length).lastIndexOf(true), 0);
  const rows = names.map((name, i) => {
    if ((i < first && i < WAITS.length) || (i > last && i < WAITS.length) || (i === WAITS.length && !used[i]))
      return null;
    return make(
      "tr",
      {},
      make("th", {scope: "row"}, name),
      ...counts.map(own => {
        const most = Math.max(...own, 1);
        return make(
          "td",
          {class: "histogram"},
          make("i", {class: i === WAITS.length ? "hbar still" : "hbar", style: {width: `${(70 * own[i]) / most}%`}}),
          make("span", {}, own[i].toLocaleString("en")),
        );
      }),
    );
  });
  host.replaceChildren(
    make(
      "table",
      {class: "waiting"},
      make(
        "thead",
        {},
        make("tr", {}, make("th", {}, "waited"), ...of.map(one => make("th", {scope: "col"}, one.label))),
      ),
      make("tbody", {}, ...rows),
    ),
  );
}
