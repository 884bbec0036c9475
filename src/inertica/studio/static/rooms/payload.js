// Payload: mass, centre of mass and inertia of what the robot carries.

import { code, h, heading, number, same, sortable, trying, unit } from "../dom.js";
import { logTicks, progress, select, textField } from "../forms.js";

export function create(app) {
  const element = h("div");
  const finding = progress(app, "payload", "find");

  function show(view) {
    const last = view.form;
    const result = select("The robot without the load", [...view.results.map((r) => [r, `as identified: ${r}`]), ["", "from logs without the load"]], last.result ?? (last.unloaded?.length ? "" : view.results.at(-1) ?? ""), () => { unloaded.hidden = result.input.value !== ""; });
    const unloaded = logTicks("Logs without the load", view.logs, last.unloaded), loaded = logTicks("Logs with the load", view.logs, last.loaded);
    unloaded.hidden = result.input.value !== "";
    const frame = textField("Frame of the load", last.frame, { placeholder: "flange of the model, or x, y, z, roll, pitch, yaw" });
    const start = h("button.primary", { type: "button", id: "find-payload", disabled: !view.logs.length, onclick: () => trying(() => app.begin("payload", "find", {
      loaded: loaded.picked(), ...(result.input.value ? { result: result.input.value } : { unloaded: unloaded.picked() }), ...(frame.input.value.trim() ? { frame: frame.input.value.trim() } : {}),
    }), start) }, "Find the load");
    const few = view.logs.length ? null : h("p.soft", {}, "Add a log of the robot with its load in the room Data.");
    element.replaceChildren(...[heading("Payload", "Mass, centre of mass and inertia of a gripper, tool or load, with intervals, for the robot's controller."),
      h("section.card", {}, h("h2", {}, "What the robot carries"), few, h("div.fields", {}, result, frame), h("div.two", {}, unloaded, loaded), h("div.row", {}, start), finding), view.last ? found(view.last, view.files) : null, same(view)].filter(Boolean));
  }

  function found(p, files) {
    const span = ([a, b]) => `${number(a, 3)} to ${number(b, 3)}`;
    const rows = [["mass", p.determined.mass ? number(p.mass.value) : "not determined", span(p.mass.interval), "kg"], ...["x", "y", "z"].map((axis, k) => [`centre of mass, ${axis}`, number(p.centre_of_mass.value[k]), span(p.centre_of_mass.interval[k]), "m"])];
    const columns = [{ title: "name", cell: (x) => h("code", {}, x.name) }, { title: "value", num: true, value: (x) => x.value, cell: (x) => number(x.value) }, { title: "95 % interval", num: true, cell: (x) => span(x.interval) }, { title: "unit", cell: (x) => unit(x.unit) }, { title: "trust", value: (x) => x.label, cell: (x) => x.label }];
    return h("section.card", { id: "load" }, h("h2", {}, `${p.determined.text[0].toUpperCase()}${p.determined.text.slice(1)}`), h("p.soft.small", {}, `In the frame ${p.frame.name} on ${p.frame.link}.`), p.warnings.map((s) => h("p.small", {}, h("span.tag.warning", {}, "note"), ` ${s}`)),
      h("table", { style: "margin-bottom: 12px" }, h("caption", { hidden: true }, "the load"), h("tbody", {}, rows.map(([what, value, interval, u]) => h("tr", {}, h("th", { scope: "row" }, what), h("td.num", {}, value), h("td.num", {}, interval), h("td", {}, u))))),
      h("h3", {}, "For the controller"), Object.entries(p.statements).map(([name, line]) => [h("p.small", { style: "margin: 8px 0 2px" }, name), code(line, `statement for ${name}`)]),
      h("details", {}, h("summary", {}, "All ten parameters"), sortable("Parameters of the load", columns, p.parameters)),
      h("p.small", { style: "margin-top: 10px" }, "Written: ", files.map((f) => [h("a", { href: `/files/${f}`, download: "" }, f.split("/").at(-1)), " "])));
  }

  return { element, show, news: () => finding.news() };
}
