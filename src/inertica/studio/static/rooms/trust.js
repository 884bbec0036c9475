// Trust: the verdict, what is known, torque measured and predicted, friction, bodies, and two results beside each other.

import { Charts, plot } from "../charts.js";
import { banner, h, heading, number, post, same, series, sortable, trying, unit } from "../dom.js";
import { progress, select, tick } from "../forms.js";

export const staged = true;

export function create(app) {
  const element = h("div");
  const preparing = progress(app, "trust", "prepare");
  const charts = new Charts({ onCursor: (t) => app.viewer.follow(t) });
  let view = null, log = 0, joint = -1, smooth = true, played = null, friction = h("div");

  function show(found) {
    view = found;
    if (!view.selected) { element.replaceChildren(...[heading("Trust", "Which values are known and how well, and how the model predicts."), h("p.empty", {}, "There is no result yet; make one in the room Identify."), same(view)].filter(Boolean)); return; }
    const choose = select("Result", view.results, view.selected, (result) => trying(() => post("trust/select", { result })));
    const report = view.report ? h("a", { href: `/files/results/${view.selected}/report.html`, target: "_blank", rel: "noopener" }, "Full report") : null;
    const next = h("button.primary", { type: "button", onclick: () => { location.hash = "export"; } }, "Next: export");
    const s = view.summary;
    element.replaceChildren(...[heading("Trust", "Which values are known and how well, and how the model predicts.", choose, report, next),
      s ? h("section.banner", { class: s.verdict.level }, ...banner(s.verdict)) : prepare(),
      map(), s?.logs.length ? torque() : null, s?.friction.length ? frictionCard() : null, table(), base(), same(view)].filter(Boolean));
    if (s) {
      app.viewer.bodies(s.before, s.after);
      if (s.logs.length) { drawTorque(); poses(); }
      if (s.friction.length) drawFriction();
    }
  }

  function prepare() {
    const start = h("button.primary", { type: "button", onclick: () => app.begin("trust", "prepare", { result: view.selected }, start) }, "Work out torques and friction");
    return h("section.card", {}, h("h2", {}, "This result was made elsewhere"), h("div.row", {}, start), preparing);
  }

  const label = (word) => view.labels.find((l) => l.word === word);

  function map() {
    const kinds = [...new Set(view.cells.flatMap((row) => Object.keys(row)))];
    const by = Object.fromEntries(view.parameters.map((p) => [p.name, p]));
    const cell = (name) => { if (!name) return h("td"); const l = label(by[name].label); return h("td", { style: `background: ${l.fill}; color: ${l.ink}`, title: `${name} = ${number(by[name].value)} ${unit(by[name].unit)}: ${l.word}` }, l.letter); };
    const used = view.labels.filter((l) => view.parameters.some((p) => p.label === l.word));
    return h("section.card", {}, h("h2", {}, "What is known"), h("div.scroll", { tabIndex: 0, role: "region", "aria-label": "map of trust", style: "border: 0" }, h("table.map", {}, h("caption", { hidden: true }, "links as rows, parameters as columns"), h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "link"), kinds.map((k) => h("th", { scope: "col" }, h("abbr", { title: view.symbols[k] }, k))))),
      h("tbody", {}, view.cells.map((row, j) => h("tr", { onmouseenter: () => app.viewer.highlight(j), onmouseleave: () => app.viewer.highlight(-1) }, h("th", { scope: "row" }, view.joints[j].link), kinds.map((k) => cell(row[k]))))))),
      h("details", { style: "margin-top: 8px" }, h("summary", { className: "small" }, "What the symbols stand for"), h("div.key", {}, kinds.map((k) => h("span", {}, h("b", {}, k), ` ${view.symbols[k]}`)))),
      h("div.key", {}, used.map((l) => h("span", { title: l.says }, h("i", { style: `background: ${l.fill}; color: ${l.ink}` }, l.letter), `${l.word}: ${l.says}`))));
  }

  function torque() {
    const logs = select("Log", view.summary.logs.map((l, k) => [String(k), `${l.name} (${l.set})`]), String(log), (k) => { log = Number(k); played = null; drawTorque(); poses(); });
    const joints = select("Joint", [["-1", "all"], ...view.joints.map((j, k) => [String(k), j.name])], String(joint), (k) => { joint = Number(k); drawTorque(); });
    const low = tick("low-passed", smooth, (on) => { smooth = on; drawTorque(); });
    return h("section.card", {}, h("h2", {}, "Torque, measured and predicted"), h("div.row", { style: "align-items: end; margin-bottom: 8px" }, logs, joints, low, h("span.grow"), h("button.small", { type: "button", onclick: () => charts.zoom(...charts.whole) }, "Show all")),
      h("div.key", { style: "margin: 0 0 6px" }, [["measured", "measured"], ["predicted", "predicted"], ["residual", "residual"]].map(([k, c]) => h("span", {}, h("i", { style: `background: var(--${c}); height: 4px; width: 18px` }), k))), charts.element, h("p.small.soft", {}, "Drag to zoom, double click shows all; the robot follows the cursor."));
  }

  async function drawTorque() {
    const [name, number_] = [view.selected, log];
    const listed = joint < 0 ? view.joints.map((_, j) => j) : [joint];
    const whole = await trying(() => series("trust/series/position", { result: name, log_number: number_, width: 2 }));
    if (!whole || name !== view.selected) return;
    await trying(() => charts.set(listed.map((j) => ({ title: view.joints[j].name, unit: view.joints[j].effort, height: joint < 0 ? 110 : 260, legend: joint >= 0,
      series: [{ label: "measured", colour: "measured", width: 3 }, { label: "predicted", colour: "predicted", width: 1.2 }, { label: "residual", colour: "residual", width: 1 }],
      fetch: (from, to, width) => series("trust/series/torque", { result: name, log_number: number_, joint: j, smooth: smooth ? "yes" : "no", from, to, width }) })), [whole.t[0], whole.t[whole.t.length - 1]]));
  }

  async function poses() {
    const key = `${view.selected} ${log}`;
    if (played === key) return;
    const found = await trying(() => series("trust/series/position", { result: view.selected, log_number: log, width: 1500 }));
    if (!found) return;
    played = key;
    app.viewer.play(found.t, (k) => found.values.map((v) => v[k]), "time of the log");
    app.viewer.player.moved = (t) => app.viewer.playing && charts.mark(t);
  }

  function frictionCard() {
    friction = h("div", { style: "display: grid; grid-template-columns: repeat(auto-fill, minmax(220px, 1fr)); gap: 8px" });
    return h("section.card", {}, h("h2", {}, "Friction over velocity"), h("p.small.soft", {}, "Points: what the rest of the model leaves of the measured torque. Line: the identified law; grey lines: its least and largest, where it grows with what rests on the joint."), friction);
  }

  function drawFriction() {
    friction.replaceChildren(...view.summary.friction.map(() => h("div.chart")));
    view.summary.friction.forEach((f, j) => {
      const ends = f.low ? [["least load", f.low], ["largest load", f.high]] : [];  // of a joint whose friction grows with what rests on it
      const none = ends.map(() => null);
      const rows = [...f.dq.map((x, k) => [x, f.law[k], null, ...ends.map(([, y]) => y[k])]), ...f.speed.map((x, k) => [x, null, f.torque[k], ...none])].sort((a, b) => a[0] - b[0]);
      plot(friction.children[j], { x: rows.map((r) => r[0]), lines: [{ label: "data", colour: "residual", values: rows.map((r) => r[2]), points: true }, ...ends.map(([label], k) => ({ label, colour: "soft", values: rows.map((r) => r[3 + k]) })), { label: "law", colour: "predicted", values: rows.map((r) => r[1]) }], title: `${view.joints[j].name} (${view.joints[j].effort})`, xLabel: `${view.joints[j].unit}/s`, height: 170 });
    });
  }

  function table() {
    const width = ([low, high]) => (low === null || high === null ? null : high - low);
    const span = ([low, high]) => (low === null || high === null ? "–" : `${number(low, 3)} to ${number(high, 3)}`);
    const kinds = {
      number: (c) => ({ num: true, cell: (p) => number(p[c.name]) }),
      interval: (c) => ({ num: true, value: (p) => width(p[c.name]), cell: (p) => span(p[c.name]) }),
      unit: (c) => ({ cell: (p) => h("span.unit", {}, unit(p[c.name])) }),
      label: (c) => ({ value: (p) => view.labels.findIndex((l) => l.word === p[c.name]), cell: (p) => h("span.tag", { style: `background: ${label(p[c.name]).fill}; color: ${label(p[c.name]).ink}; border-color: var(--rule)` }, p[c.name]) }),
      text: (c) => ({ cell: (p) => (c.name === "name" ? h("code", {}, p.name) : p[c.name]) }),
    };
    const columns = view.columns.filter((c) => c.title).map((c) => ({ title: c.title, wide: c.wide ? "wide" : c.name === "link" ? "wider" : null, value: (p) => p[c.name], ...kinds[c.kind](c) }));
    const rows = sortable("Standard parameters", columns, view.parameters, { row: (p) => ({ onmouseenter: () => p.index !== null && app.viewer.highlight(p.index), onmouseleave: () => app.viewer.highlight(-1) }) });
    rows.id = "parameters";
    const search = h("input", { type: "search", placeholder: "as in: Fv determined", "aria-label": "filter parameters", oninput: () => { const words = search.value.toLowerCase().split(/\s+/).filter(Boolean); rows.filter((p) => words.every((w) => `${p.name} ${p.link} ${p.label}`.toLowerCase().includes(w))); } });
    return h("section.card", {}, h("h2", {}, "Standard parameters", search), rows);
  }

  function base() {
    const columns = [{ title: "name", value: (b) => b.name, cell: (b) => h("code", {}, b.name) }, { title: "value", num: true, value: (b) => b.value, cell: (b) => number(b.value) }, { title: "± 95 %", num: true, value: (b) => b.std, cell: (b) => (b.std === null ? "–" : number(1.96 * b.std, 3)) }, { title: "consists of", cell: (b) => h("code", {}, b.relation) }];
    return h("details.card", {}, h("summary", {}, `${view.base.length} base parameters: the combinations that torque depends on`), sortable("Base parameters", columns, view.base));
  }

  return { element, show, news: () => preparing.news(), leave: () => { charts.clear(); app.viewer.highlight(-1); }, theme: () => view?.summary && (drawTorque(), drawFriction()) };
}
