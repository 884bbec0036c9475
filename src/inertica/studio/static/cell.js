// The form of what stands around the robot; what it says is drawn as it is typed.

import { h, post, trying } from "./dom.js";
import { numberField, select, textField } from "./forms.js";

const SIZES = { box: "sides x, y, z (m)", sphere: "radius (m)", cylinder: "radius, length (m)" };
const COUNT = { box: 3, sphere: 1, cylinder: 2 };
const FIRST = { box: "0.3, 0.3, 0.3", sphere: "0.2", cylinder: "0.1, 0.5" };
const words = (list) => (list ?? []).join(", ");

// `many` numbers with commas, as a sentence where they are not
function numbers(field, many, what) {
  const found = field.input.value.split(/[,;\s]+/).filter(Boolean).map(Number);
  if (found.length !== many || !found.every(Number.isFinite)) throw new Error(`${what}: ${many} number${many > 1 ? "s" : ""} in m, as in ${many === 3 ? "0.5, 0, 0.3" : many === 2 ? "0.1, 0.5" : "0.2"}`);
  return found;
}

export function cellForm(app, cell) {
  const rows = h("div");
  const height = numberField("Height of the floor (m)", typeof cell.floor === "number" ? cell.floor : 0);
  const floor = select("Floor", [["auto", "of the model"], ["none", "none"], ["height", "at a height"]], typeof cell.floor === "number" ? "height" : cell.floor, () => preview());
  const lowest = textField("Working box, lowest corner x, y, z (m)", words(cell.box?.slice(0, 3)), { placeholder: "no box" });
  const highest = textField("Working box, highest corner x, y, z (m)", words(cell.box?.slice(3)), { placeholder: "no box" });
  const clearance = numberField("Clearance (m)", cell.clearance, { placeholder: "usual", min: 0 });
  let obstacles = [];

  function add(kind, size, position) {
    const name = obstacles.length + 1;
    const measure = textField(`Obstacle ${name}, ${kind}: ${SIZES[kind]}`, size), place = textField("centre x, y, z (m)", position);
    const one = { kind, measure, place };
    const remove = h("button.quiet.small", { type: "button", "aria-label": `remove obstacle ${name}`, onclick: () => { obstacles = obstacles.filter((o) => o !== one); one.row.remove(); preview(); } }, "Remove");
    one.row = h("div.fields.obstacle", {}, measure, place, remove);
    obstacles.push(one);
    rows.append(one.row);
  }

  function asked() {
    const out = { floor: floor.input.value === "height" ? height.number ?? 0 : floor.input.value, clearance: clearance.number, box: null };
    if (lowest.input.value.trim() || highest.input.value.trim()) out.box = [...numbers(lowest, 3, "lowest corner of the working box"), ...numbers(highest, 3, "highest corner of the working box")];
    out.obstacles = obstacles.map((o, k) => ({ kind: o.kind, size: numbers(o.measure, COUNT[o.kind], `size of obstacle ${k + 1}`), position: numbers(o.place, 3, `centre of obstacle ${k + 1}`) }));
    return out;
  }

  // what can be drawn already is; the rest is still being typed
  function preview() {
    height.hidden = floor.input.value !== "height";
    let now;
    try { now = asked(); } catch { return; }
    if (now.obstacles.some((o) => !o.size.every((v) => v > 0)) || now.box?.slice(0, 3).some((v, k) => v >= now.box[k + 3])) return;
    app.viewer.surround({ ...now, up: cell.up ?? [0, 0, 1], height: typeof now.floor === "number" ? now.floor : now.floor === "auto" && cell.floor === "auto" ? cell.height : null });
  }

  for (const o of cell.obstacles) add(o.kind, words(o.size), words(o.position));
  height.hidden = floor.input.value !== "height";
  const more = Object.keys(SIZES).map((kind) => h("button.small", { type: "button", id: `add-${kind}`, onclick: () => { add(kind, FIRST[kind], "0.6, 0, 0.3"); preview(); } }, `Add a ${kind}`));
  const keep = h("button.small", { type: "button", id: "keep-cell", onclick: () => trying(() => post("motion/cell", asked()), keep) }, "Keep, and look at the motions in it");
  const stated = cell.floor !== "auto" || cell.box || cell.obstacles.length || cell.clearance !== null;
  const form = h("details.cell", { open: Boolean(stated), oninput: preview, style: "margin-bottom: 12px" }, h("summary", {}, "What stands around the robot"),
    h("p.small.soft", {}, "In the base frame of the robot; no link comes nearer to any of it than the clearance."), h("div.fields", {}, floor, height, clearance, lowest, highest), rows, h("div.row", {}, more, h("span.grow"), keep));
  form.asked = asked;
  return form;
}
