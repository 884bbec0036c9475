// Export: formats with what they cannot hold, files, snippets for other programs.

import { code, h, heading, post, same, trying } from "../dom.js";
import { progress, select, tick } from "../forms.js";

const size = (n) => (n < 1024 ? `${n} B` : n < 1048576 ? `${(n / 1024).toFixed(1)} kB` : `${(n / 1048576).toFixed(1)} MB`);

export function create(app) {
  const element = h("div");
  const writing = progress(app, "export", "write");
  const said = h("div");
  let view = null;

  function show(found) {
    view = found;
    if (!view.selected) { element.replaceChildren(...[heading("Export", "The identified model for other programs."), h("p.empty", {}, "There is no result yet; make one in the room Identify."), same(view)].filter(Boolean)); return; }
    const choose = select("Result", view.results, view.selected, (result) => trying(() => post("trust/select", { result })));
    const approximate = tick("replace friction laws that a format lacks by the nearest it has", true);
    const force = tick("write a model also of a result that is not usable", false);
    const cards = view.formats.map((f) => {
      const button = h("button", { type: "button", id: `export-${f.format}`, onclick: () => app.begin("export", "write", { result: view.selected, format: f.format, approximate: approximate.input.checked, force: force.input.checked }, button) }, "Write");
      return h("section.card", {}, h("h2", {}, f.title, button), h("p", {}, f.about), h("p.small.soft", { style: "margin: 0" }, f.lacks));
    });
    element.replaceChildren(...[heading("Export", "The identified model for other programs, and what each format cannot hold.", choose), h("div.row", { style: "margin-bottom: 12px" }, approximate, force), h("div.two", {}, cards), writing, said, files(),
      h("section.card", {}, h("h2", {}, "Use it elsewhere"), view.snippets.map((s) => [h("h3", {}, s.title), code(s.text, s.title)])), same(view)].filter(Boolean));
  }

  function files() {
    if (!view.files.length) return null;
    return h("section.card", {}, h("h2", {}, "Written"), h("ul.list", { id: "written" }, view.files.map((f) => h("li", {}, h("a", { href: `/files/${f.file}`, download: "" }, f.file), h("span.soft.small", {}, ` ${size(f.size)} `), h("button.quiet.small", { type: "button", "aria-label": `delete ${f.file}`, onclick: (e) => trying(() => post("export/remove", { file: f.file }), e.target) }, "Delete")))));
  }

  function news() {
    const job = writing.news();
    if (job?.state === "done" && job.answer) said.replaceChildren(h("div.banner.good", {}, h("h2", {}, `Written: ${job.answer.files.map((f) => f.split("/").at(-1)).join(", ")}`), h("p", {}, `${job.answer.sentence[0].toUpperCase()}${job.answer.sentence.slice(1)}.`), job.answer.notes.map((n) => h("p.small", {}, n))));
  }

  return { element, show, news };
}
