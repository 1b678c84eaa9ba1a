// Speed, and from it the time left.

const WINDOW_MS = 15_000;

export class Meter {
  #samples = []; // [moment in ms, bytes sent since the start]

  /** Note how many bytes have been sent in all. */
  note(bytes, now = performance.now()) {
    this.#samples.push([now, bytes]);
    while (this.#samples.length > 2 && this.#samples[1][0] < now - WINDOW_MS) this.#samples.shift();
  }

  /** Forget what was, after a pause. */
  reset() {
    this.#samples = [];
  }

  /** Bytes per second over the last seconds; 0 where nothing is known. */
  get speed() {
    if (this.#samples.length < 2) return 0;
    const [[began, first], [ended, last]] = [this.#samples[0], this.#samples.at(-1)];
    return ended - began < 500 ? 0 : Math.max(0, ((last - first) * 1000) / (ended - began));
  }

  /** Seconds for so many more bytes; null where nobody can tell. */
  secondsFor(bytes) {
    return this.speed > 0 ? bytes / this.speed : null;
  }
}
