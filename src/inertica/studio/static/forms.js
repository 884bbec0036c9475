// Parts of forms, and the progress of a job.

import { goButton, h, post, trying } from "./dom.js";

// options: words, or [value, words]
export function select(label, options, value, onchange) {
  const box = h("select", { onchange: () => onchange?.(box.value) }, options.map((o) => {
    const [key, words] = Array.isArray(o) ? o : [o, o];
    return h("option", { value: key, selected: key === value }, words);
  }));
  const field = h("label.field", {}, label, box);
  field.input = box;
  return field;
}

export function numberField(label, value, options = {}) {
  const box = h("input", { type: "number", value: value ?? "", step: options.step ?? "any", placeholder: options.placeholder ?? "", min: options.min, max: options.max });
  const field = h("label.field", {}, label, box);
  field.input = box;
  Object.defineProperty(field, "number", { get: () => (box.value === "" ? null : Number(box.value)) });
  return field;
}

export function textField(label, value, options = {}) {
  const box = h("input", { type: "text", value: value ?? "", placeholder: options.placeholder ?? "" });
  const field = h("label.field", { style: options.wide ? "grid-column: 1 / -1" : null }, label, box);
  field.input = box;
  return field;
}

// fields from what the server says of options; `asked` of the list gives their values
export function optionFields(form) {
  const fields = form.map((o) => {
    const field = o.kind === "choice" ? select(o.label, o.choices, o.value) : o.kind === "tick" ? tick(o.label, o.value) : numberField(o.label, o.value, o.whole ? { step: 1 } : {});
    field.title = o.help;
    return field;
  });
  const value = (o, field) => (o.kind === "tick" ? field.input.checked : o.kind === "choice" ? field.input.value : field.number === null ? null : field.number / o.scale);
  fields.asked = () => Object.fromEntries(form.map((o, k) => [o.name, value(o, fields[k])]));
  return fields;
}

export function tick(label, checked, onchange) {
  const box = h("input", { type: "checkbox", checked, onchange: () => onchange?.(box.checked) });
  const field = h("label.tick", {}, box, label);
  field.input = box;
  return field;
}

// where a job of a room stands: lines while it runs, the sentence when it failed
export function progress(app, room, name) {
  const box = h("div");
  box.news = () => {
    const job = app.job(room, name);
    if (!job || job.state === "done") { box.replaceChildren(); return job; }
    if (job.state === "running") {
      const lines = h("div.lines", {}, job.lines.slice(-8).map(([, line]) => h("div", {}, line)));
      box.replaceChildren(h("div.row", { style: "margin-top: 10px" }, h("span.spin"), h("span.grow", {}, job.lines.at(-1)?.[1] ?? "starting …"),
        h("button", { type: "button", onclick: (e) => trying(() => post(`jobs/${job.number}/cancel`), e.target) }, "Cancel")), job.lines.length > 1 ? lines : null);
    } else if (job.state === "failed") box.replaceChildren(h("div.banner.bad", { style: "margin: 10px 0 0" }, h("h2", {}, "It did not work"), h("p", {}, job.error), job.field ? goButton(job.field) : null));
    else box.replaceChildren(h("p.soft", { style: "margin: 10px 0 0" }, "Cancelled; nothing was changed."));
    return job;
  };
  return box;
}

// logs to tick; `picked` of the box are those that are
export function logTicks(legend, logs, ticked = []) {
  const ticks = logs.map((name) => tick(name, ticked.includes(name)));
  const box = h("fieldset", {}, h("legend", {}, legend), logs.length ? h("div.ticks", {}, ticks) : h("span.small.soft", {}, "no logs yet"));
  box.picked = () => logs.filter((_, k) => ticks[k].input.checked);
  return box;
}
