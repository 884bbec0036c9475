// Identify: what is fixed, what is chosen and why; results side by side.

import { PALETTE, plot } from "../charts.js";
import { banner, deleting, h, heading, number, percent, post, residual, same, seconds, sortable, trying } from "../dom.js";
import { numberField, progress, select, textField, tick } from "../forms.js";

const NAMES = { identification: "fitted", "hold-out": "left out" };

export function create(app) {
  const element = h("div");
  const running = progress(app, "identify", "run");
  let view = null, curves = [], picked = [], looked = null;

  function show(found) {
    view = found;
    curves = [];
    picked = picked.filter((n) => view.results.some((r) => r.name === n));
    const shown = view.results.find((r) => r.name === looked) ?? view.results[0];
    looked = view.results.length && shown !== view.results[0] ? shown.name : null;
    const next = h("button.primary", { type: "button", disabled: !view.results.length, onclick: () => { location.hash = "trust"; } }, "Next: trust");
    element.replaceChildren(...[heading("Identify", "From logs to parameters. Whatever is not stated is chosen on the data, with a reason.", next), form(), view.results.length ? runs() : null, shown ? result(shown) : null, same(view)].filter(Boolean));
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

  const fitted = (r) => r.residual.identification ?? null;
  const left = (r) => { const rest = Object.entries(r.residual).filter(([k]) => k !== "identification").map(([, v]) => v).filter((v) => v !== null); return rest.length ? Math.max(...rest) : null; };

  // all results in a table: two that are ticked are held against each other
  function runs() {
    const box = h("div");
    const note = (r) => { const input = h("input.cell.left", { type: "text", value: r.note, placeholder: "note", "aria-label": `note on ${r.name}`, onchange: () => trying(() => post("identify/note", { result: r.name, note: input.value || " " })) }); return input; };
    const choose = (r) => { const t = tick("", picked.includes(r.name), (on) => { picked = on ? [...picked.slice(-1), r.name] : picked.filter((n) => n !== r.name); show(view); }); t.input.setAttribute("aria-label", `compare ${r.name}`); return t; };
    const columns = [
      { title: "", cell: choose },
      { title: "result", value: (r) => r.name, cell: (r) => h("button.quiet.small", { type: "button", "aria-pressed": String(r.name === (looked ?? view.results[0].name)), onclick: () => { looked = r.name; show(view); } }, r.name) },
      { title: "made", value: (r) => r.made, cell: (r) => new Date(1000 * r.made).toLocaleString([], { dateStyle: "short", timeStyle: "short" }) },
      { title: "verdict", value: (r) => ["good", "doubtful", "bad"].indexOf(r.verdict?.level), cell: (r) => (r.verdict ? h("span.tag", { class: { good: "fine", doubtful: "warning", bad: "problem" }[r.verdict.level] }, r.verdict.level) : "–") },
      { title: "fitted", num: true, value: fitted, cell: (r) => residual(fitted(r)) },
      { title: "not fitted", num: true, value: left, cell: (r) => residual(left(r)) },
      { title: "determined", num: true, value: (r) => r.labels.determined ?? 0, cell: (r) => r.labels.determined ?? 0 },
      { title: "method", value: (r) => r.method, cell: (r) => r.method },
      { title: "note", value: (r) => r.note, cell: note },
      { title: "", num: true, cell: (r) => deleting("Delete", r.name, () => post("identify/remove", { result: r.name })) },
    ];
    const start = h("button.small", { type: "button", id: "compare", disabled: picked.length !== 2, onclick: () => trying(() => compare(box), start) }, "Compare the two that are ticked");
    const table = sortable("Results", columns, view.results);
    table.id = "runs";
    return h("section.card", {}, h("h2", {}, "Results", view.results.length > 1 ? start : null), h("p.small.soft", {}, "Part of the torque that the model misses, on data that were fitted and on data that were not."), table, box);
  }

  async function compare(box) {
    const [a, b] = picked.map((n) => view.results.find((r) => r.name === n)).sort((x, y) => x.made - y.made);
    const found = await post("identify/compare", { first: a.name, second: b.name });
    const change = (x, y) => (x === null || y === null ? "–" : `${y > x ? "+" : ""}${(100 * (y - x)).toFixed(2)} %`);
    const summary = [["not fitted", residual(left(a)), residual(left(b)), change(left(a), left(b))], ["fitted", residual(fitted(a)), residual(fitted(b)), change(fitted(a), fitted(b))], ["method", a.method, b.method, a.method === b.method ? "same" : "other"],
      ["logs", Object.values(a.logs).flat().join(", "), Object.values(b.logs).flat().join(", "), JSON.stringify(a.logs) === JSON.stringify(b.logs) ? "same" : "other"]];
    const rows = [...summary, ...found.choices.map((c) => [c.subject, c.first || "–", c.second || "–", "other"])];
    const sigma = (d) => (d.std > 0 ? Math.abs(d.first - d.second) / d.std : null);
    const columns = [{ title: "base parameter", value: (d) => d.name, cell: (d) => h("code", {}, d.name) }, { title: a.name, num: true, value: (d) => d.first, cell: (d) => number(d.first) }, { title: b.name, num: true, value: (d) => d.second, cell: (d) => number(d.second) },
      { title: "difference", num: true, value: (d) => d.second - d.first, cell: (d) => number(d.second - d.first, 3) }, { title: "in standard deviations", num: true, value: sigma, cell: (d) => number(sigma(d), 3) }, { title: "", cell: (d) => (d.differs ? h("span.tag.warning", {}, "differs") : "") }];
    box.replaceChildren(h("div.scroll", { style: "margin: 12px 0", tabIndex: 0, role: "region", "aria-label": "what is different" }, h("table", { id: "differences" }, h("thead", {}, h("tr", {}, ["what", a.name, b.name, "change"].map((w) => h("th", { scope: "col" }, w)))), h("tbody", {}, rows.map(([what, ...cells]) => h("tr", {}, h("th", { scope: "row" }, what), cells.map((c) => h("td.small", {}, c))))))),
      h("p", {}, found.sentence), sortable("Differences", columns, found.differences));
  }

  function result(r) {
    const verdict = r.verdict;
    const facts = [["method", r.method], ["base parameters", r.base_count], ["condition number", number(r.condition, 3)], ...Object.entries(r.residual).map(([k, v]) => [`torque missed, ${NAMES[k] ?? k}`, residual(v)]), ...Object.entries(r.labels).map(([k, v]) => [k, v]), ["time", seconds(Object.values(r.time).reduce((a, b) => a + b, 0))]];
    return h("section.card", {}, h("h2", {}, r.name, h("span.row", {}, h("button.small", { type: "button", onclick: (e) => trying(async () => { await post("trust/select", { result: r.name }); location.hash = "trust"; }, e.target) }, "Look at it"))),
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
