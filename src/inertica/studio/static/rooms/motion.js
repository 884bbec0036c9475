// Motion: design with the criterion live, play on the robot, take it away, rehearse.

import { plot } from "../charts.js";
import { h, heading, number, percent, post, same, sortable, toast, trying } from "../dom.js";
import { cellForm } from "../cell.js";
import { numberField, optionFields, progress, select } from "../forms.js";

export const staged = true;

export function create(app) {
  const element = h("div");
  const designing = progress(app, "motion", "design"), rehearsing = progress(app, "motion", "rehearse");
  const curve = h("div.chart");
  let drawn = 0, shown = null, view = null;

  function show(found) {
    view = found;
    const selected = view.trajectories.find((t) => t.name === view.selected)?.name ?? view.trajectories.at(-1)?.name;
    const next = h("button.primary", { type: "button", onclick: () => { location.hash = "data"; } }, "Next: data");
    element.replaceChildren(...[heading("Motion", "A motion that reveals the parameters, inside the limits; tried in simulation before the real robot moves.", next),
      app.state?.robot ? design() : h("p.empty", {}, "Load a robot first."), selected ? motions(selected) : null, selected ? rehearsal(selected) : null, same(view)].filter(Boolean));
    app.viewer.surround(view.cell);
    if (selected && selected !== shown) { shown = selected; play(selected); }
    else if (selected) play(selected, false);
  }

  function design() {
    const fields = optionFields(view.design);
    const cell = cellForm(app, view.cell);
    const start = h("button.primary", { type: "button", onclick: () => {
      drawn = 0;
      trying(() => app.begin("motion", "design", { ...fields.asked(), ...cell.asked() }, start));
    } }, "Design a motion");
    start.id = "design";
    const shipped = view.shipped ? h("button", { type: "button", onclick: (e) => trying(() => post("motion/shipped"), e.target) }, "Take the one shipped for this robot") : null;
    return h("section.card", {}, h("h2", {}, "Design"), h("div.fields", {}, ...fields), cell, h("div.row", {}, start, shipped), designing, curve);
  }

  function motions(selected) {
    const rows = h("div");
    const list = select("Motion", view.trajectories.map((t) => [t.name, `${t.name}: ${number(t.period, 3)} s${t.about?.criterion ? `, ${t.about.criterion} ${number(t.about.value, 3)}` : ""}`]), selected, (name) => trying(() => post("motion/select", { trajectory: name })));
    const rate = numberField("Rate (Hz)", 100);
    const take = (kind, words) => h("button", { type: "button", onclick: (e) => trying(async () => {
      const found = await post("motion/download", { trajectory: selected, as: kind, rate: rate.number ?? 100 });
      h("a", { href: `/files/${found.file}`, download: "" }).click();
    }, e.target) }, words);
    motions.rows = rows;
    return h("section.card", {}, h("h2", {}, "On the robot"), h("div.row", { style: "align-items: end" }, list, rate, take("csv", "Samples, CSV"), take("ros2", "ROS 2"), take("player", "Script for ROS 2"), take("yaml", "YAML"),
      h("button.quiet", { type: "button", onclick: (e) => trying(() => post("motion/remove", { trajectory: selected }), e.target) }, "Delete")), rows);
  }

  async function play(name, fresh = true) {
    const box = motions.rows;
    const found = await trying(() => post("motion/play", { trajectory: name }));
    if (!found || name !== shown) return;
    if (fresh || !app.viewer.player) app.viewer.play(found.t, (k) => found.q[k], "time of the motion");
    const share = (value, limit, words) => (limit === null ? number(value, 3) : h("div", { title: `${number(value, 3)} of ${number(limit, 3)} ${words}` },
      h(`div.bar${value / limit > 1.0001 ? ".over" : value / limit > 0.95 ? ".high" : ""}`, {}, h("i", { style: `width: ${Math.min(100, (100 * value) / limit)}%` })), h("span.small.soft", {}, percent(value / limit, 2))));
    const columns = [{ title: "joint", cell: (r) => r.joint }, { title: "lowest", num: true, cell: (r) => number(r.lowest, 3) }, { title: "highest", num: true, cell: (r) => number(r.highest, 3) }, { title: "unit", cell: (r) => r.unit },
      { title: "velocity", cell: (r) => share(r.velocity, r.velocity_limit, `${r.unit}/s`) }, { title: "acceleration", cell: (r) => share(r.acceleration, r.acceleration_limit, `${r.unit}/s²`) }, { title: "torque of the model", cell: (r) => share(r.torque, r.torque_limit, r.effort) }];
    const over = found.limits.filter((r) => (r.lower !== null && r.lowest < r.lower) || (r.upper !== null && r.highest > r.upper) || (r.velocity_limit && r.velocity > r.velocity_limit * 1.0001) || (r.torque_limit && r.torque > r.torque_limit * 1.0001));
    const near = h("p.small.soft", { style: "margin-top: 10px" }, "Looking for collisions …");
    box.replaceChildren(h("p.small.soft", { style: "margin-top: 10px" }, over.length ? `Outside a limit: ${over.map((r) => r.joint).join(", ")}.` : "Inside all stated limits. What it uses of them:"),
      found.assumed ? h("p.small", {}, h("span.tag.warning", {}, "assumed"), ` ${found.assumed}.`) : "", sortable("Use of the limits", columns, found.limits), near);
    const close = await trying(() => post("motion/clearance", { trajectory: name }));
    if (!close) return;
    if (!close.known) near.replaceChildren(`Collisions were not looked at: ${close.why}.`);
    else near.replaceChildren(h(`span.tag.${close.distance >= 0.98 * (close.kept ?? 0.01) ? "fine" : close.distance > 0 ? "warning" : "problem"}`, {}, close.distance > 0 ? "clear" : "collision"),
      ` ${close.bodies.join(" and ")} come within ${number(1000 * close.distance, 3)} mm of each other at `, h("button.quiet.small", { type: "button", onclick: () => { app.viewer.stop(); app.viewer.at(close.time); } }, `${number(close.time, 3)} s`), ` (${close.poses} poses looked at).`);
  }

  function rehearsal(selected) {
    const fields = optionFields(view.rehearse);
    const start = h("button.primary", { type: "button", onclick: () => app.begin("motion", "rehearse", { trajectory: selected, ...fields.asked() }, start) }, "Rehearse");
    start.id = "rehearse";
    const last = view.rehearsals.findLast((r) => r.trajectory === selected);
    return h("section.card", {}, h("h2", {}, "Rehearse"), h("p.soft", {}, "The motion runs on a simulated robot whose parameters were planted and are not told to the identification. What comes back is what the real robot would give, at best."),
      h("div.fields", {}, ...fields), h("div.row", {}, start), rehearsing, last ? recovered(last) : null);
  }

  function recovered(last) {
    const [right, of] = last.covered;
    const columns = [{ title: "parameter", value: (r) => r.name, cell: (r) => h("code", {}, r.name) }, { title: "planted", num: true, value: (r) => r.planted, cell: (r) => number(r.planted) }, { title: "recovered", num: true, value: (r) => r.found, cell: (r) => number(r.found) },
      { title: "95 % interval", num: true, cell: (r) => `${number(r.low, 3)} to ${number(r.high, 3)}` }, { title: "", value: (r) => String(r.covered), cell: (r) => h(`span.tag.${r.covered ? "fine" : "warning"}`, {}, r.covered ? "holds it" : "misses it") }];
    const known = Object.values(last.labels).filter((l) => l === "determined").length;
    return h("div", { style: "margin-top: 14px" }, h("p", {}, h("b", {}, `${right} of ${of} intervals hold what was planted. `), `${known} standard parameters would be determined by themselves; ${last.sure} base parameters are known to 5 % or better${last.sure ? `, the worst of them off by ${percent(last.worst, 2)}` : ""}.`),
      last.notes.length ? h("p.small.soft", {}, `${last.notes.join("; ")}.`) : null, sortable("What was recovered", columns, last.base),
      h("div.row", { style: "margin-top: 10px" }, h("button", { type: "button", onclick: (e) => trying(async () => { await post("motion/keep", { rehearsal: last.name }); toast("the simulated log is in the room Data"); }, e.target) }, "Use its log in Data")));
  }

  function news() {
    rehearsing.news();
    const job = designing.news();
    const points = (job?.lines ?? []).map(([t, line]) => [t, Number(line.match(/ ([\d.e+-]+)$/)?.[1] ?? NaN)]).filter(([, v]) => Number.isFinite(v));
    if (points.length > 1 && points.length !== drawn && curve.isConnected) {
      drawn = points.length;
      plot(curve, { x: points.map((p) => p[0]), lines: [{ label: "criterion", colour: "accent", values: points.map((p) => p[1]) }], height: 150, title: "best criterion so far", xLabel: "seconds of search", log: points.every((p) => p[1] > 0) });
    }
  }
  return { element, show, news, theme: () => { drawn = 0; news(); } };
}
