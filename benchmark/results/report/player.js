// The inductive loop, played step by step: for the report and for the page of a picture.
"use strict";
const SEEN = [255, 140, 26], NEXT = [40, 150, 255], STRENGTH = 0.6;

// ---- Elements -------------------------------------------------------------------------------

function fill(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes))
    if (value !== null && value !== false) made.setAttribute(key, value);
  made.append(...children.filter(child => child !== null));
  return made;
}
const el = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
const svg = (name, attributes = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
const sub = (name, k) => el("b", {}, name, el("sub", {}, String(k)));

// ---- Player ---------------------------------------------------------------------------------

function picture(url) {
  const image = new Image();
  image.src = url;
  return image.decode().then(() => image);
}

// The image as it is, and m_k and Δm_k of each step, 0 to 255, as one array a map.
async function decode(sample) {
  const [image, sheet] = await Promise.all([picture(sample.image), picture(sample.maps)]);
  const count = sample.stops.length, width = sheet.width / 2, height = sheet.height / count;
  const canvas = el("canvas", { width: sheet.width, height: sheet.height });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  context.drawImage(sheet, 0, 0);
  const map = (k, side) => {
    const { data } = context.getImageData(side * width, k * height, width, height);
    return Uint8Array.from({ length: width * height }, (_, p) => data[4 * p]);
  };
  const memories = Array.from({ length: count }, (_, k) => map(k, 0));
  const deltas = Array.from({ length: count }, (_, k) => map(k, 1));
  // What a step adds to the memory; the last one adds nothing.
  const added = memories.map((m, k) => m.map((v, p) => k + 1 < count ? Math.max(0, memories[k + 1][p] - v) : 0));
  return { image, width, height, memories, deltas, added, places: added.map(highest) };
}

// The index of the highest pixel, -1 where all are 0.
function highest(map) {
  let best = -1;
  map.forEach((v, p) => { if (v > (best < 0 ? 0 : map[best])) best = p; });
  return best;
}

// A map in one colour on black.
function paint(canvas, loaded, map, colour) {
  canvas.width = loaded.width; canvas.height = loaded.height;
  const out = new ImageData(loaded.width, loaded.height);
  map.forEach((v, p) => {
    for (let c = 0; c < 3; c++) out.data[4 * p + c] = colour[c] * (v / 255) ** 0.7;  // faint ones are seen too
    out.data[4 * p + 3] = 255;
  });
  canvas.getContext("2d").putImageData(out, 0, 0);
}

// The image with what has been seen, and what this step adds, drawn over it: lines as areas,
// objects as rings, for a small peak would be lost among colours.
function overlay(task, canvas, loaded, k, wide) {
  const scale = Math.max(1, Math.round(wide / loaded.width));
  canvas.width = loaded.width * scale; canvas.height = loaded.height * scale;
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = false;
  context.drawImage(loaded.image, 0, 0, canvas.width, canvas.height);
  if (task.kind === "reading") context.drawImage(tint(loaded, k), 0, 0, canvas.width, canvas.height);
  else loaded.places.slice(0, k + 1).forEach((place, i) => ring(context, loaded, place, scale, i < k ? SEEN : NEXT));
}

function ring(context, loaded, place, scale, colour) {
  if (place < 0) return;
  const x = place % loaded.width + 0.5, y = Math.floor(place / loaded.width) + 0.5;
  for (const [wide, style] of [[5, "#000"], [2.6, `rgb(${colour})`]]) {
    context.lineWidth = wide * context.canvas.width / 300;
    context.strokeStyle = style;
    context.beginPath();
    context.arc(x * scale, y * scale, 0.04 * context.canvas.width, 0, 7);
    context.stroke();
  }
}

function tint(loaded, k) {
  const layer = el("canvas", { width: loaded.width, height: loaded.height });
  const out = new ImageData(loaded.width, loaded.height);
  for (let p = 0; p < loaded.width * loaded.height; p++) {
    const seen = loaded.memories[k][p] / 255, next = loaded.added[k][p] / 255, all = seen + next || 1;
    for (let c = 0; c < 3; c++) out.data[4 * p + c] = (seen * SEEN[c] + next * NEXT[c]) / all;
    out.data[4 * p + 3] = 255 * STRENGTH * Math.min(1, seen + next);
  }
  layer.getContext("2d").putImageData(out, 0, 0);
  return layer;
}

const ENDED = { stop: "end", stalled: "nothing changed: end", limit: "no end found" };

function token(task, sample, k) {
  if (k >= sample.outputs.length) return ENDED[sample.ended];
  return task.kind === "reading" ? sample.outputs[k] || "(nothing)" : String(k + 1);
}

class Player {
  constructor(task) {
    this.task = task;
    this.run = this.sample = this.step = 0;
    this.timer = null;
    this.loaded = new Map();
    const counting = task.kind === "counting";
    this.views = Object.fromEntries(["image", "before", "delta", "picked", "after"].map(name =>
      [name, el("canvas", { role: "img", "aria-label": name })]));
    this.captions = Object.fromEntries([...Object.keys(this.views), "says"].map(name => [name, el("span")]));
    this.says = el("output", { "aria-live": "polite", "aria-label": "output of this step" });
    const panel = name => el("figure", { class: name === "says" ? "says" : null },
      el("figcaption", {}, this.captions[name]), name === "says" ? this.says : this.views[name]);
    const order = ["image", "before", "delta", ...(counting ? ["picked"] : []), "says", "after"];
    this.stage = el("div", { class: "stage" }, ...order.map(panel));
    this.strip = el("div", { class: "strip", role: "group", "aria-label": "All steps" });
    this.predictions = el("div", { class: "scroll" });
    this.samples = el("div", { class: "samples", role: "group", "aria-label": "Samples, failures first" });
    this.back = el("button", { type: "button", class: "back", title: "left arrow" }, "‹ Back");
    this.next = el("button", { type: "button", class: "next", title: "right arrow" }, "Next ›");
    this.playing = el("button", { type: "button", class: "play", title: "space" }, "▶ Play");
    this.slider = el("input", { type: "range", min: 0, "aria-label": "step" });
    this.position = el("span", { class: "muted position" });
    this.back.onclick = () => this.go(this.step - 1);
    this.next.onclick = () => this.go(this.step + 1);
    this.playing.onclick = () => this.toggle();
    this.slider.oninput = () => this.go(+this.slider.value);
    this.element = el("div", { class: "card player " + (counting ? "count" : "read"), tabindex: 0, role: "group",
      "aria-label": task.title + ": the inductive loop, step by step; arrow keys step" },
      el("h3", {}, "The loop, step by step"), this.chooser(), this.samples, el("div", { class: "bar" },
        this.back, this.slider, this.next, this.playing, this.position), this.stage,
      el("p", { class: "muted" }, el("span", { class: "key", style: "background:var(--seen);margin-left:0" }),
        "memory: seen so far", el("span", { class: "key", style: "background:var(--next)" }), counting
          ? "Δm: all that is left, of which one is picked" : "Δm: the next line"),
      this.strip, this.predictions, task.symbols ? el("p", { class: "muted" }, "Letters: " + task.symbols + ".") : null);
    this.element.onkeydown = event => this.key(event);
    this.list();
  }

  chooser() {
    const { runs } = this.task.player;
    const select = el("select", { "aria-label": "run" }, ...runs.map((run, k) => el("option", { value: k }, run.name)));
    select.onchange = () => { this.run = +select.value; this.sample = this.step = 0; this.list(); };
    return runs.length > 1 ? el("div", { class: "bar" }, el("label", {}, "Run ", select))
      : el("p", { class: "muted" }, runs[0].name);
  }

  get shown() { return this.task.player.runs[this.run].samples[this.sample]; }

  list() {
    const { samples } = this.task.player.runs[this.run];
    this.samples.replaceChildren(...samples.map((sample, k) => {
      const button = this.sampleButton(sample, k);
      button.onclick = () => this.choose(k);
      return button;
    }));
    return this.choose(0);
  }

  sampleButton(sample) {
    const right = sample.predictions[0].right;
    return el("button", { type: "button", "aria-label": `${right ? "right" : "wrong"}, ${sample.length} ${this.task.unit}, test sample ${sample.row}`,
      title: "test sample " + sample.row }, el("span", { class: right ? "right" : "wrong" }, right ? "✓ " : "✗ "),
      sample.length + " " + this.task.unit);
  }

  async choose(k) {
    this.play(false);
    this.sample = k; this.step = 0;
    [...this.samples.children].forEach((button, i) => button.setAttribute("aria-pressed", String(i === k)));
    const sample = this.shown;
    if (!this.loaded.has(sample)) this.loaded.set(sample, await decode(sample));
    if (sample !== this.shown) return;  // the user has moved on
    const ratio = sample.size[0] / sample.size[1];
    this.stage.style.setProperty("--wide", Math.round(Math.max(84, Math.min(176, 400 * ratio))) + "px");
    this.strip.style.setProperty("--thumb", Math.round(Math.max(44, Math.min(72, 150 * ratio))) + "px");
    this.frames();
    this.showPredictions();
    this.slider.max = sample.stops.length - 1;
    this.go(0);
  }

  // Every step as a column, as in the paper's figures.
  frames() {
    const sample = this.shown, loaded = this.loaded.get(sample);
    this.strip.replaceChildren(...sample.stops.map((_, k) => {
      const over = el("canvas"), delta = el("canvas");
      overlay(this.task, over, loaded, k, 144);
      paint(delta, loaded, loaded.deltas[k], NEXT);
      const output = token(this.task, sample, k);
      const frame = el("button", { type: "button", "aria-label": `step ${k}: ${output}` }, el("span", {}, "k = " + k),
        over, delta, el("span", { class: this.mistaken(k) ? "token wrong" : "token" }, output));
      frame.onclick = () => this.go(k);
      return frame;
    }));
  }

  showPredictions() {
    const { truth, predictions } = this.shown, lines = value => Array.isArray(value) ? value : [value];
    const head = one => el("th", { scope: "col" }, one.model, el("small", { class: one.right ? "right" : "wrong" },
      one.right ? " ✓ right" : " ✗ " + (one.off ? one.off + " characters off" : "wrong")));
    const count = Math.max(lines(truth).length, ...predictions.map(one => lines(one.prediction).length));
    const cell = (value, k) => el("td", { class: value === lines(truth)[k] ? null : "wrong" },
      value === undefined ? "–" : String(value), value === lines(truth)[k] || value === undefined ? "" : " ✗");
    this.rows = Array.from({ length: count }, (_, k) => el("tr", {},
      el("td", { class: "muted" }, this.task.kind === "reading" ? String(k) : "count"),
      el("td", {}, String(lines(truth)[k] ?? "–")), ...predictions.map(one => cell(lines(one.prediction)[k], k))));
    this.predictions.replaceChildren(el("table", { class: "predictions", "aria-label": "Predictions" }, el("thead", {},
      el("tr", {}, el("th", { scope: "col" }, this.task.kind === "reading" ? "k" : ""), el("th", { scope: "col" }, "ground truth"), ...predictions.map(head))),
      el("tbody", {}, ...this.rows)), this.shown.scored_right === predictions[0].right ? "" : el("p", { class: "wrong otherwise" },
      `When the run was scored, in a batch with other images, its prediction was ${this.shown.scored_right ? "right" : "wrong"}.`));
  }

  go(step) {
    const sample = this.shown, loaded = this.loaded.get(sample), last = sample.stops.length - 1;
    if (!loaded) return;
    const k = this.step = Math.max(0, Math.min(step, last)), done = k === last;
    overlay(this.task, this.views.image, loaded, k, 360);
    paint(this.views.before, loaded, loaded.memories[k], SEEN);
    paint(this.views.delta, loaded, loaded.deltas[k], NEXT);
    paint(this.views.picked, loaded, loaded.added[k], NEXT);
    paint(this.views.after, loaded, loaded.memories[Math.min(k + 1, last)], SEEN);
    const captions = { image: ["image"], before: [sub("m", k), " memory before"], delta: [sub("Δm", k), " update"],
      picked: [sub("Δm̃", k), " picked"], says: [sub("y", k), " output"], after: [sub("m", k + 1), " memory after"] };
    for (const [name, parts] of Object.entries(captions)) this.captions[name].replaceChildren(...parts);
    const wrong = this.mistaken(k);
    this.says.className = (done ? "end" : "") + (wrong ? " wrong" : "");
    this.says.replaceChildren(token(this.task, sample, k), ...this.notes(k));
    this.slider.value = k;
    this.position.textContent = this.place(k, last);
    [...this.strip.children].forEach((frame, i) => i === k ? frame.setAttribute("aria-current", "step") : frame.removeAttribute("aria-current"));
    const frame = this.strip.children[k];
    this.strip.scrollLeft = frame.offsetLeft - this.strip.offsetLeft - (this.strip.clientWidth - frame.offsetWidth) / 2;
    if (this.task.kind === "reading")
      this.rows.forEach((row, i) => i === k ? row.setAttribute("aria-current", "true") : row.removeAttribute("aria-current"));
    this.back.disabled = k === 0; this.next.disabled = done;
    this.element.dataset.shown = this.run + ":" + this.sample + ":" + k;
  }

  // Whether the output of a step is wrong; in counting, only where the loop ends can be.
  mistaken(k) {
    const { outputs, truth } = this.shown, ended = k >= outputs.length;
    if (this.task.kind === "counting") return ended ? k !== truth : k >= truth;
    return ended ? k !== truth.length : outputs[k] !== truth[k];
  }

  // Notes below the output of step k.
  notes(k) { return this.mistaken(k) ? [el("small", {}, "✗ " + this.wanted(k))] : []; }

  place(k, last) { return `step ${k} of ${last}, p(end) = ${this.shown.stops[k].toFixed(2)}`; }

  // The right output of step k.
  wanted(k) {
    const { truth } = this.shown, count = Array.isArray(truth) ? truth.length : truth;
    if (k >= count) return `there are ${count} ${this.task.unit}`;
    return Array.isArray(truth) ? "ground truth: " + truth[k] : "one of " + count;
  }

  play(on) {
    clearInterval(this.timer);
    this.timer = on ? setInterval(() => this.step + 1 < this.shown.stops.length ? this.go(this.step + 1) : this.play(false), 700) : null;
    this.playing.textContent = on ? "❚❚ Pause" : "▶ Play";
  }

  toggle() {
    if (!this.timer && this.step === this.shown.stops.length - 1) this.go(0);
    this.play(!this.timer);
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("select, input")) return;
    const moves = { ArrowLeft: this.step - 1, ArrowRight: this.step + 1, Home: 0, End: Infinity };
    if (event.key in moves) this.go(moves[event.key]);
    else if (event.key === " " && event.target.tagName !== "BUTTON") this.toggle();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}
