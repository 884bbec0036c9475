// When the robot is drawn, and how finely, so that nothing else on the page waits for it.
//
// With a graphics card: with the next frame, as fine as the screen.  Without one every picture takes the page's own time: then it is drawn
// coarsely while something moves and finely once it rests; where the pointer is over charts, only so often that most of the time stays theirs.

const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;
const SHARE = 0.3;  // of the time that the robot may take from charts
const REST = 180;  // milliseconds without a change
const LONG = 40;  // milliseconds of a coarse picture that charts are not to wait for at all, where two in a row take them
const COARSE = [0.75, 0.5], SLOW = 20;  // pixels of the picture for one of the screen, the second where the first takes more milliseconds than that
const FINE = [2, 1], DEAR = 250;  // the same at rest

// whether pictures in three dimensions are worked out by the processor
export function software() {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) return false;
  const about = gl.getExtension("WEBGL_debug_renderer_info");
  const name = gl.getParameter(about ? about.UNMASKED_RENDERER_WEBGL : gl.RENDERER);
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return SOFTWARE.test(name);
}

// calls back once the page has shown what this frame has drawn; without a card that waits for the robot's picture
const shown = (back) => { const { port1, port2 } = new MessageChannel(); port1.onmessage = () => { port1.close(); back(); }; port2.postMessage(0); };

export class Pace {
  // render(ratio) draws with so many pixels for one of the screen
  constructor(render, slow, after = shown) {
    this.render = render;
    this.slow = slow;
    this.after = after;
    this.coarse = this.fine = 0;
    this.next = 0;  // when charts can spare the time again
    this.cost = 0;  // of the last coarse picture, in milliseconds
    this.rested = true;  // what is to be seen is drawn, and finely
    this.pictures = 0;
  }

  // something changed; `spare`: because of something that needs the frames itself
  wish(spare = false) {
    this.rested = false;
    this.spare = this.wanted && !this.spare ? false : spare;
    this.wanted = true;
    this.changed = performance.now();
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => this.tick());
  }

  tick() {
    const now = performance.now();
    if (!this.slow || now - this.changed > REST) return this.finely();
    if (this.wanted && (!this.spare || now >= this.next)) this.coarsely();
    requestAnimationFrame(() => this.tick());
    return undefined;
  }

  finely() {
    this.wanted = this.waiting = false;
    this.next = 0;
    this.picture(this.slow ? FINE[this.fine] : Math.min(devicePixelRatio, 2), (cost) => { if (this.slow && cost > DEAR) this.fine = 1; });
    this.rested = true;
  }

  coarsely() {
    this.wanted = false;
    this.next = Infinity;
    this.picture(COARSE[this.coarse], (cost) => {
      if (cost > SLOW) this.coarse = 1;
      if (Math.min(cost, this.cost) <= LONG) this.next = performance.now() + cost * (1 / SHARE - 1);
      this.cost = cost;
    });
  }

  picture(ratio, measured) {
    const began = performance.now();
    this.render(ratio);
    this.pictures += 1;
    this.after(() => measured(performance.now() - began));
  }
}
