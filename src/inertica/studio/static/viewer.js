// The robot in three dimensions: shapes of the model file or capsules, frames, centres of mass, inertia ellipsoids; sliders and a player.

import { h, number } from "./dom.js";
import { Pace, software } from "./pace.js";

let THREE = null;  // loaded after the page is there, see `open`

const colour = (name) => new THREE.Color(getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
const POSES = 24;  // of what is played, that the camera shows without moving
const tenths = (value) => (Math.round(10 * value) / 10 + 0).toFixed(1);
const basis = (R) => new THREE.Matrix4().set(...R[0], 0, ...R[1], 0, ...R[2], 0, 0, 0, 0, 1);

// positions at a time, on the straight line between two samples: p = {t, rows}
function between(p, time) {
  let low = 0, high = p.t.length - 1;
  while (high - low > 1) { const middle = (low + high) >> 1; if (p.t[middle] <= time) low = middle; else high = middle; }
  const part = p.t[high] > p.t[low] ? Math.min(Math.max((time - p.t[low]) / (p.t[high] - p.t[low]), 0), 1) : 0;
  const a = p.rows(low), b = p.rows(high);
  return a.map((x, j) => x + part * (b[j] - x));
}

export class Viewer {
  constructor(stage) {
    this.view = h("div.view");
    this.controls = h("div.controls");
    this.tell = h("div.tell", { role: "status" });
    this.key = h("div.tell.right", { hidden: true }, h("i", { style: "background: var(--before)" }), "model ", h("i", { style: "background: var(--after)" }), "identified");
    this.options = { shapes: true, frames: false, centres: true, ellipsoids: false };
    const names = { shapes: "Links", frames: "Frames", centres: "Centres of mass", ellipsoids: "Ellipsoids" };
    this.buttons = Object.entries(names).map(([key, words]) => h("button", {
      type: "button", "aria-pressed": String(this.options[key]), onclick: (e) => { this.option(key, !this.options[key]); e.target.setAttribute("aria-pressed", String(this.options[key])); },
    }, words));
    this.view.append(h("div.bar-top", {}, this.buttons, h("button", { type: "button", title: "show the whole robot", onclick: () => this.home() }, "Reset")), this.tell, this.key);
    stage.append(this.view, this.controls);
    this.sliders = [];
    this.q = [];
    this.pace = new Pace((ratio) => this.render(ratio), false);
  }

  // begins to draw.  Not with the page: three.js and a first picture take longer than all the rest of it
  async open() {
    THREE ??= await import("./vendor/three.min.js");
    const slow = software();
    try {
      this.renderer = new THREE.WebGLRenderer({ antialias: !slow });  // without a card a finer picture at rest does it, for half the time
    } catch {
      this.view.append(h("div.none", {}, "This browser has no WebGL: the robot cannot be drawn. Everything else works."));
      this.opened = true;
      return;
    }
    const canvas = this.renderer.domElement;
    canvas.tabIndex = 0;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", "the robot; drag to turn, wheel to zoom, right drag to move; arrow keys turn, + and - zoom");
    canvas.addEventListener("keydown", (e) => this.pressed(e));
    this.view.prepend(canvas);
    this.pace.slow = slow;
    this.scene = new THREE.Scene();
    this.camera = new THREE.PerspectiveCamera(38, 1, 0.01, 100);
    this.camera.up.set(0, 0, 1);
    this.orbit = new THREE.OrbitControls(this.camera, canvas);
    this.orbit.addEventListener("change", () => this.draw());
    this.orbit.addEventListener("start", () => { this.turned = true; });
    this.scene.add(new THREE.HemisphereLight(0xffffff, 0x8a8f96, 1.6));
    const sun = new THREE.DirectionalLight(0xffffff, 1.8);
    sun.position.set(3, -4, 6);
    this.scene.add(sun);
    new ResizeObserver(() => this.fit()).observe(this.view);
    canvas.addEventListener("pointermove", (e) => this.point(e));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.recolour());
    this.recolour();
    const { shown, q } = this;  // what rooms have asked for in the meantime
    await this.load(this.model ?? null);
    if (this.model && shown) this.bodies(...shown);
    if (this.model && q.length === this.model.joints.length) this.pose(q);
    this.opened = true;
  }

  option(key, on) {
    this.options[key] = on;
    this.apply();
  }

  // what rooms may have changed
  reset() {
    this.stop();
    this.player = null;
    this.second();
    this.surround(null);
    this.bodies(this.model?.bodies ?? [], null);
    this.panel();
  }

  async load(model) {
    this.model = model;
    this.links = [];
    this.shown = null;
    if (!this.renderer) { this.q = [...(model?.home ?? [])]; return this.panel(); }
    if (this.root) this.scene.remove(this.root);
    this.root = new THREE.Group();
    this.scene.add(this.root);
    if (!model) { this.panel(); this.draw(); return undefined; }
    this.shapeGroups = []; this.frameGroups = []; this.movers = []; this.parts = []; this.ghost = this.ghostMovers = null;
    const size = model.reach;
    const foot = new THREE.Group();
    this.root.add(foot);
    for (const shape of model.foot) foot.add(this.shape(shape));
    this.shapeGroups.push(foot);
    model.joints.forEach((joint, j) => {
      const pivot = new THREE.Group(), mover = new THREE.Group(), link = new THREE.Group();
      pivot.position.set(...joint.position);
      pivot.quaternion.setFromRotationMatrix(basis(joint.rotation));
      link.position.set(...joint.arm);
      (joint.parent < 0 ? this.root : this.links[joint.parent]).add(pivot);
      pivot.add(mover); mover.add(link);
      this.links.push(link); this.movers.push(mover);
      const shapes = new THREE.Group();
      this.parts.push({ pivot, shapes });
      for (const one of model.shapes[j]) { const mesh = this.shape(one); mesh.userData.link = j; shapes.add(mesh); }
      if (!model.drawn[j]) { const hub = this.hub(joint, size, j); shapes.add(hub); }
      link.add(shapes);
      this.shapeGroups.push(shapes);
      const frame = this.axes(0.16 * size);
      link.add(frame);
      this.frameGroups.push(frame);
    });
    const base = this.axes(0.2 * size);
    this.root.add(base);
    this.frameGroups.push(base);
    this.grid();
    this.surround(this.cell);
    this.turned = false;
    this.q = [...model.home];
    this.bodies(model.bodies, null);
    this.pose(this.q);
    this.panel();
    this.home();
    return undefined;
  }

  axes(size) {
    const axes = new THREE.AxesHelper(size);
    axes.material.depthTest = false;  // seen through the links
    axes.renderOrder = 4;
    return axes;
  }

  hub(joint, size, j) {
    const radius = 0.05 * size;
    const mesh = new THREE.Mesh(new THREE.CylinderGeometry(radius, radius, 2.1 * radius, 24), this.material("link"));
    mesh.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), new THREE.Vector3(...joint.axis));
    mesh.position.set(...joint.arm).negate();
    mesh.userData.link = j;
    return mesh;
  }

  material(name) {
    return new THREE.MeshStandardMaterial({ color: colour(name), roughness: 0.65, metalness: 0.05 });
  }

  shape(one) {
    const material = this.material("link");
    if (one.kind === "capsule") {
      const [a, b] = [new THREE.Vector3(...one.start), new THREE.Vector3(...one.end)];
      const length = a.distanceTo(b);
      const mesh = new THREE.Mesh(new THREE.CapsuleGeometry(0.72 * one.radius, length, 6, 20), material);
      mesh.position.copy(a).add(b).multiplyScalar(0.5);
      if (length > 1e-9) mesh.quaternion.setFromUnitVectors(new THREE.Vector3(0, 1, 0), b.sub(a).normalize());
      return mesh;
    }
    const group = new THREE.Group();
    group.position.set(...one.position);
    group.quaternion.setFromRotationMatrix(basis(one.rotation));
    if (one.kind === "mesh") { this.mesh(one, group, material); return group; }
    let geometry;
    if (one.kind === "box") geometry = new THREE.BoxGeometry(...one.size);
    if (one.kind === "rod") geometry = new THREE.CapsuleGeometry(one.size[0], one.size[1], 8, 28).rotateX(Math.PI / 2);
    if (one.kind === "ellipsoid") geometry = new THREE.SphereGeometry(1, 32, 20).scale(...one.size);
    if (one.kind === "sphere") geometry = new THREE.SphereGeometry(one.size[0], 32, 20);
    if (one.kind === "cylinder") geometry = new THREE.CylinderGeometry(one.size[0], one.size[0], one.size[1], 36).rotateX(Math.PI / 2);
    group.add(new THREE.Mesh(geometry, material));
    return group;
  }

  async mesh(one, group, material) {
    const kind = one.file.split(".").at(-1).toLowerCase();
    const response = await fetch(`/api/mesh/${one.mesh}`);
    if (!response.ok) return;
    let object;
    if (kind === "stl") object = new THREE.Mesh(new THREE.STLLoader().parse(await response.arrayBuffer()), material);
    if (kind === "obj") object = new THREE.OBJLoader().parse(await response.text());
    if (kind === "dae") object = new THREE.ColladaLoader().parse(await response.text(), "/none/").scene;
    object.traverse((part) => { if (part.isMesh && kind !== "dae") part.material = material; });
    object.scale.multiply(new THREE.Vector3(...one.scale));
    group.add(object);
    if (this.turned) this.draw();
    else this.home();  // it may reach further than what was there
  }

  // bodies of the model, and of a result beside them
  bodies(before, after) {
    for (const group of this.bodyGroups ?? []) group.removeFromParent();
    this.bodyGroups = [];
    this.shown = [before, after];
    if (!this.renderer || !this.links?.length) return;
    const size = this.model.reach;
    const heaviest = Math.max(...[...before, ...(after ?? [])].map((b) => b?.mass ?? 0), 1e-9);
    for (const [list, name] of [[before, after ? "before" : "after"], [after ?? [], "after"]]) {
      list.forEach((body, j) => {
        if (!body) return;
        const group = new THREE.Group();
        const [x, y, z] = body.com;
        const ball = new THREE.Mesh(new THREE.SphereGeometry(size * 0.032 * Math.cbrt(body.mass / heaviest) + 0.004 * size, 20, 14), new THREE.MeshBasicMaterial({ color: colour(name), depthTest: false, transparent: true, opacity: 0.9 }));
        ball.renderOrder = 3; ball.userData.kind = "centres"; ball.position.set(x, y, z);
        const egg = new THREE.Mesh(new THREE.SphereGeometry(1, 28, 20), new THREE.MeshStandardMaterial({ color: colour(name), transparent: true, opacity: 0.34, depthWrite: false }));
        const a = body.axes.map((v) => v.map((c) => (Math.abs(c) < 1e-9 ? 0 : c)));
        const least = 1e-3 * size;
        const columns = a.map((v) => { const n = Math.hypot(...v); return n > least ? v : n > 0 ? v.map((c) => (c / n) * least) : null; });
        if (columns.every(Boolean)) {
          const matrix = new THREE.Matrix4().set(columns[0][0], columns[1][0], columns[2][0], x, columns[0][1], columns[1][1], columns[2][1], y, columns[0][2], columns[1][2], columns[2][2], z, 0, 0, 0, 1);
          egg.matrixAutoUpdate = false; egg.matrix.copy(matrix); egg.renderOrder = 2; egg.userData.kind = "ellipsoids";
          group.add(egg);
        }
        ball.userData.words = egg.userData.words = `${this.model.joints[j].link}${after ? (name === "before" ? ", model" : ", identified") : ""}: ${body.words}${body.possible ? "" : ", no real body"}`;
        group.add(ball);
        this.links[j].add(group);
        this.bodyGroups.push(group);
      });
    }
    this.key.hidden = !after;
    this.apply();
  }

  apply() {
    if (!this.renderer || !this.shapeGroups) return;
    for (const group of this.shapeGroups) {
      group.visible = this.options.shapes;
      group.traverse((part) => { if (part.isMesh) { part.material.transparent = this.options.ellipsoids; part.material.opacity = this.options.ellipsoids ? 0.28 : 1; } });
    }
    for (const group of this.frameGroups) group.visible = this.options.frames;
    for (const group of this.bodyGroups ?? []) for (const part of group.children) part.visible = this.options[part.userData.kind];
    this.draw();
  }

  // spare: the pointer is elsewhere, and what is there comes first
  pose(q, spare = false) {
    this.q = [...q];
    this.place(q);
    this.moved = true;
    this.draw(spare);
  }

  place(q, movers = this.movers ?? []) {
    movers.forEach((mover, j) => {
      const joint = this.model.joints[j];
      const axis = new THREE.Vector3(...joint.axis);
      if (joint.prismatic) mover.position.copy(axis.multiplyScalar(q[j]));
      else mover.quaternion.setFromAxisAngle(axis, q[j]);
    });
  }

  // what the sliders say, with the picture
  tellPose() {
    if (!this.moved) return;
    this.moved = false;
    this.sliders.forEach((s, j) => { s.input.value = this.q[j]; s.output.textContent = this.said(j, this.q[j]); });
    if (!this.player || this.player.time === undefined) return;
    this.player.input.value = this.player.time;
    this.player.output.textContent = `${number(this.player.time, 4)} s`;
  }

  said(j, value) {
    return this.model.joints[j].prismatic ? `${tenths(1000 * value)} mm` : `${tenths((180 / Math.PI) * value)}°`;
  }

  panel() {
    this.sliders = [];
    if (!this.model) { this.controls.replaceChildren(h("div.none", {}, "Load a robot, and it stands here.")); return; }
    this.sliders = this.model.joints.map((joint, j) => {
      const wide = joint.prismatic ? 0.5 : Math.PI;
      const [low, high] = [Number.isFinite(joint.lower) && joint.lower !== null ? joint.lower : -wide, Number.isFinite(joint.upper) && joint.upper !== null ? joint.upper : wide];
      const input = h("input", { type: "range", min: low, max: high, step: (high - low) / 400, value: this.q[j] ?? 0, "aria-label": `position of ${joint.name}`, oninput: () => { this.stop(); const q = [...this.q]; q[j] = Number(input.value); this.pose(q); } });
      return { input, output: h("output.num", {}, this.said(j, this.q[j] ?? 0)), name: joint.name };
    });
    const rows = this.sliders.map((s) => h("label.joint", {}, h("span", { title: s.name }, s.name), s.input, s.output));
    this.controls.replaceChildren(...(this.player ? [this.player.element] : []), ...rows);
  }

  // plays positions over time: t (N), rows(index) -> list; ghost: {t, rows, words} of a second robot beside it, in another colour
  play(t, rows, words = "time", ghost = null) {
    const start = t[0] ?? 0, end = t[t.length - 1] ?? 1;
    const button = h("button.small", { type: "button", onclick: () => (this.playing ? this.stop() : this.run()) }, "Play");
    const input = h("input", { type: "range", min: start, max: end, step: (end - start) / 1000 || 1, value: start, "aria-label": words, oninput: () => { this.stop(); this.at(Number(input.value)); } });
    const output = h("output.num", {}, `${number(start, 4)} s`);
    const key = ghost ? h("div.key", { style: "grid-column: 1 / -1; margin: 0" }, ["link", "after"].map((c, k) => h("span", {}, h("i", { style: `background: var(--${c}); width: 14px; height: 12px` }), ghost.words[k]))) : null;
    this.player = { t, rows, ghost, button, input, output, element: h("div.player", {}, button, input, output, key) };
    this.panel();
    this.second();
    this.at(start);
    if (!this.turned) this.home();
  }

  // under the cursor of charts, which come first
  follow(time) {
    this.stop();
    this.at(time, true);
  }

  at(time, spare = false) {
    const p = this.player;
    if (!p || !p.t.length) return;
    const q = between(p, time);
    p.time = time;
    if (p.ghost && this.ghostMovers) {
      const there = between(p.ghost, time);
      if (there.every(Number.isFinite)) this.place(there, this.ghostMovers);
    }
    this.moved = true;
    if (q.every(Number.isFinite)) this.pose(q, spare);
    else this.draw(spare);
    p.moved?.(time);
  }

  // the second robot: the same shapes, in another colour, seen through
  second() {
    this.ghost?.removeFromParent();
    this.ghost = this.ghostMovers = null;
    if (!this.root || !this.player?.ghost) return;
    const links = [];
    this.ghost = new THREE.Group();
    this.ghostMovers = this.movers.map((mover, j) => {
      const { pivot, shapes } = this.parts[j];
      const [p, m, l] = [pivot.clone(false), mover.clone(false), this.links[j].clone(false)];
      const look = shapes.clone(true);
      look.traverse((part) => { if (part.isMesh) { part.material = part.material.clone(); part.material.color = colour("after"); part.material.transparent = true; part.material.opacity = 0.45; part.userData = { kind: "ghost" }; } });
      l.add(look); m.add(l); p.add(m);
      const parent = this.model.joints[j].parent;
      (parent < 0 ? this.ghost : links[parent]).add(p);
      links.push(l);
      return m;
    });
    this.root.add(this.ghost);
  }

  run() {
    const p = this.player;
    const end = Number(p.input.max);
    const at = p.time ?? Number(p.input.value);
    let time = at >= end ? Number(p.input.min) : at;
    let last = performance.now();
    this.playing = true;
    p.button.textContent = "Pause";
    const step = (now) => {
      if (!this.playing || this.player !== p) return;
      time += (now - last) / 1000;
      last = now;
      if (time >= end) { this.at(end); this.stop(); return; }
      this.at(time);
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  }

  stop() {
    this.playing = false;
    if (this.player) this.player.button.textContent = "Play";
  }

  highlight(j) {
    this.shapeGroups?.forEach((group, k) => group.traverse((part) => { if (part.isMesh) part.material.emissive?.set(k > 0 && k - 1 === j ? 0x884400 : 0x000000); }));
    this.draw();
  }

  point(event) {
    if (!this.bodyGroups?.length || event.buttons) return;
    const box = this.renderer.domElement.getBoundingClientRect();
    const ray = new THREE.Raycaster();
    ray.setFromCamera(new THREE.Vector2((2 * (event.clientX - box.left)) / box.width - 1, 1 - (2 * (event.clientY - box.top)) / box.height), this.camera);
    const parts = this.bodyGroups.flatMap((g) => g.children).filter((p) => p.visible);
    const hit = ray.intersectObjects(parts, false)[0];
    this.tell.textContent = hit?.object.userData.words ?? "";
  }

  pressed(event) {
    const turn = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] }[event.key];
    const zoom = { "+": 0.9, "=": 0.9, "-": 1.1 }[event.key];
    if (!turn && !zoom) return;
    event.preventDefault();
    this.turned = true;
    const offset = this.camera.position.clone().sub(this.orbit.target);
    if (zoom) offset.multiplyScalar(zoom);
    else {
      offset.applyAxisAngle(new THREE.Vector3(0, 0, 1), turn[0]);
      const side = new THREE.Vector3(0, 0, 1).cross(offset).normalize();
      offset.applyAxisAngle(side, turn[1]);
    }
    this.camera.position.copy(this.orbit.target).add(offset);
    this.orbit.update();
    this.draw();
  }

  // corners of the boxes around all bodies, where the robot stands and wherever what is played takes it
  corners() {
    const out = [], box = new THREE.Box3();
    const take = () => {
      this.root.updateMatrixWorld(true);
      this.root.traverse((part) => {
        if (!part.isMesh || ["centres", "ellipsoids", "floor"].includes(part.userData.kind)) return;
        part.geometry.boundingBox ?? part.geometry.computeBoundingBox();
        box.copy(part.geometry.boundingBox);
        for (const x of [box.min.x, box.max.x]) for (const y of [box.min.y, box.max.y]) for (const z of [box.min.z, box.max.z]) out.push(new THREE.Vector3(x, y, z).applyMatrix4(part.matrixWorld));
      });
    };
    take();
    const { player: p, q } = this;
    for (const played of [p, p?.ghost].filter(Boolean)) for (let k = 0; k < POSES; k++) {
      const there = played.rows(Math.floor((k * (played.t.length - 1)) / (POSES - 1)));
      if (there.every(Number.isFinite)) { this.place(there); take(); }
    }
    this.place(q);
    this.root.updateMatrixWorld(true);
    return out.length ? out : [new THREE.Vector3(-0.5, -0.5, 0), new THREE.Vector3(0.5, 0.5, 1)];
  }

  // the camera as near as shows all of it, below the buttons
  home() {
    if (!this.renderer || !this.model) return;
    const back = new THREE.Vector3(1.5, -1.9, 1.0).normalize();
    const right = new THREE.Vector3(0, 0, 1).cross(back).normalize(), up = back.clone().cross(right);
    const seen = this.corners().map((c) => [c.dot(right), c.dot(up), c.dot(back)]);
    const [low, top] = [Math.min, Math.max].map((f) => [0, 1, 2].map((k) => seen.reduce((m, c) => f(m, c[k]), seen[0][k])));
    const middle = low.map((v, k) => 0.5 * (v + top[k])), size = Math.max(Math.hypot(...low.map((v, k) => top[k] - v)), 0.1);
    const centre = [right, up, back].reduce((sum, axis, k) => sum.addScaledVector(axis, middle[k]), new THREE.Vector3());
    const high = Math.tan((this.camera.fov * Math.PI) / 360), free = Math.max(1 - 100 / (this.view.clientHeight || 1000), 0.5);
    const distance = seen.reduce((m, [x, y, z]) => Math.max(m, z - middle[2] + Math.max(Math.abs(y - middle[1]) / (high * free), Math.abs(x - middle[0]) / (high * this.camera.aspect * 0.94))), 0.1 * size);
    this.orbit.target.copy(centre);
    this.camera.near = size / 100; this.camera.far = size * 60;
    this.camera.position.copy(centre).add(back.multiplyScalar(distance));
    this.camera.updateProjectionMatrix();
    this.orbit.update();
    this.draw();
  }

  grid() {
    if (!this.root || !this.model) return;
    this.floor?.removeFromParent();
    const size = 4 * Math.max(this.model.reach, 0.25);
    this.floor = new THREE.GridHelper(size, 16, colour("grid"), colour("grid"));
    this.floor.rotation.x = Math.PI / 2;
    this.root.add(this.floor);
  }

  // what stands around the robot: {height, up, box, obstacles} in the base frame; null for nothing
  surround(cell) {
    this.cell = cell;
    this.around?.removeFromParent();
    this.around = null;
    if (!this.renderer || !this.root || !this.model) return;
    if (!cell) { this.frame(); return; }
    this.around = new THREE.Group();
    const add = (geometry, name, opacity, place) => {
      const solid = new THREE.Mesh(geometry, new THREE.MeshBasicMaterial({ color: colour(name), transparent: true, opacity, depthWrite: false }));
      solid.position.set(...place);
      solid.userData.kind = "cell";
      this.around.add(solid);
      return solid;
    };
    for (const { kind, size, position } of cell.obstacles ?? []) {
      if (kind === "box") add(new THREE.BoxGeometry(...size), "doubtful", 0.38, position);
      if (kind === "sphere") add(new THREE.SphereGeometry(size[0], 32, 20), "doubtful", 0.38, position);
      if (kind === "cylinder") add(new THREE.CylinderGeometry(size[0], size[0], size[1], 36).rotateX(Math.PI / 2), "doubtful", 0.38, position);
    }
    if (cell.box) {
      const [low, high] = [cell.box.slice(0, 3), cell.box.slice(3)];
      const solid = add(new THREE.BoxGeometry(...high.map((v, k) => v - low[k])), "accent", 0.07, high.map((v, k) => 0.5 * (v + low[k])));
      solid.add(new THREE.LineSegments(new THREE.EdgesGeometry(solid.geometry), new THREE.LineBasicMaterial({ color: colour("accent") })));
    }
    if (cell.height !== null && cell.height !== undefined) {
      const up = new THREE.Vector3(...cell.up), wide = 4 * Math.max(this.model.reach, 0.25);
      const floor = add(new THREE.BoxGeometry(wide, wide, 1e-3 * wide), "soft", 0.16, up.clone().multiplyScalar(cell.height - 5e-4 * wide).toArray());
      floor.quaternion.setFromUnitVectors(new THREE.Vector3(0, 0, 1), up);
      floor.userData.kind = "floor";  // no part of the picture that has to be seen whole
    }
    this.root.add(this.around);
    this.frame();
  }

  // takes in obstacles that have come, and comes nearer when they have gone
  frame() {
    const seen = (this.cell?.obstacles?.length ?? 0) + (this.cell?.box ? 1 : 0);
    if (seen !== (this.framed ?? 0)) { this.framed = seen; this.home(); } else this.draw();
  }

  recolour() {
    if (!this.renderer) return;
    this.scene.background = colour("sky");
    this.grid();
    this.surround(this.cell);
    for (const group of this.shapeGroups ?? []) group.traverse((part) => { if (part.isMesh) part.material.color?.copy(colour("link")); });
    this.draw();
  }

  fit() {
    const { clientWidth: w, clientHeight: height } = this.view;
    if (!w || !height) return;
    const first = !this.sized;
    this.sized = true;
    this.renderer.setSize(w, height);
    this.ratio = this.renderer.getPixelRatio();
    this.camera.aspect = w / height;
    this.camera.updateProjectionMatrix();
    if (first) this.home();
    else this.render(this.ratio);  // a new size empties the picture
    this.draw();
  }

  draw(spare = false) {
    this.pace.wish(spare);
  }

  // one picture, with so many of its pixels for one of the screen; for Pace
  render(ratio) {
    this.tellPose();
    if (!this.renderer || !this.view.clientWidth) return;  // rooms without the robot
    if (this.ratio !== ratio) { this.ratio = ratio; this.renderer.setPixelRatio(ratio); }
    this.renderer.render(this.scene, this.camera);
  }
}
