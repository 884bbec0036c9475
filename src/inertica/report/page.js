// What makes the report move: sortable tables with search, plots with zoom and linked axes, the robot in three dimensions.
// Everything is drawn by the report already and prints without this; nothing is read until somebody points at it.
"use strict";
(() => {
  const FINE = 10; // paths are written in integers of a tenth of a pixel
  const number = (x, digits = 6) => String(+x.toPrecision(digits));
  const clamp = (x, low, high) => Math.min(Math.max(x, low), high);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const escaped = (words) => String(words).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

  function floats(text) {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return new Float32Array(bytes.buffer);
  }

  // ---- theme ------------------------------------------------------------------------------------------------------------

  const THEMES = ["auto", "light", "dark"];

  function nextTheme(button) {
    const now = THEMES[(THEMES.indexOf(document.documentElement.dataset.theme || "auto") + 1) % THEMES.length];
    document.documentElement.dataset.theme = now;
    button.textContent = `theme: ${now}`;
  }

  // ---- tables -----------------------------------------------------------------------------------------------------------

  function sortBy(head) {
    const table = head.closest("table"), column = [...head.parentElement.children].indexOf(head);
    const down = head.getAttribute("aria-sort") === "ascending";
    all("th", head.parentElement).forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => {
      const cell = row.children[column], stated = cell.dataset.v;
      return stated === undefined ? cell.textContent : stated === "" ? NaN : +stated;
    };
    const compare = (a, b) => {
      if (typeof a === "string") return a.localeCompare(b, undefined, { numeric: true });
      if (Number.isNaN(a) || Number.isNaN(b)) return (Number.isNaN(a) - Number.isNaN(b)) * (down ? -1 : 1); // no number: last
      return a - b;
    };
    const body = table.tBodies[0], rows = [...body.rows].map((row) => [key(row), row]);
    rows.sort((a, b) => (down ? -1 : 1) * compare(a[0], b[0]));
    body.append(...rows.map(([, row]) => row));
  }

  function search(input) {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = all(`#${input.dataset.table} tbody tr`);
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    const count = document.getElementById(`${input.dataset.table}-count`);
    count.textContent = words.length ? `${shown} of ${rows.length}` : "";
  }

  // ---- plots ------------------------------------------------------------------------------------------------------------

  function niceTicks(low, high, most) {
    const span = high - low;
    if (!(span > 0 && Number.isFinite(span))) return [low];
    const power = 10 ** Math.floor(Math.log10(span / most));
    let ticks = [];
    for (const factor of [1, 2, 5, 10, 20]) {
      const step = factor * power;
      ticks = [];
      for (let k = Math.ceil(low / step - 1e-9); k <= Math.floor(high / step + 1e-9); k++) ticks.push(k * step);
      if (ticks.length <= most) break;
    }
    return ticks;
  }

  // The numbers behind a path: as the report stored them, or else read from the path itself.
  function numbersOf(path, plot, panel) {
    const stored = path.dataset.f32;
    if (stored) {
      const [start, step, text] = stored.split(" ");
      const y = floats(text);
      return { x: Float64Array.from(y, (_, i) => +start + i * +step), y };
    }
    const x = [], y = [], toX = (v) => plot.inverseX(v / FINE), toY = (v) => panel.inverseY(v / FINE);
    for (const [, command, inside] of path.getAttribute("d").matchAll(/([Mlh])([^Mlh]*)/g)) {
      const values = inside.trim().split(/\s+/).map(Number);
      if (command === "M") {
        if (x.length && path.classList.contains("line")) { x.push(NaN); y.push(NaN); } // a line that breaks
        x.push(values[0]); y.push(values[1]);
      } else if (command === "l") {
        for (let k = 0; k + 1 < values.length; k += 2) { x.push(x.at(-1) + values[k]); y.push(y.at(-1) + values[k + 1]); }
      }
    }
    return { x: Float64Array.from(x, toX), y: Float64Array.from(y, toY) };
  }

  class Panel {
    constructor(group, plot) {
      this.group = group;
      this.plot = plot;
      [this.top, this.height, this.low, this.high] = group.dataset.box.split(" ").map(Number);
      this.home = [this.low, this.high];
      this.fixed = group.hasAttribute("data-fixed");
      this.series = all("path.line, path.thin, path.points, path.marks", group).map((path) => ({
        path, dots: path.matches(".points, .marks"), name: path.dataset.name || "", ...numbersOf(path, plot, this),
      }));
      this.bars = all("rect.bar", group).map((rect) => {
        const [x, y, width, height] = ["x", "y", "width", "height"].map((name) => +rect.getAttribute(name));
        return { rect, low: plot.inverseX(x), high: plot.inverseX(x + width), y, height };
      });
    }

    inverseY(v) { return this.low + (1 - (v - this.top) / this.height) * (this.high - this.low); }

    y(value) {
      const share = (value - this.low) / (this.high - this.low);
      return this.top + this.height * (1 - clamp(share, -0.02, 1.02));
    }

    // The range of what is visible, so that a zoom shows all of it.
    fit() {
      [this.low, this.high] = this.home;
      const [x0, x1] = this.plot.x;
      if (this.fixed || this.bars.length || (x0 === this.plot.home[0] && x1 === this.plot.home[1])) return;
      let low = Infinity, high = -Infinity;
      for (const s of this.series) {
        if (s.path.style.display === "none") continue;
        for (let i = 0; i < s.x.length; i++) {
          if (s.x[i] >= x0 && s.x[i] <= x1 && Number.isFinite(s.y[i])) { low = Math.min(low, s.y[i]); high = Math.max(high, s.y[i]); }
        }
      }
      if (!(high > low)) return;
      const pad = 0.05 * (high - low);
      [this.low, this.high] = [low - pad, high + pad];
    }

    draw(last) {
      this.fit();
      const { left, right, width } = this.plot, bottom = this.top + this.height, edge = width - right, out = [];
      out.push(`<path class="axis" d="M${left} ${this.top}V${bottom}H${edge}"/>`);
      for (const value of niceTicks(this.low, this.high, Math.max(3, Math.floor(this.height / 25)))) {
        const y = this.y(value);
        out.push(`<path class="axis" d="M${left - 4} ${y}H${left}"/><text x="${left - 7}" y="${y + 4}" text-anchor="end">${number(value)}</text>`);
      }
      if (last) {
        for (const value of niceTicks(...this.plot.x, width > 600 ? 14 : 7)) {
          const x = this.plot.toX(value), anchor = x > edge - 1 ? "end" : "middle";
          out.push(`<path class="axis" d="M${x} ${bottom}v4"/><text x="${x}" y="${bottom + 15}" text-anchor="${anchor}">${number(value)}</text>`);
        }
      }
      if (this.group.hasAttribute("data-zero") && this.low < 0 && this.high > 0) {
        out.push(`<path class="zero" d="M${left} ${this.y(0)}H${edge}"/>`);
      }
      this.group.querySelector(".ticks").innerHTML = out.join("");
      for (const label of all(".name", this.group)) {
        if (label.dataset.along === "x") label.setAttribute("x", (left + edge) / 2);
      }
      for (const s of this.series) s.path.setAttribute("d", s.dots ? this.dots(s) : this.line(s));
      for (const bar of this.bars) this.place(bar);
    }

    place({ rect, low, high }) {
      const [x0, x1] = this.plot.x, a = this.plot.toX(clamp(low, x0, x1)), b = this.plot.toX(clamp(high, x0, x1));
      rect.setAttribute("x", a);
      rect.setAttribute("width", Math.max(b - a, 0));
    }

    dots({ x, y }) {
      const [x0, x1] = this.plot.x, out = [];
      for (let i = 0; i < x.length; i++) {
        if (x[i] >= x0 && x[i] <= x1) out.push(`M${Math.round(FINE * this.plot.toX(x[i]))} ${Math.round(FINE * this.y(y[i]))}h0`);
      }
      return out.join("");
    }

    // Samples between the bounds, of each pixel column the extremes, cut at the bounds.
    line({ x, y }) {
      const [x0, x1] = this.plot.x, columns = this.plot.width, out = [];
      let from = 0, to = x.length;
      while (from < to && !(x[from] >= x0)) from++;
      while (to > from && !(x[to - 1] <= x1)) to--;
      const point = (a, b, move) => {
        out.push(`${move ? "M" : "L"}${Math.round(FINE * this.plot.toX(a))} ${Math.round(FINE * this.y(b))}`);
      };
      const between = (i, at) => y[i - 1] + ((at - x[i - 1]) / (x[i] - x[i - 1])) * (y[i] - y[i - 1]);
      let pen = false;
      const go = (a, b) => { if (Number.isFinite(b)) { point(a, b, !pen); pen = true; } else pen = false; };
      if (from > 0 && from < x.length) go(x0, between(from, x0));
      const size = Math.max(1, Math.floor((to - from) / columns));
      if (size < 3) for (let i = from; i < to; i++) go(x[i], y[i]);
      else {
        for (let start = from; start < to; start += size) {
          let low = start, high = start;
          for (let i = start; i < Math.min(start + size, to); i++) { if (y[i] < y[low]) low = i; if (y[i] > y[high]) high = i; }
          for (const i of low < high ? [low, high] : [high, low]) go(x[i], y[i]);
        }
      }
      if (to > 0 && to < x.length) go(x1, between(to, x1));
      return out.join("") || "M0 0";
    }

    at(value) {
      const said = [];
      for (const s of this.series) {
        if (!s.name || s.dots || s.path.style.display === "none") continue;
        let best = 0;
        for (let i = 1; i < s.x.length; i++) if (Math.abs(s.x[i] - value) < Math.abs(s.x[best] - value)) best = i;
        if (Number.isFinite(s.y[best])) said.push(`${s.name} ${number(s.y[best], 4)}`);
      }
      return said;
    }
  }

  class Plot {
    constructor(figure) {
      this.figure = figure;
      this.svg = figure.querySelector("svg");
      [this.left, this.right, this.width, this.height] = this.svg.dataset.frame.split(" ").map(Number);
      this.own = this.width;
      this.home = this.svg.dataset.x.split(" ").map(Number);
      this.x = [...this.home];
      this.panels = all("g.panel", this.svg).map((group) => new Panel(group, this));
    }

    toX(value) { return this.left + ((value - this.x[0]) / (this.x[1] - this.x[0])) * (this.width - this.left - this.right); }

    inverseX(v) { return this.x[0] + ((v - this.left) / (this.width - this.left - this.right)) * (this.x[1] - this.x[0]); }

    // The value of x under a pointer.
    under(event) {
      const box = this.svg.getBoundingClientRect();
      return clamp(this.inverseX(((event.clientX - box.left) / box.width) * this.width), ...this.x);
    }

    draw() {
      this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
      this.panels.forEach((panel, k) => panel.draw(k === this.panels.length - 1));
      this.svg.dataset.shown = this.x.map((v) => number(v, 9)).join(" ");
    }

    mark(from, to) {
      let box = this.svg.querySelector(".mark");
      if (from === null) return box && box.remove();
      if (!box) {
        box = document.createElementNS(this.svg.namespaceURI, "rect");
        box.setAttribute("class", "mark");
        this.svg.append(box);
      }
      const [a, b] = [this.toX(Math.min(from, to)), this.toX(Math.max(from, to))];
      const last = this.panels.at(-1), top = this.panels[0].top;
      const place = { x: a, y: top, width: Math.max(b - a, 0.7), height: last.top + last.height - top };
      for (const [name, value] of Object.entries(place)) box.setAttribute(name, value);
      return box;
    }

    say(words) {
      let line = this.figure.querySelector(".readout");
      if (!line) {
        line = document.createElement("span");
        line.className = "readout";
        this.figure.querySelector("figcaption").append(line);
      }
      line.textContent = words;
    }
  }

  const plots = new WeakMap();

  function plotOf(element) {
    const figure = element.closest && element.closest("figure.plot");
    if (!figure) return null;
    if (!plots.has(figure)) plots.set(figure, new Plot(figure));
    return plots.get(figure);
  }

  const linked = (plot) => {
    const link = plot.svg.dataset.link;
    return link ? all(`svg[data-link="${link}"]`).map(plotOf) : [plot];
  };

  function zoom(plot, from, to) {
    const [low, high] = plot.home, least = 1e-5 * (high - low);
    let [a, b] = [Math.max(Math.min(from, to), low), Math.min(Math.max(from, to), high)];
    if (b - a < least) return;
    for (const other of linked(plot)) { other.x = [a, b]; other.draw(); other.mark(null); other.say(""); }
  }

  // the cursor at a value of x, and what the curves are there, in all plots that move together
  function follow(plot, x) {
    for (const other of linked(plot)) {
      other.mark(x, x);
      const said = other.panels.flatMap((panel) => panel.at(x));
      other.say(said.length ? ` at ${number(x, 5)}: ${said.join(", ")}` : "");
    }
  }

  const STEPS = { in: [0.25, -0.25], out: [-0.5, 0.5], left: [-0.5, -0.5], right: [0.5, 0.5] };

  function step(plot, way) {
    const [a, b] = plot.x, [low, high] = plot.home, span = b - a;
    if (way === "reset") return zoom(plot, low, high);
    const [p, q] = STEPS[way];
    let [from, to] = [a + p * span, b + q * span];
    if (p === q) { const shift = clamp(0, low - from, high - to); from += shift; to += shift; }
    return zoom(plot, from, to);
  }

  let dragged = null;

  function pointerDown(event) {
    const plot = event.target.closest("figure.plot svg") && plotOf(event.target);
    if (!plot || event.button) return;
    dragged = { plot, from: plot.under(event) };
    event.preventDefault();
    plot.svg.focus({ preventScroll: true });
  }

  function pointerMove(event) {
    if (dragged) return void dragged.plot.mark(dragged.from, dragged.plot.under(event));
    const plot = event.target.closest && event.target.closest("figure.plot svg") && plotOf(event.target);
    if (!plot || event.pointerType === "touch") return;
    follow(plot, plot.under(event));
  }

  function pointerUp(event) {
    if (!dragged) return;
    const { plot, from } = dragged, to = plot.under(event);
    dragged = null;
    plot.mark(null);
    const pixels = Math.abs(plot.toX(to) - plot.toX(from));
    if (pixels > 4) zoom(plot, from, to);
    if (plot.svg.contains(event.target)) follow(plot, plot.under(event));
  }

  function pointerOut(event) {
    const plot = !dragged && event.target.closest && event.target.closest("figure.plot svg") && plotOf(event.target);
    if (plot && !plot.svg.contains(event.relatedTarget)) for (const other of linked(plot)) { other.mark(null); other.say(""); }
  }

  const KEYS = { "+": "in", "=": "in", "-": "out", ArrowLeft: "left", ArrowRight: "right", 0: "reset", Escape: "reset" };

  function keyDown(event) {
    const plot = event.target.closest && event.target.closest("figure.plot svg") && plotOf(event.target);
    if (!plot || !KEYS[event.key] || event.ctrlKey || event.metaKey) return;
    step(plot, KEYS[event.key]);
    event.preventDefault();
  }

  // One entry of a key shows or hides its curves in the section.
  function toggle(button) {
    const on = button.getAttribute("aria-pressed") !== "true", name = button.dataset.series, place = button.closest("section");
    for (const other of all(`button[data-series="${name}"]`, place)) other.setAttribute("aria-pressed", on);
    for (const path of all(`figure .c-${name}`, place)) path.style.display = on ? "" : "none";
  }

  function enlarge(button) {
    const plot = plotOf(button), big = plot.figure.classList.toggle("big");
    button.setAttribute("aria-pressed", big);
    plot.width = big ? 1.8 * plot.own : plot.own; // drawn larger, too
    plot.draw();
  }

  // ---- heat map ---------------------------------------------------------------------------------------------------------

  function overMap(event) {
    const svg = event.target.closest && event.target.closest("svg[data-cells]");
    if (!svg) return;
    svg.values ||= { names: JSON.parse(svg.dataset.names), cells: floats(svg.dataset.cells) };
    const { names, cells } = svg.values, n = names.length, box = svg.getBoundingClientRect();
    const [left, top, size, width] = svg.dataset.frame.split(" ").map(Number), scale = width / box.width;
    const i = Math.floor(((event.clientY - box.top) * scale - top) / size), j = Math.floor(((event.clientX - box.left) * scale - left) / size);
    const inside = i >= 0 && j >= 0 && i < n && j < n;
    svg.parentElement.querySelector(".readout").textContent = inside ? ` ${names[i]}, ${names[j]}: ${number(cells[i * n + j], 3)}` : "";
  }

  // ---- the robot --------------------------------------------------------------------------------------------------------

  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
  const add = (a, b, k = 1) => [a[0] + k * b[0], a[1] + k * b[1], a[2] + k * b[2]];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const apply = (R, v) => R.map((row) => dot(row, v));
  const turn = (axis, angle, v) => {
    const c = Math.cos(angle), s = Math.sin(angle), w = cross(axis, v), along = dot(axis, v) * (1 - c);
    return [0, 1, 2].map((i) => c * v[i] + s * w[i] + along * axis[i]);
  };

  class View {
    constructor(figure) {
      this.figure = figure;
      this.svg = figure.querySelector("svg");
      this.data = JSON.parse(figure.querySelector("script").textContent);
      Object.assign(this, { azimuth: -0.9, elevation: 0.35, zoom: 1, pose: 0, shown: { before: true, after: true } });
      this.draw();
    }

    // Link frames: origin, pivot, and a function that turns vectors of the link into the base's.
    frames() {
      const q = this.data.poses[this.pose], out = [];
      this.data.joints.forEach((joint, i) => {
        const up = joint.parent >= 0 ? out[joint.parent] : { origin: [0, 0, 0], turned: (v) => v };
        const spin = joint.prismatic ? (v) => v : (v) => turn(joint.axis, q[i], v);
        const turned = (v) => up.turned(apply(joint.rotation, spin(v)));
        const slide = joint.prismatic ? apply(joint.rotation, joint.axis).map((x) => q[i] * x) : [0, 0, 0];
        const pivot = add(up.origin, up.turned(add(joint.position, slide)));
        out.push({ turned, pivot, origin: add(pivot, turned(joint.arm)), axis: turned(joint.axis), parent: up.origin });
      });
      return out;
    }

    draw() {
      const [sa, ca, se, ce] = [Math.sin(this.azimuth), Math.cos(this.azimuth), Math.sin(this.elevation), Math.cos(this.elevation)];
      const right = [-sa, ca, 0], toward = [ca * ce, sa * ce, se], above = [-ca * se, -sa * se, ce];
      const { centre, radius } = this.data, size = 480, k = (this.zoom * 0.46 * size) / radius;
      const place = (v) => {
        const r = add(v, centre, -1);
        return [size / 2 + k * dot(right, r), size / 2 - k * dot(above, r), dot(toward, r)];
      };
      const path = (points) => points.map((p, i) => `${i ? "L" : "M"}${p[0].toFixed(1)} ${p[1].toFixed(1)}`).join("");
      const items = [], frames = this.frames();
      const line = (a, b, kind) => items.push([(place(a)[2] + place(b)[2]) / 2, `<path class="${kind}" d="${path([place(a), place(b)])}"/>`]);
      frames.forEach((f, i) => {
        line(f.parent, f.pivot, "bone");
        if (Math.hypot(...add(f.origin, f.pivot, -1)) > 1e-9) line(f.pivot, f.origin, "bone");
        line(add(f.pivot, f.axis, -0.05 * radius), add(f.pivot, f.axis, 0.05 * radius), "joint");
        for (const face of (this.data.faces || [])[i] || []) {
          const points = face.map((v) => place(add(f.origin, f.turned(v))));
          const depth = points.reduce((sum, p) => sum + p[2], 0) / points.length;
          items.push([depth, `<path class="skin" d="${path(points)}Z"/>`]);
        }
      });
      for (const kind of ["before", "after"]) {
        if (this.shown[kind]) this.data[kind].forEach((body, i) => body && items.push(this.ellipsoid(body, frames[i], place, k, kind, [right, above])));
      }
      items.sort((a, b) => a[0] - b[0]);
      this.svg.innerHTML = this.ground(place, path) + items.map(([, text]) => text).join("") + this.triad(right, above);
      this.svg.dataset.view = [this.azimuth, this.elevation, this.zoom, this.pose].map((v) => number(v, 4)).join(" ");
    }

    // An ellipsoid seen from far away is an ellipse: that of the projected axes.
    ellipsoid(body, frame, place, k, kind, [right, above]) {
      const axes = body.axes.map((a) => frame.turned(a)), at = add(frame.origin, frame.turned(body.com)), [x, y, depth] = place(at);
      let [xx, xy, yy] = [0, 0, 0];
      for (const a of axes) { const u = k * dot(right, a), v = -k * dot(above, a); xx += u * u; xy += u * v; yy += v * v; }
      const mean = (xx + yy) / 2, off = Math.hypot((xx - yy) / 2, xy), angle = (Math.atan2(2 * xy, xx - yy) / 2) * (180 / Math.PI);
      const radii = [Math.sqrt(mean + off), Math.sqrt(Math.max(mean - off, 0))].map((r) => Math.max(r, 1.5).toFixed(1));
      const rings = [[0, 1], [1, 2], [2, 0]].map(([p, q]) => {
        const points = Array.from({ length: 33 }, (_, i) => place(add(add(at, axes[p], Math.cos((i * Math.PI) / 16)), axes[q], Math.sin((i * Math.PI) / 16))));
        return `M${points.map((v) => `${v[0].toFixed(1)} ${v[1].toFixed(1)}`).join("L")}`;
      });
      const turned = `translate(${x.toFixed(1)} ${y.toFixed(1)}) rotate(${angle.toFixed(2)})`;
      const shape = `<ellipse transform="${turned}" rx="${radii[0]}" ry="${radii[1]}"/>`;
      return [depth, `<g class="body ${kind}${body.possible ? "" : " impossible"}"><title>${escaped(body.words)}</title>${shape}<path d="${rings.join("")}"/><circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="2"/></g>`];
    }

    ground(place, path) {
      const reach = this.data.radius, out = [];
      for (let i = -4; i <= 4; i++) {
        const a = (i / 4) * reach;
        out.push(path([place([a, -reach, 0]), place([a, reach, 0])]), path([place([-reach, a, 0]), place([reach, a, 0])]));
      }
      return `<path class="ground" d="${out.join("")}"/>`;
    }

    triad(right, above) {
      return ["x", "y", "z"].map((name, i) => {
        const u = 28 * right[i], v = -28 * above[i];
        return `<path class="axis" d="M40 440l${u.toFixed(1)} ${v.toFixed(1)}"/><text x="${(40 + 1.3 * u).toFixed(1)}" y="${(444 + 1.3 * v).toFixed(1)}" text-anchor="middle">${name}</text>`;
      }).join("");
    }

    rotate(along, up) {
      this.azimuth -= along;
      this.elevation = clamp(this.elevation + up, -1.57, 1.57);
      this.draw();
    }
  }

  const TURNS = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] };

  function watchRobot(figure) {
    const view = new View(figure), svg = view.svg;
    let last = null;
    svg.addEventListener("pointerdown", (event) => { last = event; svg.setPointerCapture(event.pointerId); });
    svg.addEventListener("pointermove", (event) => {
      if (!last) return;
      view.rotate((event.clientX - last.clientX) / 150, (event.clientY - last.clientY) / 150);
      last = event;
    });
    for (const kind of ["pointerup", "pointercancel"]) svg.addEventListener(kind, () => { last = null; });
    svg.addEventListener("dblclick", () => { Object.assign(view, { azimuth: -0.9, elevation: 0.35, zoom: 1 }); view.draw(); });
    svg.addEventListener("keydown", (event) => {
      if (event.key === "+" || event.key === "-") { view.zoom *= event.key === "+" ? 1.2 : 1 / 1.2; view.draw(); }
      else if (TURNS[event.key]) view.rotate(...TURNS[event.key]);
      else return;
      event.preventDefault();
    });
    for (const box of all("input[type=checkbox]", figure)) {
      box.addEventListener("change", () => { view.shown[box.value] = box.checked; view.draw(); });
    }
    for (const slider of all("input[type=range]", figure)) {
      const out = figure.querySelector("output");
      slider.addEventListener("input", () => { view.pose = +slider.value; out.textContent = `${number(view.data.times[view.pose], 4)} s`; view.draw(); });
    }
  }

  // ---- listening --------------------------------------------------------------------------------------------------------

  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.closest("th")) sortBy(button.closest("th"));
    else if (button.dataset.series) toggle(button);
    else if (button.dataset.zoom) step(plotOf(document.querySelector(`svg[data-link="${button.dataset.of}"]`)), button.dataset.zoom);
    else if (button.classList.contains("enlarge")) enlarge(button);
    else if (button.id === "theme") nextTheme(button);
    else if (button.dataset.copy) navigator.clipboard?.writeText(button.dataset.copy).then(() => { button.textContent = "copied"; });
  });
  document.addEventListener("input", (event) => event.target.matches("input[type=search]") && search(event.target));
  document.addEventListener("pointerdown", pointerDown);
  document.addEventListener("pointermove", (event) => { pointerMove(event); overMap(event); });
  document.addEventListener("pointerup", pointerUp);
  document.addEventListener("pointerout", pointerOut);
  document.addEventListener("dblclick", (event) => {
    const plot = event.target.closest("figure.plot svg") && plotOf(event.target);
    if (plot) step(plot, "reset");
  });
  document.addEventListener("keydown", keyDown);
  // details are opened for paper, and for that only
  let closed = [];
  addEventListener("beforeprint", () => { closed = all("details:not([open])"); closed.forEach((d) => { d.open = true; }); });
  addEventListener("afterprint", () => closed.forEach((d) => { d.open = false; }));
  all("figure.robot").forEach(watchRobot);
  document.documentElement.classList.add("live");
})();
