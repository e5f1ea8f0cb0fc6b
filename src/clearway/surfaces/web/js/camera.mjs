// Where one looks at something large, and how near. Moving changes one transform of one element, once a frame, and draws
// nothing; whoever draws is told only when what is in view leaves what was drawn, or when it has come to rest.
const SETTLED_MS = 160
const SMALL = .45 // below it no text can be read, so none is drawn
const LEAST = .04, MOST = 2.5

export class Camera {
  constructor(told) {
    this.x = this.y = 24
    this.scale = 1
    this.told = told
    this.box = this.world = this.drawn = null
  }

  attach(box, world) { this.box = box; this.world = world; this.measure() }

  // Asked for when nothing moves: whoever asks while something does makes the browser lay the page out at once.
  measure() { this.place = this.box.getBoundingClientRect() }

  detach() { clearTimeout(this.rest); cancelAnimationFrame(this.frame); this.frame = 0; this.box = null }

  get small() { return this.scale < SMALL }

  // What is in view, in the units of the world, with so many views more on each side.
  view(more = 0) {
    const {width: w, height: h} = this.place, s = this.scale
    return {x0: (-this.x - w * more) / s, y0: (-this.y - h * more) / s, x1: (w - this.x + w * more) / s, y1: (h - this.y + h * more) / s}
  }

  put(x, y, scale = this.scale) {
    if (!this.box) return
    Object.assign(this, {x, y, scale})
    this.frame ||= requestAnimationFrame(() => this.show())
  }

  by(dx, dy) { this.put(this.x + dx, this.y + dy) }

  zoom(by, x = this.place.width / 2, y = this.place.height / 2) {
    const scale = Math.max(LEAST, Math.min(MOST, this.scale * by)), part = scale / this.scale
    this.put(x - (x - this.x) * part, y - (y - this.y) * part, scale)
  }

  // Where there is little room, what is looked at begins below the buttons.
  get top() { return this.place.width < 600 ? 52 : 24 }

  fit(width, height) {
    const {width: w, height: h} = this.place, {top} = this
    if (!w || !h) return
    const scale = Math.max(LEAST, Math.min(1.15, (w - 48) / width, (h - top - 40) / height))
    this.put(Math.max(24, (w - width * scale) / 2), Math.max(top, (h - height * scale) / 2), scale)
  }

  // Bring something into view, moving no further than needed.
  reveal({x, y}, wide, high, edge = 32) {
    const {width: w, height: h} = this.place, s = this.scale
    const left = x * s + this.x, top = y * s + this.y
    const dx = left < edge ? edge - left : Math.min(0, w - edge - (left + wide * s)), dy = top < edge ? edge - top : Math.min(0, h - edge - (top + high * s))
    if (dx || dy) this.by(dx, dy)
  }

  show() {
    this.frame = 0
    if (!this.box) return
    this.world.style.transform = `translate(${this.x}px, ${this.y}px) scale(${this.scale})`
    this.world.classList.add('moving')
    clearTimeout(this.rest)
    this.rest = setTimeout(() => this.settle(), SETTLED_MS)
    const now = this.view(), drawn = this.drawn
    if (!drawn || now.x0 < drawn.x0 || now.y0 < drawn.y0 || now.x1 > drawn.x1 || now.y1 > drawn.y1) this.draw()
  }

  // At rest the layer is given back, so that text is drawn as sharp as it can be at this size.
  settle() {
    if (!this.box) return
    this.measure()
    this.world.classList.remove('moving')
    if (this.drawn?.small !== this.small) this.draw()
  }

  draw() {
    this.drawn = {...this.view(.5), small: this.small}
    this.told(this.drawn)
  }
}
