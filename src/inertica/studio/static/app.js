// The shell: rail, routing, news from the server, jobs.  A room is a module rooms/NAME.js with `create(app)`,
// and `staged` where the robot is in sight beside it; which rooms there are, the server says.

import { get, h, post, seconds, toast, trying } from "./dom.js";
import { Viewer } from "./viewer.js";

class App {
  constructor() {
    this.state = null;
    this.current = null;
    this.viewer = new Viewer(document.getElementById("stage"));
    this.scene = null;
    this.told = new Map();
    window.addEventListener("hashchange", () => this.enter());
    document.getElementById("theme").addEventListener("click", () => this.theme());
    const kept = localStorage.getItem("theme");
    if (kept) document.documentElement.dataset.theme = kept;
  }

  async start() {
    this.listen();
    await this.news();
    await this.enter();
    requestAnimationFrame(() => setTimeout(() => this.viewer.open()));  // once the room has been painted
  }

  theme() {
    const dark = document.documentElement.dataset.theme
      ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    localStorage.setItem("theme", document.documentElement.dataset.theme);
    this.viewer.recolour();
    this.current?.room.theme?.();
  }

  listen() {
    const socket = new WebSocket(`ws://${location.host}/ws`);
    const dot = document.getElementById("line");
    socket.onopen = () => { dot.classList.remove("off"); dot.title = "connected"; if (this.lost) { this.lost = false; this.news(); } };
    socket.onmessage = (event) => { if (JSON.parse(event.data).type === "changed") this.news(); };
    socket.onclose = () => { this.lost = true; dot.classList.add("off"); dot.title = "the studio is not running"; setTimeout(() => this.listen(), 2000); };
  }

  // fetches the state; one at a time, and once more when something came in between
  async news() {
    if (this.fetching) { this.again = true; return; }
    this.fetching = true;
    try {
      do {
        this.again = false;
        this.state = await get("state");
        this.rail();
        this.problems();
        this.jobs();
        this.current?.room.news?.(this.state);
        await this.show();
      } while (this.again);
    } catch (error) {
      toast(error.message, true);
    } finally {
      this.fetching = false;
    }
  }

  rail() {
    this.projects();
    document.title = `${this.state.project} – inertica studio`;
    const items = this.state.rooms.map((room, k) => h(`li${room.extra && !this.state.rooms[k - 1].extra ? ".apart" : ""}`, {}, h("a", {
      href: `#${room.name}`, class: room.state, id: `to-${room.name}`, "aria-current": this.name === room.name ? "page" : null,
    }, h("span.n", { "aria-hidden": "true" }, room.state === "done" ? "✓" : room.state === "attention" ? "!" : room.extra ? "+" : String(k + 1)), h("b", {}, room.title), h("small", {}, room.words))));
    const focused = document.activeElement?.id;
    document.getElementById("rooms").replaceChildren(...items);
    if (focused?.startsWith("to-")) document.getElementById(focused)?.focus();
  }

  // which project this is; another one is opened or made here
  projects() {
    const { project, projects, folder } = this.state;
    const text = JSON.stringify([project, projects, folder]);
    if (this.listed === text) return;  // a list that somebody has open stays open
    this.listed = text;
    const open = (name, made) => trying(async () => { await post("project", { name, new: made }); location.hash = "robot"; await this.news(); await this.enter(); });
    const name = h("input", { type: "text", placeholder: "name of a new one", "aria-label": "name of a new project" });
    const others = projects.filter((p) => p !== project);
    document.getElementById("project").replaceChildren(h("details", {}, h("summary", { title: folder }, "Project: ", h("b", {}, project)),
      others.length ? h("ul.list", {}, others.map((p) => h("li", {}, h("button.quiet.small", { type: "button", onclick: () => open(p, false) }, p)))) : null,
      h("form.row", { onsubmit: (e) => { e.preventDefault(); if (name.value.trim()) open(name.value.trim(), true); } }, name, h("button.small", { type: "submit", id: "new-project" }, "Create")),
      h("p", {}, `In ${folder.slice(0, -project.length - 1) || "/"}`)));
  }

  // what is damaged in the project's folder, in every room
  problems() {
    const box = document.getElementById("problems");
    box.replaceChildren(...(this.state.problems.length ? [h("div.banner.bad", { role: "alert" }, h("h2", {}, "Damaged in the project's folder"), h("ul", {}, this.state.problems.map((sentence) => h("li", {}, sentence))))] : []));
  }

  jobs() {
    const running = this.state.jobs.filter((job) => job.state === "running");
    document.getElementById("work").replaceChildren(...running.map((job) => h("div.job", {},
      h("div.row", {}, h("span.spin"), h("b.grow", {}, job.name), h("button.small", { type: "button", onclick: (e) => trying(() => post(`jobs/${job.number}/cancel`), e.target) }, "Cancel")),
      h("div.said", {}, job.lines.at(-1)?.[1] ?? "starting …"))));
    for (const job of this.state.jobs) {
      const before = this.told.get(job.number);
      this.told.set(job.number, job.state);
      if (before !== "running" || job.state === "running") continue;
      if (job.state === "failed") toast(`${job.name}: ${job.error}`, true, job.field);
      if (job.state === "done") toast(`${job.name}: done in ${seconds(job.ended - job.started)}`);
      if (job.state === "cancelled") toast(`${job.name}: cancelled`);
    }
  }

  job(room, name) {
    return this.state?.jobs.findLast((job) => job.room === room && job.name === name);
  }

  async begin(room, name, asked, button) {
    return trying(() => post(`${room}/start/${name}`, asked), button);
  }

  get name() {
    const name = location.hash.slice(1).split("?")[0];
    return this.state?.rooms.some((room) => room.name === name) ? name : "robot";
  }

  async enter() {
    const name = this.name;
    this.current?.room.leave?.();
    const module = await import(`./rooms/${name}.js`);
    if (name !== this.name) return;
    document.body.classList.toggle("staged", Boolean(module.staged));
    const room = module.create(this);
    this.current = { name, room, seen: null };
    const box = document.getElementById("room");
    box.replaceChildren(room.element);
    box.scrollTop = 0;
    this.viewer.reset();
    if (this.state) this.rail();
    await this.show();
    box.focus({ preventScroll: true });
  }

  // gives the room what it shows, when that is new
  async show(force = false) {
    const current = this.current;
    if (!current) return;
    try {
      const view = await get(current.name, current.room.query?.() ?? {});
      if (current !== this.current) return;
      await this.stage(view);
      const text = JSON.stringify(view);
      if (!force && text === current.seen) return;
      current.seen = text;
      current.room.show(view);
      if (this.state) current.room.news?.(this.state);
    } catch (error) {
      if (current === this.current && !current.seen) current.room.element.replaceChildren(h("div.banner.bad", {}, h("h2", {}, "This room cannot be shown"), h("p", {}, error.message)));
      else toast(error.message, true);
    }
  }

  // the robot in three dimensions, the same in every room
  async stage(view) {
    if (!document.body.classList.contains("staged") || !this.state?.robot) return this.state?.robot ? undefined : this.viewer.load(null);
    if (this.scene === this.state.stamp) return undefined;
    this.scene = this.state.stamp;
    const robot = view.scene ? view : await get("robot");
    return this.viewer.load(robot.scene);
  }
}

window.studio = new App();
window.studio.start();
