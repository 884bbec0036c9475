// Robot: load a model, look at it, see whether it can be real, write the options of its card.

import { deleting, dropZone, h, heading, number, post, same, sortable, toast, trying, unit } from "../dom.js";
import { numberField, select, textField, tick } from "../forms.js";

const MESHES = [".stl", ".obj", ".dae"];
const present = (values) => Object.fromEntries(Object.entries(values).filter(([, v]) => v !== null && v !== undefined));
const angle = (value, joint) => (value === null ? "–" : joint.kind === "prismatic" ? `${number(1000 * value)} mm` : `${number((180 / Math.PI) * value)}°`);

export const staged = true;

export function create(app) {
  const element = h("div");

  function show(view) {
    const parts = [heading("Robot", "What is known before any motion: the model, and whether it can be real.",
      view.loaded ? h("button.primary", { type: "button", onclick: () => { location.hash = "data"; } }, "Next: data") : null)];
    parts.push(load(view));
    if (view.loaded) {
      const check = h("div");
      parts.push(check, card(view), prior(view));
      if (view.check) showCheck(check, view.check, view);
      else {
        check.replaceChildren(h("p.soft", {}, "Checking whether every link could exist …"));
        trying(() => post("robot/check")).then((found) => found && showCheck(check, found, view));
      }
    }
    parts.push(same(view));
    element.replaceChildren(...parts.filter(Boolean));
  }

  const choose = (robot, button) => trying(async () => { await post("robot/load", { robot }); toast(`${robot} is loaded`); }, button);

  function load(view) {
    const names = [["", "Choose …"], ...view.catalog.map((n) => [n, n]), ...view.models.map((n) => [n, n])];
    const field = select("Built-in robot, or a model of the project", names, view.loaded ? view.model : "");
    const button = h("button.primary", { type: "button", onclick: () => field.input.value && choose(field.input.value, button) }, "Load");
    field.input.id = "robot-choice";
    button.id = "robot-load";
    const drop = dropZone("Drop a URDF, MJCF, SDFormat or DH YAML file or a card here, with its meshes.", "model", [...view.suffixes, ...MESHES].join(), async (found) => {
      if (view.suffixes.some((suffix) => found.file.toLowerCase().endsWith(suffix))) await choose(found.file);
    });
    const title = view.loaded ? `${view.name}: ${view.joints.length} joints` : "Load a robot";
    const about = view.loaded ? h("p.soft.small", {}, `${view.format.toUpperCase()} from ${view.file}; values: ${view.origin}. `, ...view.notes.map((n) => `${n}. `)) : null;
    const spare = view.dropped.filter((n) => n !== view.model);
    const files = spare.length ? h("details", { style: "margin-top: 10px" }, h("summary", {}, `${spare.length} other file${spare.length > 1 ? "s" : ""} of the project`), h("ul.list", {}, spare.map((n) => h("li", {}, h("code", {}, n), " ", deleting("Delete", n, () => post("robot/remove", { file: n })))))) : null;
    const missing = view.loaded && view.missing.length ? h("div.banner.doubtful", { id: "missing-meshes", style: "margin: 0 0 12px" }, h("h2", {}, `${view.missing.length} mesh${view.missing.length > 1 ? "es are" : " is"} not there`), h("p", {}, "Links without their meshes are drawn as capsules; masses, inertias and all results are the same. Drop the meshes below to see them."),
      h("details", {}, h("summary", {}, "which"), h("ul", {}, view.missing.map((n) => h("li", {}, h("code", {}, n)))))) : null;
    return h("section.card", {}, h("h2", {}, title), about, missing, h("div.row", { style: "align-items: end; margin-bottom: 12px" }, h("div", { style: "min-width: 260px" }, field), button), drop, files);
  }

  function showCheck(box, found, view) {
    const bad = found.links.map((l, j) => [l, j]).filter(([l]) => !l.consistent);
    const mend = h("button", { type: "button", onclick: () => trying(async () => { await post("robot/repair"); toast("the nearest model that can exist is loaded"); }, mend) }, "Repair into a copy");
    box.replaceChildren(h(`section.banner.${found.consistent ? "good" : "doubtful"}`, {}, h("h2", {}, found.consistent ? "Every link could exist" : "Not every link could exist"), h("p", {}, found.sentence + "."),
      bad.length ? h("ul", {}, bad.map(([l]) => {
        const j = view.joints.findIndex((x) => x.link === l.name);
        return h("li", {}, h("button.quiet.small", { type: "button", onclick: () => app.viewer.highlight(j) }, l.name), ` ${l.problem}`);
      })) : null,
      found.consistent ? null : h("div.row", {}, mend, h("span.small.soft", {}, "Identification keeps links possible whatever the model says."))));
  }

  // one row for each joint: what the model says, and fields for what a user knows better
  function grid(view) {
    const stated = view.card, listed = (values, k) => (Array.isArray(values) ? values[k] : values) ?? "";
    const columns = [
      ["velocity", (j) => `${j.unit}/s`, (k) => listed(stated.limits?.velocity, k), (j) => j.velocity, "velocity limit"],
      ["torque", (j) => j.effort, (k) => listed(stated.limits?.torque, k), (j) => j.torque, "torque limit"],
      ["gain", (j) => `${j.effort} per A`, (k) => listed(stated.torque?.gain, k), () => null, "current gain"],
      ["kp", (j) => `${j.effort}/${j.unit}`, (k) => listed(stated.loop?.kp, k), (j, k) => view.loop?.kp?.[k], "loop gain kp"],
      ["kd", (j) => `${j.effort} s/${j.unit}`, (k) => listed(stated.loop?.kd, k), (j, k) => view.loop?.kd?.[k], "loop gain kd"],
    ];
    const given = Object.fromEntries(columns.map(([key, , , known]) => [key, view.joints.map((j, k) => known(j, k) ?? null)]));
    const fields = Object.fromEntries(columns.map(([key, , value, , words]) => [key, view.joints.map((j, k) => h("input.cell", {
      inputMode: "decimal", value: String(value(k)), placeholder: given[key][k] === null ? "" : number(given[key][k]), id: `${key}-${k + 1}`, "aria-label": `${words} of ${j.name}`,
    }))]));
    const units = (of) => [...new Set(view.joints.map(of))].join(", ");
    const table = h("div.scroll", { tabIndex: 0, role: "region", "aria-label": "Joints", style: "margin-bottom: 12px" }, h("table.grid", { id: "joints" }, h("caption", { hidden: true }, "Joints with limits and gains"),
      h("thead", {}, h("tr", {}, ["joint", "range"].map((w) => h("th", { scope: "col" }, w)), columns.map(([key, of, , , words]) => h("th", { scope: "col", title: words }, { velocity: "velocity", torque: "torque limit", gain: "current", kp: "kp", kd: "kd" }[key], h("div.unit", {}, units(of)))))),
      h("tbody", {}, view.joints.map((j, k) => h("tr", { onmouseenter: () => app.viewer.highlight(k), onmouseleave: () => app.viewer.highlight(-1) }, h("th", { scope: "row", title: `${j.kind}, carries ${j.link}` }, j.name), h("td.num", {}, `${angle(j.lower, j)} to ${angle(j.upper, j)}`), columns.map(([key]) => h("td", {}, fields[key][k])))))));
    // the numbers of a column: null when it is empty; a sentence when only some are there
    const read = (key) => {
      const texts = fields[key].map((f) => f.value.trim().replace(",", "."));
      if (texts.every((t) => t === "")) return null;
      const values = texts.map((t, k) => (t === "" ? given[key][k] ?? NaN : Number(t)));
      const wrong = values.findIndex((v) => !Number.isFinite(v));
      if (wrong >= 0) { fields[key][wrong].focus(); throw new Error(`${columns.find(([c]) => c === key)[4]} of ${view.joints[wrong].name}: ${texts[wrong] === "" ? "a number for every joint, or for none" : `'${texts[wrong]}' is no number`}`); }
      return values;
    };
    return { table, read };
  }

  function prior(view) {
    const columns = [
      { title: "name", value: (p) => p.name, cell: (p) => h("code", {}, p.name) }, { title: "link", value: (p) => p.joint, cell: (p) => p.link },
      { title: "kind", value: (p) => p.kind, cell: (p) => p.kind.replaceAll("_", " ") }, { title: "prior value", num: true, value: (p) => p.value, cell: (p) => number(p.value) }, { title: "unit", cell: (p) => unit(p.unit) },
    ];
    const table = sortable("Prior values", columns, view.prior);
    const search = h("input", { type: "search", placeholder: "name, link or kind", "aria-label": "filter prior values", oninput: () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      table.filter((p) => words.every((w) => `${p.name} ${p.link} ${p.kind}`.toLowerCase().includes(w)));
    } });
    return h("section.card", {}, h("h2", {}, "Prior values", search), table);
  }

  function card(view) {
    const stated = view.card;
    const laws = Array.isArray(stated.friction) ? stated.friction.filter((x) => typeof x === "string") : [];
    const own = stated.friction && typeof stated.friction === "object" && (!Array.isArray(stated.friction) || laws.length !== stated.friction.length);  // more than this form can say
    const mode = select("Friction", [["auto", "let identify choose"], ["none", "none"], ["laws", "these laws"], ...(own ? [["card", "as the card says"]] : [])], own ? "card" : Array.isArray(stated.friction) ? "laws" : stated.friction ?? "auto", () => { box.hidden = mode.input.value !== "laws"; });
    const boxes = view.laws.map((name) => tick(name, laws.includes(name)));
    const box = h("fieldset", { hidden: mode.input.value !== "laws" }, h("legend", {}, "Friction laws on every joint"), h("div.row", {}, boxes));
    const armature = select("Drive inertia (armature)", [["true", "identify it"], ["false", "none"], ...(Array.isArray(stated.armature) ? [["some", "of some joints, as the card says"]] : [])], Array.isArray(stated.armature) ? "some" : String(stated.armature ?? true));
    const vector = Array.isArray(stated.gravity) ? stated.gravity : null;
    const gravity = select("Gravity", [["file", "as the model file says"], ["auto", "find from the data"], ["vector", "state it"]], vector ? "vector" : stated.gravity ?? "file", () => { gravityBox.hidden = gravity.input.value !== "vector"; });
    const gravityBox = textField("Free fall in the base frame (m/s²)", (vector ?? [0, 0, -9.81]).join(", "));
    gravityBox.hidden = !vector;
    const payload = select("Payload", [["", "none"], ...view.joints.map((j, k) => [String(k + 1), `on ${j.link}`])], String(stated.payload?.link ?? ""));
    const place = textField("Payload frame x, y, z (m)", (stated.payload?.position ?? [0, 0, 0]).join(", "));
    const coupling = textField("Couplings, as 6: 5 6 (motor: joints)", (stated.coupling ?? []).map((c) => `${c.motor}: ${c.joints.join(" ")}`).join("; "), { placeholder: "none" });
    const joints = grid(view);
    const rate = numberField("Rate of the control loop (Hz)", stated.loop?.rate, { placeholder: view.loop?.rate ? number(view.loop.rate) : "not known" });
    const numbers = (text) => text.split(/[\s,]+/).filter(Boolean).map(Number);
    const limits = (velocity, torque) => {
      const out = { ...(stated.limits ?? {}) };
      for (const [key, values] of [["velocity", velocity], ["torque", torque]]) { if (values) out[key] = values; else delete out[key]; }
      return Object.keys(out).length ? out : null;
    };
    const read = () => {
      const picked = boxes.filter((b) => b.input.checked).map((b) => b.textContent);
      const pairs = coupling.input.value.split(";").map((s) => s.split(":")).filter((s) => s.length === 2);
      return {
        friction: mode.input.value === "laws" ? picked : { none: "none", card: "card" }[mode.input.value] ?? null,
        armature: armature.input.value === "true" ? null : armature.input.value === "false" ? false : "card",
        gravity: gravity.input.value === "vector" ? numbers(gravityBox.input.value) : gravity.input.value === "auto" ? "auto" : null,
        payload: payload.input.value ? { ...(stated.payload ?? {}), link: Number(payload.input.value), position: numbers(place.input.value) } : null,
        coupling: pairs.length ? pairs.map(([m, js]) => ({ motor: Number(m), joints: numbers(js) })) : null,
        limits: limits(joints.read("velocity"), joints.read("torque")),
        loop: joints.read("kp") || rate.number !== null ? { law: "pd", ...present(view.loop ?? {}), ...(stated.loop ?? {}), ...present({ kp: joints.read("kp"), kd: joints.read("kd"), rate: rate.number }) } : null,
        torque: joints.read("gain") ? { ...(stated.torque ?? {}), from: "current", gain: joints.read("gain") } : null,
      };
    };
    const before = read();
    const save = h("button.primary", { type: "button", onclick: () => trying(async () => {
      // only what was changed here: a card can say more than this form shows
      const options = Object.fromEntries(Object.entries(read()).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(before[key])));
      await post("robot/card", { options });
      toast("saved with the robot");
    }, save) }, "Save");
    save.id = "write-card";
    return h("section.card", {}, h("h2", {}, "What the robot has", save), joints.table, h("p.small.soft", {}, "Grey numbers are the model's; type over what you know better. A current column is for logs that hold motor currents and no torques."),
      h("div.fields", {}, mode, armature, gravity, gravityBox, payload, place, coupling, rate), box,
      h("details", {}, h("summary", {}, "What is saved, as a file (card.yaml)"), h("pre", { tabIndex: 0, "aria-label": "card.yaml" }, view.card_text)));
  }

  return { element, show, leave: () => app.viewer.highlight(-1) };
}
