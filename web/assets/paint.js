// Decides when the page is drawn: at most four times a second, at once when what may be tapped has changed, and each
// second for the ages.

const pace = 250;

let draw = () => {};
let last = 0;
let waiting = null;

export function paintWith(f) {
  draw = f;
  setInterval(() => changed(), 1000);
}

// changed says that something of the page is not as it was drawn.
export function changed(atOnce = false) {
  if (atOnce) {
    clearTimeout(waiting);
    waiting = null;
    paint();
    return;
  }
  if (waiting === null) waiting = setTimeout(paint, Math.max(0, last + pace - performance.now()));
}

function paint() {
  waiting = null;
  last = performance.now();
  draw();
}
