// Identify: what is fixed, what is chosen and why; results side by side.

import { PALETTE, plot } from "../charts.js";
import { banner, h, heading, number, percent, post, residual, same, seconds, trying } from "../dom.js";
import { numberField, progress, select, textField, tick } from "../forms.js";

const NAMES = { identification: "fitted", "hold-out": "left out" };

export function create(app) {
  const element = h("div");
  const running = progress(app, "identify", "run");
  let view = null, curves = [];

  function show(found) {
    view = found;
    curves = [];
    const next = h("button.primary", { type: "button", disabled: !view.results.length, onclick: () => { location.hash = "trust"; } }, "Next: trust");
    element.replaceChildren(...[heading("Identify", "From logs to parameters. Whatever is not stated is chosen on the data, with a reason.", next), form(), ...view.results.map(result), same(view)].filter(Boolean));
  }

  function form() {
    const s = view.settings;
    const method = select("Method", view.methods.map((m) => [m, m === "auto" ? "chosen on the data" : m]), s.method ?? "auto");
    const friction = select("Friction", [["auto", "chosen on the data"], ["none", "none"], ["laws", "these laws"]], s.friction ? (s.friction.length ? "laws" : "none") : "auto", () => { laws.hidden = friction.input.value !== "laws"; });
    const boxes = view.laws.map((name) => tick(name, s.friction?.includes(name)));
    const laws = h("fieldset", { hidden: friction.input.value !== "laws" }, h("legend", {}, "Friction laws on every joint"), h("div.row", {}, boxes));
    const filter = select("Filter of positions", [["", "chosen on the data"], ...view.filters.map((f) => [f, f])], s.filter ?? "");
    const cutoff = numberField("Cut-off (Hz)", s.cutoff, { placeholder: "chosen" }), delay = numberField("Torque delay (s)", s.delay, { placeholder: "chosen" });
    const velocity = select("Velocity", [["", "chosen on the data"], ["differences", "differences"], ["recorded", "as recorded"]], s.velocity ?? "");
    const quick = tick("quick: intervals without bias", Boolean(s.quick)), force = tick("fit even if the check finds a problem", Boolean(s.force));
    const name = textField("Name of the result", "", { placeholder: "result-…" });
    const asked = () => {
      const out = { method: method.input.value, quick: quick.input.checked, force: force.input.checked };
      if (filter.input.value) out.filter = filter.input.value;
      if (cutoff.number !== null) out.cutoff = cutoff.number;
      if (delay.number !== null) out.delay = delay.number;
      if (velocity.input.value) out.velocity = velocity.input.value;
      if (friction.input.value !== "auto") out.friction = friction.input.value === "none" ? [] : boxes.filter((b) => b.input.checked).map((b) => b.textContent);
      return out;
    };
    const start = h("button.primary", { type: "button", disabled: !view.logs.identify.length, onclick: () => app.begin("identify", "run", { ...asked(), ...(name.input.value ? { name: name.input.value } : {}) }, start) }, "Identify");
    start.id = "identify";
    const using = view.logs.identify.length ? `Fits ${view.logs.identify.join(", ")}${view.logs.validate.length ? `; validates on ${view.logs.validate.join(", ")}` : "; a fifth of the data is left out to judge"}.` : "Add a log in the room Data first.";
    return h("section.card", {}, h("h2", {}, "Run"), h("p.soft", {}, using), h("div.fields", {}, method, name), h("details", { open: Object.keys(s).length > 0 }, h("summary", {}, "State choices yourself"), h("div.fields", {}, friction, filter, cutoff, delay, velocity), laws, h("div.row", { style: "margin-bottom: 10px" }, quick, force)), h("div.row", {}, start), running);
  }

  function result(r) {
    const verdict = r.verdict;
    const facts = [["method", r.method], ["base parameters", r.base_count], ["condition number", number(r.condition, 3)], ...Object.entries(r.residual).map(([k, v]) => [`torque missed, ${NAMES[k] ?? k}`, residual(v)]), ...Object.entries(r.labels).map(([k, v]) => [k, v]), ["time", seconds(Object.values(r.time).reduce((a, b) => a + b, 0))]];
    return h("section.card", {}, h("h2", {}, r.name, h("span.row", {}, h("button.small", { type: "button", onclick: (e) => trying(async () => { await post("trust/select", { result: r.name }); location.hash = "trust"; }, e.target) }, "Look at it"), h("button.quiet.small", { type: "button", onclick: (e) => confirm(`Delete ${r.name}?`) && trying(() => post("identify/remove", { result: r.name }), e.target) }, "Delete"))),
      verdict ? h("div.banner", { class: verdict.level }, ...banner(verdict)) : null,
      h("div.facts", { style: "margin-bottom: 10px" }, facts.map(([k, v]) => h("span", {}, h("span.soft", {}, `${k} `), h("b", {}, String(v))))),
      h("details.choices", { ontoggle: (e) => e.target.open && drawCurves(e.target) }, h("summary", {}, `${r.choices.length} choices and their reasons`), h("ul.list", {}, r.choices.map((c) => h("li", {}, h("b", {}, `${c.subject}: `), h("span.tag", { class: c.automatic ? "note" : "fine" }, c.automatic ? "chosen" : "stated"), ` ${c.sentence}`, scores(c))))),
      r.warnings.length ? h("details", {}, h("summary", {}, r.warnings.length === 1 ? "1 warning" : `${r.warnings.length} warnings`), h("ul", {}, r.warnings.map((w) => h("li.small", {}, w)))) : null);
  }

  // candidates and their scores: a curve where they are numbers, bars otherwise; the chosen ones are marked
  function scores({ subject, drawn }) {
    if (!drawn) return null;
    if (drawn.kind === "curve") {
      const box = h("div.chart.scores", { role: "img", "aria-label": `scores of ${subject}: ${drawn.meaning}; chosen ${number(drawn.chosen.x, 4)} ${drawn.unit}${drawn.chosen.line ? `, ${drawn.chosen.line}` : ""} with ${percent(drawn.chosen.y, 3)}` });
      curves.push([box, drawn]);
      return box;
    }
    const most = Math.max(...drawn.rows.map((r) => r.score), 1e-12);
    return h("div", {}, h("div.small.soft", {}, drawn.meaning), h("table.scores", { style: "width: auto; margin: 4px 0 6px" }, h("caption", { hidden: true }, `scores of ${subject}`), h("tbody", {}, drawn.rows.map((r) => h("tr", {}, h("td.small", {}, r.name), h("td", { style: "width: 160px" }, h("div.bar", { class: r.chosen ? "" : "other" }, h("i", { style: `width: ${Math.max(0, (100 * r.score) / most)}%` }))), h("td.num.small", {}, percent(r.score, 3)), h("td.small", {}, r.chosen ? h("span.tag.fine", {}, "chosen") : null))))));
  }

  function drawCurves(within = element) {
    for (const [box, { lines, chosen, unit, meaning }] of curves) {
      if (!within.contains(box) || !box.clientWidth) continue;
      const x = [...new Set(lines.flatMap((l) => l.x))].sort((a, b) => a - b);
      const at = (line) => x.map((v) => { const k = line.x.indexOf(v); return k < 0 ? null : 100 * line.y[k]; });
      const drawn = lines.map((l, k) => ({ label: l.name || "score", colour: PALETTE[k % 8], values: at(l), dots: true, size: 5 }));
      plot(box, { x, lines: [...drawn, { label: "chosen", colour: "good", values: x.map((v) => (v === chosen.x ? 100 * chosen.y : null)), points: true, size: 9 }], height: 190, title: `${meaning} (%)`, xLabel: unit, xLog: x[0] > 0 && x.at(-1) > 30 * x[0], legend: true });
    }
  }

  return { element, show, news: () => running.news(), theme: () => drawCurves() };
}
