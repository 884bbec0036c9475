// Data: logs, channels with one cursor, playback, slices, check.

import { Charts, PALETTE } from "../charts.js";
import { dropZone, h, heading, number, post, same, seconds, series, sortable, toast, trying, unit } from "../dom.js";
import { progress, select, textField } from "../forms.js";

const LOGS = ".csv,.gz,.tsv,.txt,.parquet,.npz,.mat,.bag,.db3,.mcap";
const MOST = 3;  // stretches of a finding with a button of their own
const LEVEL = { problem: "bad", warning: "doubtful", note: "accent" };
const ORDER = { problem: 0, warning: 1, note: 2, "not testable": 3, fine: 4 };

export function create(app) {
  const element = h("div");
  const checking = progress(app, "data", "check");
  const charts = new Charts({ height: 96, onCursor: (t) => app.viewer.follow(t), onZoom: (a, b) => { span.textContent = `${number(a, 5)} to ${number(b, 5)} s`; }, bands });
  const span = h("output.small.soft");
  const channels = h("div"), marks = h("div.key", { id: "marks" });
  let view = null, log = null, signal = null, about = null, looking = null;

  // findings of the check about the log that is shown, with the stretches of time in which they are
  const marked = () => (view?.check?.findings ?? []).filter((f) => f.entry === log && f.stretches?.length);

  // behind the chart of a joint: what is masked, where findings are, what the slice leaves out
  function bands(j) {
    const entry = view?.logs.find((l) => l.name === log);
    const out = (about?.masks ?? []).flatMap((m) => m.stretches.map(([from, to]) => ({ from, to, colour: "bad" })));
    if (view?.check) out.push(...marked().flatMap((f) => f.stretches.filter(([joint]) => joint === null || joint === j).map(([, from, to]) => ({ from, to, colour: LEVEL[f.verdict], alpha: 0.3 }))));
    else out.push(...(about?.marks ?? []).flatMap((m) => m.stretches.map(([from, to]) => ({ from, to, colour: "doubtful", alpha: 0.3 }))));
    if (entry && (entry.start !== null || entry.end !== null) && about) {
      if (entry.start !== null) out.push({ from: about.start, to: entry.start, colour: "soft", alpha: 0.22 });
      if (entry.end !== null) out.push({ from: entry.end, to: about.end, colour: "soft", alpha: 0.22 });
    }
    return out;
  }

  function show(found) {
    view = found;
    if (!view.logs.some((l) => l.name === log)) { log = view.logs[0]?.name ?? null; signal = null; about = null; }
    const next = h("button.primary", { type: "button", disabled: !view.logs.length, onclick: () => { location.hash = "identify"; } }, "Next: identify");
    element.replaceChildren(...[heading("Data", "Recorded motion: which logs there are, what they hold, and whether they are what they say.", next), list(), log ? h("section.card", {}, channels) : null, view.logs.length ? check() : null, same(view)].filter(Boolean));
    if (log && !about) looking = look();
    else charts.redraw();
    tellMarks();
  }

  // what the marks in the charts mean
  function tellMarks() {
    marks.replaceChildren(...marked().map((f) => h("span", {}, h("i", { style: `background: color-mix(in srgb, var(--${LEVEL[f.verdict]}) 45%, transparent)` }), `${f.name}${f.joints.length ? `, ${f.joints.join(", ")}` : ""}`)));
  }

  // brings a stretch into the charts, with as much around it
  async function goTo(finding, [, from, to]) {
    if (finding.entry !== log) { log = finding.entry; signal = null; about = null; show(view); }
    await looking;
    if (finding.entry !== log || !charts.whole) return;
    const around = Math.max(0.5 * (to - from), 0.01 * (charts.whole[1] - charts.whole[0]));
    charts.zoom(from - around, to + around);
    charts.element.scrollIntoView({ block: "nearest" });
  }

  function list() {
    const add = (found) => post("data/add", { file: found.file });
    const columns = [
      { title: "log", cell: (l) => h("button.quiet.small", { type: "button", "aria-pressed": String(l.name === log), title: l.file, onclick: () => { log = l.name; signal = null; about = null; show(view); } }, l.name) },
      { title: "used to", cell: (l) => { const s = select("", [["identify", "fit"], ["validate", "validate"], ["ignore", "nothing"]], l.role, (role) => trying(() => post("data/change", { log: l.name, role }))); s.input.setAttribute("aria-label", `what ${l.name} is used for`); return s.input; } },
      { title: "slice", cell: (l) => (l.start === null && l.end === null ? "all of it" : h("span", {}, `${number(l.start ?? 0, 5)} to ${l.end === null ? "end" : `${number(l.end, 5)} s`} `, h("button.quiet.small", { type: "button", onclick: (e) => trying(() => post("data/change", { log: l.name, slice: null }), e.target) }, "whole"))) },
      { title: "", num: true, cell: (l) => h("button.quiet.small", { type: "button", "aria-label": `remove ${l.name}`, onclick: (e) => trying(() => post("data/remove", { log: l.name }), e.target) }, "Remove") },
    ];
    const path = textField("File in the project folder", "", { placeholder: "logs/run1.csv" });
    const take = h("button", { type: "button", onclick: () => path.input.value && trying(() => add({ file: path.input.value }), take) }, "Add");
    return h("section.card", {}, h("h2", {}, "Logs"), view.logs.length ? sortable("Logs", columns, view.logs) : null,
      h("div", { style: "margin-top: 10px" }, dropZone("Drop logs here: CSV, Parquet, NPZ, MAT, ROS bags, MCAP.", "logs", LOGS, add)),
      h("details", { style: "margin-top: 8px" }, h("summary", {}, "Add a file by its path"), h("div.row", { style: "align-items: end" }, path, take)));
  }

  async function look() {
    const name = log;
    channels.replaceChildren(h("p.soft", {}, h("span.spin"), ` reading ${name} …`));
    const found = await trying(() => post("data/describe", { log: name }));
    if (!found || name !== log) return;
    about = found;
    if (found.error) { channels.replaceChildren(h("h2", {}, name), h("div.banner.bad", {}, h("h2", {}, "This log cannot be read yet"), h("p", {}, found.error)), mapping(found)); return; }
    const names = Object.keys(found.signals);
    signal = names.includes(signal) ? signal : names.includes("q") ? "q" : names[0];
    const tabs = names.map((s) => h("button.small", { type: "button", "aria-pressed": String(s === signal), onclick: (e) => { signal = s; for (const t of tabs) t.setAttribute("aria-pressed", String(t === e.target)); draw(); } }, `${found.signals[s].kind} ${s}`));
    const slice = h("button.small", { type: "button", onclick: () => trying(() => post("data/change", { log, slice: charts.span })) }, "Use only what is shown");
    const all = h("button.small", { type: "button", onclick: () => charts.zoom(...charts.whole) }, "Show all");
    const masked = [...found.masks.map((m) => `${m.samples} samples masked: ${m.reason}`), ...found.marks.map((m) => `${m.reason}: ${m.samples} samples, marked in the charts`)];
    channels.replaceChildren(h("h2", {}, name, h("span.small.soft", {}, `${found.samples.toLocaleString("en")} samples, ${seconds(found.duration)} at ${number(found.rate, 4)} Hz`)),
      ...[...found.warnings, ...masked].map((w) => h("p.small", {}, h("span.tag.warning", {}, "note"), ` ${w}`)),
      h("div.row", { style: "margin-bottom: 8px" }, tabs, h("span.grow"), h("span.row", {}, span, slice, all)), charts.element, marks,
      h("p.small.soft", {}, "Drag over a chart to zoom, double click shows all; the robot follows the cursor."), mapping(found));
    await draw();
    if (names.includes("q") && app.state?.robot) {
      const poses = await trying(() => series("data/series/signal", { log, signal: "q", width: 1500 }));
      if (poses && name === log) { app.viewer.play(poses.t, (k) => poses.values.map((v) => v[k]), "time of the log"); app.viewer.player.moved = (t) => app.viewer.playing && charts.mark(t); }
    }
  }

  async function draw() {
    const [name, symbol] = [log, signal];
    const u = unit(about.signals[symbol].unit);
    let shared = null;
    const fetch = (from, to, width) => {  // one answer for all joints
      const key = `${from} ${to} ${width}`;
      if (shared?.key !== key) shared = { key, data: series("data/series/signal", { log: name, signal: symbol, from, to, width }) };
      return shared.data;
    };
    await trying(() => charts.set(about.joints.map((joint, j) => ({ title: joint, unit: u, series: [{ label: joint, colour: PALETTE[j % 8] }], fetch: async (...a) => { const d = await fetch(...a); return { t: d.t, values: [d.values[j]] }; } })), [about.start, about.end]));
  }

  function mapping(found) {
    const fields = ["t", "q", "dq", "tau", "i", "qr"].map((s) => { const stated = view.columns[s]; return [s, textField(`${s} ${view.symbols[s] ?? "time"}`, Array.isArray(stated) ? stated.join(", ") : stated ?? "", { placeholder: (found.signals?.[s]?.columns ?? []).slice(0, 2).join(", ") || "not there" })]; });
    const save = h("button", { type: "button", onclick: () => trying(async () => {
      const columns = Object.fromEntries(fields.map(([s, f]) => [s, f.input.value.trim()]).filter(([, v]) => v).map(([s, v]) => [s, v.includes(",") ? v.split(",").map((x) => x.trim()) : v]));
      await post("data/columns", { columns });
      about = null;
      toast("card.yaml says how to read the columns");
      await look();
    }, save) }, "Write into the card");
    return h("details", { open: Boolean(found.error) }, h("summary", {}, "Columns"), h("p.small.soft", {}, "Which columns hold what: a pattern such as effort_{} with {} for the joint's name or number, or one name per joint with commas. Empty: found by name."),
      h("div.fields", {}, fields.map(([, f]) => f)), h("div.row", {}, save), found.file_columns?.length ? h("p.small", { style: "margin-top: 8px" }, "In the file: ", h("code", {}, found.file_columns.slice(0, 80).join(", "))) : null);
  }

  function check() {
    const start = h("button.primary", { type: "button", onclick: () => app.begin("data", "check", {}, start) }, "Check the logs");
    start.id = "check";
    const found = view.check;
    const level = { problem: "bad", warning: "doubtful" }[found?.verdict] ?? "good";
    const rows = found ? [...found.findings].sort((a, b) => ORDER[a.verdict] - ORDER[b.verdict]) : [];
    const when = (f) => (f.stretches ?? []).slice(0, MOST).map((s) => h("button.quiet.small", { type: "button", title: "show it in the charts", onclick: () => trying(() => goTo(f, s)) }, `${number(s[1], 4)} s`));
    const more = (f) => ((f.stretches ?? []).length > MOST ? h("span.small.soft", {}, ` and ${f.stretches.length - MOST} more`) : null);
    const where = (f) => { const words = [f.entry, ...(f.joints ?? [])].filter(Boolean).join(", "); return f.verdict === "fine" || !words ? null : h("div.small", {}, words, when(f), more(f)); };
    const columns = [{ title: "what", cell: (f) => f.name }, { title: "verdict", cell: (f) => h("span.tag", { class: f.verdict.split(" ").at(-1) }, f.verdict) }, { title: "finding", cell: (f) => [f.text, f.advice ? h("div.small.soft", {}, `→ ${f.advice}`) : null, where(f)] }];
    return h("section.card", {}, h("h2", {}, "Check", start), h("p.soft", {}, "Signals, clocks, motion, what the logs determine, and whether they are what they say: signs, columns, units, zeros, mount."), checking,
      found ? h(`div.banner.${level}`, { style: "margin: 10px 0" }, h("p", {}, `${found.sentence}.`)) : null, found ? sortable("Findings", columns, rows) : null);
  }

  return { element, show, charts, news: () => checking.news(), leave: () => charts.clear(), theme: () => log && about && !about.error && draw() };
}
