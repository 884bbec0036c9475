// Data: logs, channels with one cursor, playback, slices, how they are read, check.

import { Charts, PALETTE } from "../charts.js";
import { deleting, dropZone, goButton, h, heading, number, post, same, seconds, series, sortable, toast, trying, unit } from "../dom.js";
import { numberField, progress, select, textField, tick } from "../forms.js";

const LOGS = ".csv,.gz,.tsv,.txt,.parquet,.npz,.mat,.bag,.db3,.mcap";
const MOST = 3;  // stretches of a finding with a button of their own
const LEVEL = { problem: "bad", warning: "doubtful", note: "accent" };
const ORDER = { problem: 0, warning: 1, note: 2, "not testable": 3, fine: 4 };
let last = null;  // the log that was looked at, for when the room is entered again
const COLUMNS = ["q", "dq", "tau", "i", "qr"];

export const staged = true;

export function create(app) {
  const element = h("div");
  const checking = progress(app, "data", "check");
  const charts = new Charts({ height: 96, onCursor: (t) => app.viewer.follow(t), onZoom: (a, b) => { span.textContent = `${number(a, 5)} to ${number(b, 5)} s`; }, bands });
  const span = h("output.small.soft");
  const channels = h("div"), marks = h("div.key", { id: "marks" });
  let view = null, log = null, beside = null, signals = [], joint = "-1", about = null, other = null, looking = null, rows = [];

  // findings of the check about the log that is shown, with the stretches of time in which they are
  const marked = () => (view?.check?.findings ?? []).filter((f) => f.entry === log && f.stretches?.length);

  // behind a chart: what is masked, where findings about its joint are, what the slice leaves out
  function bands(row) {
    const j = rows[row]?.joint;
    const entry = view?.logs.find((l) => l.name === log);
    const out = (about?.masks ?? []).flatMap((m) => m.stretches.map(([from, to]) => ({ from, to, colour: "bad" })));
    if (view?.check) out.push(...marked().flatMap((f) => f.stretches.filter(([at]) => at === null || at === j).map(([, from, to]) => ({ from, to, colour: LEVEL[f.verdict], alpha: 0.3 }))));
    else out.push(...(about?.marks ?? []).flatMap((m) => m.stretches.map(([from, to]) => ({ from, to, colour: "doubtful", alpha: 0.3 }))));
    if (entry && (entry.start !== null || entry.end !== null) && about) {
      if (entry.start !== null) out.push({ from: about.start, to: entry.start, colour: "soft", alpha: 0.22 });
      if (entry.end !== null) out.push({ from: entry.end, to: about.end, colour: "soft", alpha: 0.22 });
    }
    return out;
  }

  function choose(name) {
    if (name === beside) beside = null;
    [log, about, last] = [name, null, name];
  }

  function show(found) {
    view = found;
    const names = view.logs.map((l) => l.name);
    const now = names.includes(last) ? last : names[0] ?? null;  // a log that was just added may not be in the list yet
    if (log !== now) [log, about] = [now, null];
    if (!names.includes(beside)) beside = null;
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
    if (finding.entry !== log) { choose(finding.entry); show(view); }
    await looking;
    if (finding.entry !== log || !charts.whole) return;
    const around = Math.max(0.5 * (to - from), 0.01 * (charts.whole[1] - charts.whole[0]));
    charts.zoom(from - around, to + around);
    charts.element.scrollIntoView({ block: "nearest" });
  }

  // what was just added is looked at, and checked at once where that can be
  async function add(found) {
    const entry = await post("data/add", { file: found.file });
    choose(entry.name);
    app.news();
    const held = await post("data/describe", { log: entry.name });
    if (checkable(held) && app.state?.robot && app.job("data", "check")?.state !== "running") await app.begin("data", "check", {});
  }

  const checkable = (found) => !found.error && found.signals.q && (found.signals.tau || found.signals.taum);
  const currents = (found) => !found.error && found.signals.i && !found.signals.tau && !found.signals.taum;

  function list() {
    const uploaded = (l) => !l.link && l.file.startsWith("logs/");
    const remove = (l, file) => trying(() => post("data/remove", { log: l.name, file }));
    const columns = [
      { title: "log", cell: (l) => h("button.quiet.small", { type: "button", "aria-pressed": String(l.name === log), title: l.file, onclick: () => { choose(l.name); show(view); } }, l.name) },
      { title: "used to", cell: (l) => { const s = select("", [["identify", "fit"], ["validate", "validate"], ["ignore", "nothing"]], l.role, (role) => trying(() => post("data/change", { log: l.name, role }))); s.input.setAttribute("aria-label", `what ${l.name} is used for`); return s.input; } },
      { title: "slice", cell: (l) => (l.start === null && l.end === null ? "all of it" : h("span", {}, `${number(l.start ?? 0, 5)} to ${l.end === null ? "end" : `${number(l.end, 5)} s`} `, h("button.quiet.small", { type: "button", onclick: (e) => trying(() => post("data/change", { log: l.name, slice: null }), e.target) }, "whole"))) },
      { title: "", num: true, cell: (l) => [h("button.quiet.small", { type: "button", "aria-label": `remove ${l.name}`, title: "take it from the list; the file stays", onclick: () => remove(l, false) }, "Remove"), uploaded(l) ? deleting("Delete", l.name, () => remove(l, true)) : null] },
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
    if (found.error) { channels.replaceChildren(h("h2", {}, name), h("div.banner.bad", {}, h("h2", {}, "This log cannot be read yet"), h("p", {}, found.error), found.field ? goButton(found.field) : null), reading(found)); return; }
    const names = Object.keys(found.signals);
    signals = signals.filter((s) => names.includes(s));
    if (!signals.length) signals = [names.includes("q") ? "q" : names[0]];
    const tabs = names.map((s) => h("button.small", { type: "button", "aria-pressed": String(signals.includes(s)), title: "hold Shift for several signals together", onclick: (e) => {
      const several = e.shiftKey || e.ctrlKey || e.metaKey || together.input.checked;
      signals = !several ? [s] : signals.includes(s) && signals.length > 1 ? signals.filter((x) => x !== s) : [...new Set([...signals, s])];
      for (const [k, t] of tabs.entries()) t.setAttribute("aria-pressed", String(signals.includes(names[k])));
      draw();
    } }, `${found.signals[s].kind} ${s}`));
    const together = tick("several", signals.length > 1);
    together.input.setAttribute("aria-label", "several signals together");
    const joints = select("", [["-1", "all joints"], ...found.joints.map((j, k) => [String(k), j])], joint, (k) => { joint = k; draw(); });
    joints.input.setAttribute("aria-label", "joint");
    const others = view.logs.filter((l) => l.name !== name);
    const second = others.length ? select("", [["", "no other log"], ...others.map((l) => [l.name, `beside: ${l.name}`])], beside ?? "", async (b) => { beside = b || null; await draw(); await play(); }) : null;
    second?.input.setAttribute("aria-label", "another log beside it");
    const slice = h("button.small", { type: "button", onclick: () => trying(() => post("data/change", { log, slice: charts.span })) }, "Use only what is shown");
    const all = h("button.small", { type: "button", onclick: () => charts.zoom(...charts.whole) }, "Show all");
    const masked = [...found.masks.map((m) => `${m.samples} samples masked: ${m.reason}`), ...found.marks.map((m) => `${m.reason}: ${m.samples} samples, marked in the charts`)];
    const worth = currents(found) && !view.gains ? h("div.banner.doubtful", { id: "no-gains" }, h("h2", {}, "This log holds motor currents"), h("p", {}, "Tell what an ampere is worth at each joint, in N m, and it can be fitted. The drive's data sheet says it (torque constant times reduction), or a load of known mass does."),
      h("div.row", {}, goButton({ room: "robot", element: "gain-1" }, "Type the gains"), h("button.small", { type: "button", onclick: () => { location.hash = "gains"; } }, "Find them with a load"))) : null;
    channels.replaceChildren(h("h2", {}, name, h("span.small.soft", {}, `${found.samples.toLocaleString("en")} samples, ${seconds(found.duration)} at ${number(found.rate, 4)} Hz`)), ...(worth ? [worth] : []),
      ...[...found.warnings, ...masked].map((w) => h("p.small", {}, h("span.tag.warning", {}, "note"), ` ${w}`)),
      h("div.row", { style: "margin-bottom: 8px" }, tabs, names.length > 1 ? together : null),
      h("div.row.slim", { style: "margin-bottom: 8px" }, joints.input, second?.input, h("span.grow"), span, slice, all), charts.element, marks,
      h("p.small.soft", {}, "Drag over a chart to zoom, double click shows all; the robot follows the cursor."), reading(found));
    await draw();
    await play();
  }

  // the robot of this log, and beside it, in another colour, that of another one
  async function play() {
    const name = log;
    if (!about?.signals?.q || !app.state?.robot) return;
    const poses = (of) => series("data/series/signal", { log: of, signal: "q", width: 1500 });
    const [first, second] = await trying(() => Promise.all([poses(name), beside && other?.signals?.q ? poses(beside) : null])) ?? [];
    if (!first || name !== log) return;
    const at = (p) => (k) => p.values.map((v) => v[k]);
    app.viewer.play(first.t, at(first), "time of the log", second ? { t: second.t, rows: at(second), words: [name, beside] } : null);
    app.viewer.player.moved = (t) => app.viewer.playing && charts.mark(t);
  }

  async function draw() {
    const [name, second] = [log, beside];
    other = second ? await trying(() => post("data/describe", { log: second })) : null;
    if (name !== log || second !== beside || !about.signals) return;
    const shared = new Map();  // one answer for all joints
    const fetched = (of, symbol, from, to, width) => {
      const key = `${of} ${symbol} ${from} ${to} ${width}`;
      if (!shared.has(key)) { if (shared.size > 40) shared.clear(); shared.set(key, series("data/series/signal", { log: of, signal: symbol, from, to, width })); }
      return shared.get(key);
    };
    const listed = joint === "-1" ? about.joints.map((_, j) => j) : [Number(joint)];
    rows = listed.flatMap((j, row) => signals.map((symbol, k) => {
      const both = Boolean(other?.signals?.[symbol] && other.joints.length === about.joints.length);
      return { joint: j, title: signals.length > 1 ? `${about.joints[j]}, ${about.signals[symbol].kind}` : about.joints[j], unit: unit(about.signals[symbol].unit), legend: both && row + k === 0,
        series: both ? [{ label: name, colour: "measured", width: 1.6, gaps: true }, { label: second, colour: "after", width: 1.6, gaps: true }] : [{ label: name, colour: PALETTE[j % 8] }],
        fetch: async (...a) => {
          const first = await fetched(name, symbol, ...a);
          if (!both) return { t: first.t, values: [first.values[j]] };
          const beyond = await fetched(second, symbol, ...a);
          return Charts.joined([{ t: first.t, values: first.values[j] }, { t: beyond.t, values: beyond.values[j] }]);
        } };
    }));
    const ends = [about, ...(other?.signals ? [other] : [])];
    await trying(() => charts.set(rows, [Math.min(...ends.map((e) => e.start)), Math.max(...ends.map((e) => e.end))]));
  }

  // per joint what the log calls it and which columns are its; what concerns the whole file below
  function reading(found) {
    const stated = view.reading, columns = stated.columns && !Array.isArray(stated.columns) ? stated.columns : {};
    const names = found.file_columns ?? [], id = "columns-of-the-file";
    const joints = view.joints.length ? view.joints : found.joints ?? [];
    const cell = (value, words, hint) => { const box = h("input.cell.left", { type: "text", value: value ?? "", placeholder: hint ?? "", "aria-label": words }); box.setAttribute("list", id); return box; };
    const listed = (symbol, k) => (Array.isArray(columns[symbol]) ? columns[symbol][k] : (columns[symbol] ?? "").replace("{}", joints[k]));
    const clock = cell(columns.t, "column of the clock", found.signals ? "found" : "");
    const called = joints.map((j, k) => { const box = cell(stated.log_joints?.[k], `name of ${j} in the log`, j); box.removeAttribute("list"); return box; });
    const cells = Object.fromEntries(COLUMNS.map((s) => [s, joints.map((j, k) => cell(listed(s, k), `${view.symbols[s]} of ${j}`, found.signals?.[s]?.columns?.[k]))]));
    const header = textField("Names of all columns, for a file without a header", Array.isArray(stated.columns) ? stated.columns.join(", ") : "", { placeholder: "t, q1, q2, tau1, tau2", wide: true });
    const rate = numberField("Sampling rate (Hz), for a file without a clock", stated.rate, { placeholder: "from the clock" });
    const topic = textField("Topic of a ROS bag", stated.topic, { placeholder: "the only one" }), episode = numberField("Episode of a data set", stated.episode, { step: 1, placeholder: "the only one" });
    const clockUnit = select("Unit of the clock", [["", "as found"], "s", "ms", "us", "ns"], stated.units?.t ?? "");
    [header, rate, topic, episode].forEach((f, k) => { f.input.id = `reading-${["header", "rate", "topic", "episode"][k]}`; });
    const whole = (boxes, words) => {
      const texts = boxes.map((b) => b.value.trim());
      if (texts.every((t) => !t)) return null;
      const gap = texts.findIndex((t) => !t);
      if (gap >= 0) { boxes[gap].focus(); throw new Error(`${words}: ${joints[gap]} is still empty; fill in every joint, or none`); }
      return texts;
    };
    const save = h("button", { type: "button", id: "save-reading", onclick: () => trying(async () => {
      const named = Object.fromEntries([["t", clock.value.trim() || null], ...COLUMNS.map((s) => [s, whole(cells[s], view.symbols[s])])].filter(([, v]) => v));
      const rest = Object.fromEntries(Object.entries(columns).filter(([s]) => s !== "t" && !COLUMNS.includes(s)));
      const all = header.input.value.split(/[,;]/).map((x) => x.trim()).filter(Boolean);
      const units = { ...(stated.units ?? {}), t: clockUnit.input.value };
      if (!units.t) delete units.t;
      await post("data/reading", { options: { columns: all.length ? all : { ...rest, ...named }, log_joints: whole(called, "names in the log"), rate: rate.number, topic: topic.input.value.trim() || null, episode: episode.number, units } });
      about = null;
      toast("kept with the robot; the log is read again");
      await app.news();
      if (!about) await look();
    }, save) }, "Save, and read again");
    const table = h("div.scroll", { id: "columns", tabIndex: 0, role: "region", "aria-label": "Columns of the joints", style: "margin-bottom: 10px" }, h("table.grid", {}, h("caption", { hidden: true }, "Columns by joint"),
      h("thead", {}, h("tr", {}, ["joint", "in the log", ...COLUMNS.map((s) => view.symbols[s])].map((w) => h("th", { scope: "col" }, w)))),
      h("tbody", {}, joints.map((j, k) => h("tr", {}, h("th", { scope: "row" }, j), h("td", {}, called[k]), COLUMNS.map((s) => h("td", {}, cells[s][k])))))));
    return h("details", { open: Boolean(found.error) }, h("summary", {}, "How this log is read"), h("p.small.soft", {}, "Grey names were found by themselves. Type or choose a column where the file calls it otherwise; it counts for all logs of the robot."),
      h("datalist", { id }, names.slice(0, 400).map((n) => h("option", { value: n }))), joints.length ? table : h("p.small", {}, "Load a robot first, and its joints are listed here."),
      h("div.fields", {}, h("label.field", {}, "Column of the clock", clock), clockUnit, rate, topic, episode, header), h("div.row", {}, save), names.length ? h("p.small", { style: "margin-top: 8px" }, "In the file: ", h("code", {}, names.slice(0, 80).join(", "))) : null);
  }

  function check() {
    const start = h("button.primary", { type: "button", onclick: () => app.begin("data", "check", {}, start) }, view.check ? "Check again" : "Check the logs");
    start.id = "check";
    const found = view.check;
    const level = { problem: "bad", warning: "doubtful" }[found?.verdict] ?? "good";
    const findings = found ? [...found.findings].sort((a, b) => ORDER[a.verdict] - ORDER[b.verdict]) : [];
    const when = (f) => (f.stretches ?? []).slice(0, MOST).map((s) => h("button.quiet.small", { type: "button", title: "show it in the charts", onclick: () => trying(() => goTo(f, s)) }, `${number(s[1], 4)} s`));
    const more = (f) => ((f.stretches ?? []).length > MOST ? h("span.small.soft", {}, ` and ${f.stretches.length - MOST} more`) : null);
    const where = (f) => { const words = [f.entry, ...(f.joints ?? [])].filter(Boolean).join(", "); return f.verdict === "fine" || !words ? null : h("div.small", {}, words, when(f), more(f)); };
    const columns = [{ title: "what", cell: (f) => f.name }, { title: "verdict", cell: (f) => h("span.tag", { class: f.verdict.split(" ").at(-1) }, f.verdict) }, { title: "finding", cell: (f) => [f.text, f.advice ? h("div.small.soft", {}, `→ ${f.advice}`) : null, where(f)] }];
    return h("section.card", {}, h("h2", {}, "Check", start), h("p.soft", {}, "Signals, clocks, motion, what the logs determine, and whether they are what they say: signs, columns, units, zeros, mount. A log that is dropped here is checked at once."), checking,
      found ? h(`div.banner.${level}`, { style: "margin: 10px 0" }, h("p", {}, `${found.sentence}.`)) : null, found ? sortable("Findings", columns, findings) : null);
  }

  return { element, show, charts, news: () => checking.news(), leave: () => charts.clear(), theme: () => log && about && !about.error && draw() };
}
