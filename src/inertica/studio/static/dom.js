// Elements, numbers as people read them, and calls to the server.

export function h(name, attributes = {}, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "class") element.className += ` ${value}`;
    else if (key in element && !["list", "form", "width", "height", "style"].includes(key) && !key.startsWith("aria")) element[key] = value;
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(4).filter((c) => c !== null && c !== undefined && c !== false));
  return element;
}

export function number(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e5 || size < 1e-4) return value.toExponential(Math.max(digits - 2, 1)).replace("e+", "e");
  return String(Number(value.toPrecision(digits)));
}

export const percent = (value, digits = 3) => (value === null || value === undefined ? "–" : `${number(100 * value, digits)} %`);

// a residual, with the digits that terminal and report show it with
export const residual = (value) => (value === null || value === undefined ? "–" : `${(100 * value).toFixed(2)} %`);

export function unit(words) {
  return (words ?? "").replace(/\^(\d)/g, (_, d) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[d]).replaceAll("*", "·");
}

export function seconds(value) {
  return value < 90 ? `${number(value, 3)} s` : `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;
}

export function toast(text, fault = false, field = null) {
  const box = h(`div.toast${fault ? ".fault" : ""}`, {}, text, field ? goButton(field) : null);
  document.getElementById("toasts").append(box);
  setTimeout(() => box.remove(), fault ? 12000 : 4500);
}

async function answer(response) {
  const found = await response.json().catch(() => ({ error: `the studio answered with status ${response.status}` }));
  if (!response.ok) throw Object.assign(new Error(found.error ?? `the studio answered with status ${response.status}`), { field: found.field });
  return found;
}

export async function get(path, query = {}) {
  const words = new URLSearchParams(Object.entries(query).filter(([, v]) => v !== undefined && v !== null));
  return answer(await fetch(`/api/${path}${words.size ? `?${words}` : ""}`));
}

export async function post(path, body = {}) {
  return answer(await fetch(`/api/${path}`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) }));
}

export async function upload(folder, file) {
  return answer(await fetch(`/api/upload?${new URLSearchParams({ folder, name: file.name })}`, { method: "POST", body: file }));
}

export async function series(path, query) {
  const response = await fetch(`/api/${path}?${new URLSearchParams(query)}`);
  if (!response.ok) await answer(response);
  const data = await response.arrayBuffer();
  const [n, k] = new Uint32Array(data, 0, 2);
  const t = new Float64Array(data, 8, n);
  const values = Array.from({ length: k }, (_, i) => new Float32Array(data, 8 + 8 * n + 4 * n * i, n));
  return { t, values };
}

// runs something and says what went wrong, if anything did
export async function trying(work, button) {
  if (button) button.disabled = true;
  try {
    return await work();
  } catch (error) {
    toast(error.message, true, error.field);
    return undefined;
  } finally {
    if (button) button.disabled = false;
  }
}

// brings the field that settles a problem into sight, in whatever room it is
export function goTo({ room, element }) {
  const there = () => {
    const field = document.getElementById(element);
    if (!field || studio.current?.name !== room) return false;
    for (let box = field.closest("details"); box; box = box.parentElement.closest("details")) box.open = true;
    field.scrollIntoView({ block: "center" });
    (field.matches("input, select, button") ? field : field.querySelector("input, select") ?? field).focus({ preventScroll: true });
    return true;
  };
  location.hash = room;
  let tries = 0;
  const wait = () => { if (!there() && ++tries < 100) setTimeout(wait, 50); };
  wait();
}

export const goButton = (field, words = "Take me there") => h("button.small.go", { type: "button", onclick: () => goTo(field) }, words);

// a button that deletes with its second click
export function deleting(label, what, work) {
  const button = h("button.quiet.small", { type: "button", "aria-label": `${label.toLowerCase()} ${what}`, onclick: () => {
    if (button.dataset.sure) { trying(work, button); return; }
    button.dataset.sure = "yes";
    button.textContent = "Really?";
    setTimeout(() => { delete button.dataset.sure; button.textContent = label; }, 4000);
  } }, label);
  return button;
}

export function code(text, label) {
  const copy = h("button.small", { type: "button", "aria-label": `copy ${label}`, onclick: () => navigator.clipboard?.writeText(text).then(() => toast("copied")) }, "Copy");
  return h("div.code", {}, h("pre", { tabIndex: 0, "aria-label": label }, text), copy);
}

export function same(view) {
  if (!view?.same) return null;
  return h("details.card", {}, h("summary", {}, "Do the same from the command line or from Python"),
    h("h3", {}, "Command line, in the project folder"), code(view.same.shell.join("\n"), "command line"),
    h("h3", {}, "Python"), code(view.same.python.join("\n"), "Python lines"));
}

// what a banner says of a verdict; results of earlier versions lack its first line and card
export function banner(verdict) {
  return [verdict.first_line ? h("p", {}, verdict.first_line) : null, h("h2", {}, verdict.headline), h("p", {}, verdict.sentence), h("p", {}, h("b", {}, "Next: "), verdict.next), verdict.card?.length ? code(verdict.card.join("\n"), "lines of a robot card that would help") : null].filter(Boolean);
}

export function heading(title, about, ...right) {
  return h("div.head", {}, h("div", {}, h("h1", {}, title), h("p", {}, about)), h("div.row", {}, ...right));
}

export function dropZone(words, folder, accept, done) {
  const input = h("input", { type: "file", multiple: true, accept, hidden: true, onchange: () => take(input.files) });
  const take = (files) => trying(async () => {
    const taken = [];
    for (const file of files) taken.push(await upload(folder, file));  // meshes and logs that belong together are there before any is used
    for (const one of taken) await done(one);
    input.value = "";
  });
  const zone = h("div.drop", {
    ondragover: (e) => { e.preventDefault(); zone.classList.add("over"); },
    ondragleave: () => zone.classList.remove("over"),
    ondrop: (e) => { e.preventDefault(); zone.classList.remove("over"); take(e.dataTransfer.files); },
  }, words, " ", h("button.small", { type: "button", onclick: () => input.click() }, "Choose files"), input);
  return zone;
}

// a table that sorts by its columns: columns [{title, value(row), cell(row), num, wide: class of columns that are there only where there is room}]
export function sortable(caption, columns, rows, options = {}) {
  let by = null, up = true;
  const body = h("tbody"), place = (c) => `${c.num ? ".num" : ""}${c.wide ? `.${c.wide}` : ""}`;
  const heads = columns.map((column) => h(`${column.title ? "th" : "td"}${place(column)}`, column.title ? { scope: "col" } : {}, column.value
    ? h("button", { type: "button", onclick: () => { up = by === column ? !up : true; by = column; fill(); } }, column.title) : column.title));
  let shown = rows;
  function fill() {
    const ordered = by ? [...shown].sort((a, b) => {
      const [x, y] = [by.value(a), by.value(b)];
      const way = x === y ? 0 : x === null ? 1 : y === null ? -1 : x < y ? -1 : 1;
      return up ? way : -way;
    }) : shown;
    heads.forEach((head, k) => head.firstElementChild?.setAttribute("data-way", columns[k] === by ? (up ? "up" : "down") : ""));
    body.replaceChildren(...ordered.map((row) => h("tr", options.row?.(row) ?? {}, columns.map((c) => h(`td${place(c)}`, {}, c.cell(row))))));
  }
  fill();
  const table = h("table", {}, h("caption", { hidden: true }, caption), h("thead", {}, h("tr", {}, heads)), body);
  const box = h("div.scroll", { tabIndex: 0, role: "region", "aria-label": caption }, table);
  box.filter = (keep) => { shown = rows.filter(keep); fill(); };
  return box;
}
