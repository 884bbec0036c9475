// Drive gains: what an ampere is worth, from logs without and with a load of known mass.

import { h, heading, number, post, same, sortable, toast, trying, unit } from "../dom.js";
import { logTicks, numberField, progress, textField } from "../forms.js";

export function create(app) {
  const element = h("div");
  const finding = progress(app, "gains", "find");

  function show(view) {
    const last = view.form, unloaded = logTicks("Logs without the load", view.logs, last.unloaded), loaded = logTicks("Logs with the load", view.logs, last.loaded);
    const mass = numberField("Mass of the load (kg)", last.mass, { min: 0 }), com = textField("Its centre of mass x, y, z in the flange frame (m)", (last.com ?? []).join(", "), { placeholder: "not known" });
    mass.input.id = "load-mass";
    const start = h("button.primary", { type: "button", id: "find-gains", disabled: view.logs.length < 2, onclick: () => trying(async () => {
      if (mass.number === null) { mass.input.focus(); throw new Error("type the mass of the load"); }
      const place = com.input.value.split(/[\s,;]+/).filter(Boolean).map(Number);
      await app.begin("gains", "find", { unloaded: unloaded.picked(), loaded: loaded.picked(), mass: mass.number, ...(place.length ? { com: place } : {}) });
    }, start) }, "Find the gains");
    const few = view.logs.length < 2 ? h("p.soft", {}, "This needs two logs, best of the same motion: one without the load and one with it. Add them in the room Data.") : null;
    element.replaceChildren(...[heading("Drive gains", "What an ampere is worth at each joint, in N m, when logs hold motor currents and no torques."),
      view.stated ? h("div.banner.good", {}, h("p", {}, `Stated for this robot: ${view.stated.map((g) => number(g)).join(", ")} N m per A.`)) : null,
      h("section.card", {}, h("h2", {}, "From a load of known mass"), few, h("div.two", {}, unloaded, loaded), h("div.fields", {}, mass, com), h("div.row", {}, start), finding), view.last ? found(view.last) : null, same(view)].filter(Boolean));
  }

  function found(last) {
    const columns = [{ title: "joint", cell: (g) => g.joint }, { title: "gain", num: true, value: (g) => g.value, cell: (g) => number(g.value) }, { title: "95 % interval", num: true, cell: (g) => `${number(g.interval[0], 3)} to ${number(g.interval[1], 3)}` }, { title: "unit", cell: (g) => unit(g.unit) },
      { title: "the load weighs on it", cell: (g) => (g.revealed ? "yes" : "no") }, { title: "trust", cell: (g) => g.label }];
    const use = h("button.primary", { type: "button", id: "keep-gains", onclick: () => trying(async () => { await post("gains/keep"); toast("these gains are the robot's now"); }, use) }, "Use these gains");
    return h("section.card", {}, h("h2", {}, "Found", use), last.findings.map((s) => h("p.small", {}, h("span.tag.warning", {}, "note"), ` ${s}`)), sortable("Gains", columns, last.gains));
  }

  return { element, show, news: () => finding.news() };
}
