// Charts of long series: one uPlot per row, all with the same time axis and cursor; zooming fetches finer detail.

import uPlot from "./vendor/uplot.min.js";
import { h } from "./dom.js";

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
export const PALETTE = ["c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8"];
const AXIS = 75;  // pixels of a chart that are not the plot
let count = 0;

export class Charts {
  // options: onCursor(time), onZoom(from, to), bands(row) -> [{from, to, colour}] behind the chart of a row, height
  constructor(options = {}) {
    this.options = options;
    this.key = uPlot.sync(`charts-${++count}`);
    this.element = h("div.charts");
    this.rows = [];
    this.span = null;
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  // rows: [{title, unit, series: [{label, colour, width, gaps: drawn across}], fetch(from, to, width) -> {t, values}}]
  async set(rows, whole) {
    this.clear();
    this.whole = whole;
    this.span = [...whole];
    this.rows = rows.map((row) => ({ ...row, box: h("div.chart") }));
    this.element.replaceChildren(...this.rows.map((r) => r.box));
    await Promise.all(this.rows.map((row) => this.fill(row)));
  }

  // series with times of their own on one axis
  static joined(list) {
    const [t, ...values] = uPlot.join(list.map((s) => [s.t, s.values]));
    return { t, values };
  }

  clear() {
    for (const row of this.rows) row.plot?.destroy();
    this.rows = [];
    this.element.replaceChildren();
  }

  get width() {
    return Math.max(this.element.clientWidth, 200);
  }

  async fill(row) {
    const [from, to] = this.span;
    const asked = (row.asked = Symbol("asked"));
    const found = await row.fetch(from, to, Math.round(this.width - AXIS));
    if (row.asked !== asked || !this.rows.includes(row)) return;
    const data = [found.t, ...found.values.map((v) => (v.some(Number.isNaN) ? Array.from(v, (x) => (Number.isNaN(x) ? null : x)) : v))];
    if (!row.plot) { this.make(row, data); return; }
    row.fresh = data;
    this.soon();
  }

  // redraws with the next frame what has new data or another span, all of it at once and only once
  soon() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      const [min, max] = this.span ?? [];
      for (const row of this.rows) {
        const { plot, fresh } = row;
        if (!plot || (!fresh && plot.scales.x.min === min && plot.scales.x.max === max)) continue;
        row.fresh = null;
        plot.batch(() => { if (fresh) plot.setData(fresh, false); plot.setScale("x", { min, max }); });
        row.box.dataset.points = (fresh ?? plot.data)[0].length;
      }
    });
  }

  // hands on the time under the cursor, once for all charts that share it and once in a frame
  follow(event, time) {
    if (event === this.followed) return;
    this.followed = event;
    if (this.time === undefined) requestAnimationFrame(() => { const now = this.time; this.time = undefined; this.options.onCursor?.(now); });
    this.time = time;
  }

  make(row, data) {
    const axis = { stroke: css("soft"), grid: { stroke: css("rule"), width: 1 }, ticks: { stroke: css("rule"), width: 1 }, font: "11px system-ui" };
    const last = this.rows.at(-1) === row;
    const options = {
      padding: [4, 12, 0, 0], width: this.width, height: row.height ?? this.options.height ?? 120, title: `${row.title}${row.unit ? ` (${row.unit})` : ""}`,
      legend: { show: row.legend ?? false, live: true },
      cursor: { sync: { key: this.key.key, setSeries: false }, drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
      scales: { x: { time: false, min: this.span[0], max: this.span[1] } },
      axes: [{ ...axis, size: last ? 30 : 18, values: last ? (_, v) => v.map((x) => `${x} s`) : (_, v) => v.map(() => "") }, { ...axis, size: 58, space: 17 }],
      series: [{ label: "time" }, ...row.series.map((s) => ({ label: s.label, stroke: s.colour.startsWith("#") ? s.colour : css(s.colour), width: s.width ?? 1, spanGaps: Boolean(s.gaps), points: { show: false }, value: (_, v) => (v === null || v === undefined ? "–" : v.toPrecision(4)) }))],
      hooks: {
        setCursor: [(u) => { if (u.cursor.left >= 0 && u.cursor.event) this.follow(u.cursor.event, u.posToVal(u.cursor.left, "x")); }],
        setSelect: [(u) => {
          if (u.select.width < 4) return;
          const [a, b] = [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")];
          u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
          this.zoom(a, b);
        }],
        drawClear: [(u) => this.bands(u, this.rows.indexOf(row))],
        ready: [(u) => u.over.addEventListener("dblclick", () => this.zoom(...this.whole))],
      },
    };
    row.plot = new uPlot(options, data, row.box);
    row.box.dataset.points = data[0].length;
  }

  bands(u, row) {
    const { left, top, width, height } = u.bbox;
    const colours = {};  // a computed style is dear
    for (const band of this.options.bands?.(row) ?? []) {
      const [a, b] = [u.valToPos(band.from, "x", true), u.valToPos(band.to, "x", true)];
      const [low, high] = [Math.max(a, left), Math.min(Math.max(b, a + 1.5), left + width)];
      if (high <= low) continue;
      u.ctx.save();
      u.ctx.globalAlpha = band.alpha ?? 0.16;
      u.ctx.fillStyle = colours[band.colour] ??= css(band.colour);
      u.ctx.fillRect(low, top, high - low, height);
      u.ctx.restore();
    }
  }

  async zoom(from, to) {
    this.span = [Math.max(from, this.whole[0]), Math.min(to, this.whole[1])];
    this.soon();
    this.options.onZoom?.(...this.span);
    return this.refill();
  }

  // finer detail for what is shown; while one answer is on its way, the last of several wishes counts
  async refill() {
    if (this.filling) { this.again = true; return; }
    this.filling = true;
    try {
      do {
        this.again = false;
        await Promise.all(this.rows.map((row) => this.fill(row)));
      } while (this.again);
    } finally {
      this.filling = false;
    }
  }

  // shows a time that comes from elsewhere, the player say
  mark(time) {
    for (const { plot } of this.rows) {
      if (!plot) continue;
      const left = plot.valToPos(time, "x");
      plot.setCursor({ left, top: plot.cursor.top < 0 ? 5 : plot.cursor.top }, false);
    }
  }

  redraw() {
    for (const { plot } of this.rows) plot?.redraw(false);
  }

  resize() {
    for (const { plot } of this.rows) if (plot && Math.abs(plot.width - this.width) > 2) plot.setSize({ width: this.width, height: plot.height });
  }
}

// one small chart of given points: x, lines [{label, colour, values, points}]
export function plot(box, { x, lines, height = 180, xLabel = "", title = "", log = false, xLog = false, legend = false }) {
  box.replaceChildren();
  const axis = { stroke: css("soft"), grid: { stroke: css("rule"), width: 1 }, ticks: { stroke: css("rule"), width: 1 }, font: "11px system-ui", labelFont: "11px system-ui", labelSize: 18 };
  const made = new uPlot({
    width: Math.max(box.clientWidth, 160), height, title, legend: { show: legend, live: false, markers: { width: 0, fill: (_, k) => (k ? css(lines[k - 1].colour) : "transparent") } }, cursor: { drag: { x: false, y: false } },
    scales: { x: { time: false, distr: xLog ? 3 : 1 }, y: { distr: log ? 3 : 1 } }, axes: [{ ...axis, size: 30, label: xLabel, space: 34 }, { ...axis, size: 54, space: 20 }],
    series: [{ label: xLabel || "x" }, ...lines.map((l) => ({ label: l.label, stroke: css(l.colour), width: l.points ? 0 : 1.8, spanGaps: !l.points, paths: l.points ? () => null : undefined, points: { show: Boolean(l.points || l.dots), size: l.size ?? 3, width: 0, fill: css(l.colour) } }))],
  }, [x, ...lines.map((l) => l.values)], box);
  return made;
}
