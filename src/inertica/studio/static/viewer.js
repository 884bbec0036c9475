// The robot in three dimensions: shapes of the model file or capsules, frames, centres of mass, inertia ellipsoids; sliders and a player.

import { h, number } from "./dom.js";
import { Pace, software } from "./pace.js";

let THREE = null;  // loaded after the page is there, see `open`

const colour = (name) => new THREE.Color(getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
const tenths = (value) => (Math.round(10 * value) / 10 + 0).toFixed(1);
const basis = (R) => new THREE.Matrix4().set(...R[0], 0, ...R[1], 0, ...R[2], 0, 0, 0, 0, 1);

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
    this.shapeGroups = []; this.frameGroups = []; this.movers = [];
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
    if (this.movers) this.movers.forEach((mover, j) => {
      const joint = this.model.joints[j];
      const axis = new THREE.Vector3(...joint.axis);
      if (joint.prismatic) mover.position.copy(axis.multiplyScalar(q[j]));
      else mover.quaternion.setFromAxisAngle(axis, q[j]);
    });
    this.moved = true;
    this.draw(spare);
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

  // plays positions over time: t (N), q(t index) -> list
  play(t, rows, words = "time") {
    const start = t[0] ?? 0, end = t[t.length - 1] ?? 1;
    const button = h("button.small", { type: "button", onclick: () => (this.playing ? this.stop() : this.run()) }, "Play");
    const input = h("input", { type: "range", min: start, max: end, step: (end - start) / 1000 || 1, value: start, "aria-label": words, oninput: () => { this.stop(); this.at(Number(input.value)); } });
    const output = h("output.num", {}, `${number(start, 4)} s`);
    this.player = { t, rows, button, input, output, element: h("div.player", {}, button, input, output) };
    this.panel();
    this.at(start);
  }

  // under the cursor of charts, which come first
  follow(time) {
    this.stop();
    this.at(time, true);
  }

  at(time, spare = false) {
    const p = this.player;
    if (!p || !p.t.length) return;
    let low = 0, high = p.t.length - 1;
    while (high - low > 1) { const middle = (low + high) >> 1; if (p.t[middle] <= time) low = middle; else high = middle; }
    const part = p.t[high] > p.t[low] ? Math.min(Math.max((time - p.t[low]) / (p.t[high] - p.t[low]), 0), 1) : 0;
    const a = p.rows(low), b = p.rows(high);
    const q = a.map((x, j) => x + part * (b[j] - x));
    p.time = time;
    this.moved = true;
    if (q.every(Number.isFinite)) this.pose(q, spare);
    else this.draw(spare);
    p.moved?.(time);
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

  home() {
    if (!this.renderer || !this.model) return;
    this.root.updateMatrixWorld(true);
    const box = new THREE.Box3();
    this.root.traverse((part) => { if (part.isMesh && (part.userData.kind === undefined || part.userData.kind === "cell")) box.expandByObject(part); });
    if (box.isEmpty()) box.set(new THREE.Vector3(-0.5, -0.5, 0), new THREE.Vector3(0.5, 0.5, 1));
    const centre = box.getCenter(new THREE.Vector3());
    const radius = Math.max(0.6 * box.getSize(new THREE.Vector3()).length(), 0.1);
    const narrow = Math.min(this.camera.aspect, 1);
    this.orbit.target.copy(centre);
    this.camera.near = radius / 100; this.camera.far = radius * 60;
    this.camera.position.copy(centre).add(new THREE.Vector3(1.5, -1.9, 1.0).normalize().multiplyScalar((2.9 * radius) / narrow));
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
