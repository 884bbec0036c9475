// Robot: load a model, look at it, see whether it can be real, write the options of its card.

import { dropZone, h, heading, number, post, same, sortable, toast, trying, unit } from "../dom.js";
import { numberField, select, textField, tick } from "../forms.js";

const MODELS = ".urdf,.xml,.mjcf,.yaml,.yml,.stl,.obj,.dae";
const angle = (value, joint) => (value === null ? "–" : joint.kind === "prismatic" ? `${number(1000 * value)} mm` : `${number((180 / Math.PI) * value)}°`);

export function create(app) {
  const element = h("div");

  function show(view) {
    const parts = [heading("Robot", "What is known before any motion: the model, and whether it can be real.",
      view.loaded ? h("button.primary", { type: "button", onclick: () => { location.hash = "data"; } }, "Next: data") : null)];
    parts.push(load(view));
    if (view.loaded) {
      const check = h("div");
      parts.push(check, joints(view), prior(view), card(view));
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
    const drop = dropZone("Drop a URDF, MJCF, DH YAML or card here, with its meshes.", "model", MODELS, async (found) => {
      if (/\.(urdf|xml|mjcf|ya?ml)$/i.test(found.file)) await choose(found.file);
    });
    const title = view.loaded ? `${view.name}: ${view.joints.length} joints` : "Load a robot";
    const about = view.loaded ? h("p.soft.small", {}, `${view.format.toUpperCase()} from ${view.file}; values: ${view.origin}. `, ...view.notes.map((n) => `${n}. `)) : null;
    return h("section.card", {}, h("h2", {}, title), about, h("div.row", { style: "align-items: end; margin-bottom: 12px" }, h("div", { style: "min-width: 260px" }, field), button), drop);
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

  function joints(view) {
    const columns = [
      { title: "joint", cell: (j) => j.name }, { title: "type", cell: (j) => j.kind }, { title: "carries", cell: (j) => j.link },
      { title: "from", num: true, cell: (j) => angle(j.lower, j) }, { title: "to", num: true, cell: (j) => angle(j.upper, j) },
      { title: "velocity", num: true, cell: (j) => (j.velocity === null ? "–" : `${number(j.velocity)} ${j.unit}/s`) }, { title: "effort", num: true, cell: (j) => (j.torque === null ? "–" : `${number(j.torque)} ${j.effort}`) },
    ];
    return h("section.card", {}, h("h2", {}, "Joints and limits"), sortable("Joints and limits", columns, view.joints, { row: (j) => ({ onmouseenter: () => app.viewer.highlight(view.joints.indexOf(j)), onmouseleave: () => app.viewer.highlight(-1) }) }));
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
    const gains = textField("Currents: torque per ampere (N m/A), one per joint", (stated.torque?.gain ?? []).join(", "), { placeholder: "logs hold torque", wide: true });
    const listed = (values) => (Array.isArray(values) ? values.join(", ") : values ?? "");
    const speed = textField("Velocity limits (rad/s, m/s), one per joint", listed(stated.limits?.velocity), { placeholder: "as the model says", wide: true });
    const effort = textField("Torque limits (N m, N), one per joint", listed(stated.limits?.torque), { placeholder: "as the model says", wide: true });
    const kp = textField("Loop: gains kp", listed(stated.loop?.kp), { placeholder: view.loop ? "as the model says" : "not known" }), kd = textField("Loop: gains kd", listed(stated.loop?.kd)), rate = numberField("Loop: rate (Hz)", stated.loop?.rate);
    const numbers = (text) => text.split(/[\s,]+/).filter(Boolean).map(Number);
    const limits = (velocity, torque) => {
      const out = { ...(stated.limits ?? {}) };
      for (const [key, text] of [["velocity", velocity], ["torque", torque]]) { if (text.trim()) out[key] = numbers(text); else delete out[key]; }
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
        limits: limits(speed.input.value, effort.input.value),
        loop: kp.input.value.trim() ? { ...(stated.loop ?? {}), law: stated.loop?.law ?? "pd", kp: numbers(kp.input.value), kd: numbers(kd.input.value), rate: rate.number } : null,
        torque: gains.input.value.trim() ? { ...(stated.torque ?? {}), from: "current", gain: numbers(gains.input.value) } : null,
      };
    };
    const before = read();
    const save = h("button.primary", { type: "button", onclick: () => trying(async () => {
      // only what was changed here: a card can say more than this form shows
      const options = Object.fromEntries(Object.entries(read()).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(before[key])));
      await post("robot/card", { options });
      toast("card.yaml is written");
    }, save) }, "Write card.yaml");
    save.id = "write-card";
    return h("section.card", {}, h("h2", {}, "What the robot has", save), h("div.fields", {}, mode, armature, gravity, gravityBox, payload, place, coupling, gains, speed, effort, kp, kd, rate), box,
      h("details", {}, h("summary", {}, "card.yaml"), h("pre", { tabIndex: 0, "aria-label": "card.yaml" }, view.card_text)));
  }

  return { element, show, leave: () => app.viewer.highlight(-1) };
}
