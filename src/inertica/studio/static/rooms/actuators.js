// Actuators: armature, friction, delay and gains of every joint from commands and positions; measured against simulated position.

import { Charts } from "../charts.js";
import { h, heading, number, same, series, sortable, trying, unit } from "../dom.js";
import { logTicks, progress, select, textField, tick } from "../forms.js";

const LINES = [["measured", "measured"], ["before", "residual"], ["after", "predicted"]];

export function create(app) {
  const element = h("div");
  const finding = progress(app, "actuators", "find");
  const charts = new Charts();
  let last = null, run = 0, before = true;

  function show(view) {
    last = view.last;
    run = 0;
    const form = view.form, fitted = logTicks("Logs to fit", view.logs, form.fitted), others = logTicks("Logs that are only simulated", view.logs, form.validate);
    const gains = ["kp", "kd"].map((key) => textField(key === "kp" ? "Stiffness kp (N m/rad)" : "Damping kd (N m s/rad)", form[key] ?? "", { placeholder: "not known; or one number, or one per joint" }));
    const start = h("button.primary", { type: "button", id: "find-actuators", disabled: !view.logs.length, onclick: () => trying(() => app.begin("actuators", "find", {
      fitted: fitted.picked(), validate: others.picked(), ...Object.fromEntries(["kp", "kd"].map((key, k) => [key, gains[k].input.value.trim()]).filter(([, word]) => word)),
    }), start) }, "Find the actuators");
    const few = view.logs.length ? null : h("p.soft", {}, "Add a log of commanded and measured positions in the room Data; no torque is needed.");
    element.replaceChildren(...[heading("Actuators", "What a simulation needs of every joint: armature, friction, command delay, zero, gains. From commands and positions; the base is held."),
      h("section.card", {}, h("h2", {}, "Logs"), few, h("div.two", {}, fitted, others), h("div.fields", {}, gains), h("div.row", {}, start), finding), ...(last ? [position(), values(), remarks()] : []), same(view)].filter(Boolean));
    if (last) draw();
  }

  function position() {
    const runs = select("Log", last.runs.map((r, k) => [String(k), `${r.name}${r.fitted ? " (fitted)" : ""}`]), String(run), (k) => { run = Number(k); errors.replaceChildren(table()); draw(); });
    const errors = h("div", {}, table()), old = tick("before, too", before, (on) => { before = on; draw(); });
    return h("section.card", { id: "free-run" }, h("h2", {}, "Position, measured and simulated"), h("p.soft.small", {}, "The simulation sees the commands and the first state. Before: the model that came in, without delay and zero, gains fitted where they are not stated."),
      errors, h("div.row", { style: "align-items: end; margin: 8px 0" }, runs, old, h("span.grow"), h("button.small", { type: "button", onclick: () => charts.zoom(...charts.whole) }, "Show all")),
      h("div.key", { style: "margin: 0 0 6px" }, LINES.map(([name, colour]) => h("span", {}, h("i", { style: `background: var(--${colour}); height: 4px; width: 18px` }), name))), charts.element, h("p.small.soft", {}, "Drag to zoom, double click shows all."));
  }

  function table() {
    const rows = last.joints.map((joint, j) => ({ joint, before: last.runs[run].before[j], after: last.runs[run].rms[j] })), error = (x) => (x === null ? "-" : number(1e3 * x));
    return sortable("Error of a free run", [{ title: "joint", cell: (r) => r.joint }, { title: "before", num: true, value: (r) => r.before, cell: (r) => error(r.before) }, { title: "after", num: true, value: (r) => r.after, cell: (r) => error(r.after) }, { title: "unit", cell: () => "mrad or mm, rms" }], rows);
  }

  async function draw() {
    const at = run, listed = LINES.slice(0, 3).filter(([name]) => before || name !== "before"), columns = listed.map(([name]) => LINES.findIndex(([other]) => other === name));
    const whole = await trying(() => series("actuators/series/motion", { log_number: at, joint: 0, width: 2 }));
    if (!whole) return;
    await trying(() => charts.set(last.joints.map((title, j) => ({ title, unit: "rad", height: 130, series: listed.map(([label, colour], k) => ({ label, colour, width: k ? 1.3 : 3 })),
      fetch: async (from, to, width) => { const found = await series("actuators/series/motion", { log_number: at, joint: j, from, to, width }); return { t: found.t, values: columns.map((k) => found.values[k]) }; } })), [whole.t[0], whole.t.at(-1)]));
  }

  function values() {
    const cell = (q) => (q.value === null ? "none" : `${number(q.value)}${q.interval ? ` (${number(q.interval[0], 3)} to ${number(q.interval[1], 3)})` : ""}`);
    const columns = [{ title: "joint", cell: (r) => r.joint }, ...last.quantities.map((q) => ({ title: h("span", {}, q.words, " ", h("span.soft.small", {}, unit(q.unit))), num: true, value: (r) => r[q.name].value, cell: (r) => h("span", { title: r[q.name].label }, cell(r[q.name]), h("br"), h("span.soft.small", {}, r[q.name].label)) }))];
    return h("section.card", { id: "actuator-values" }, h("h2", {}, "Values, with intervals of 95 %"), sortable("Actuators", columns, last.values),
      h("p.small", { style: "margin-top: 10px" }, "Written: ", last.files.map((f) => [h("a", { href: `/files/${f}`, download: "" }, f.split("/").at(-1)), " "])));
  }

  function remarks() {
    return h("section.card", {}, h("h2", {}, "What these logs cannot tell"), last.unknown.length ? h("ul", {}, last.unknown.map((s) => h("li", {}, s))) : h("p", {}, "They determine all that was searched for."),
      last.warnings.map((s) => h("p.small", {}, h("span.tag.warning", {}, "note"), ` ${s}`)), h("details", {}, h("summary", {}, "How it was found"), h("ul", {}, last.remarks.map((s) => h("li", {}, s)))));
  }

  return { element, show, news: () => finding.news(), leave: () => charts.clear(), theme: () => last && draw() };
}
