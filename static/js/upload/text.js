// How values are written, as app/web/filters.py writes them.

const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB"];
const DIRECTION_CONTROLS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Bytes in the largest unit that leaves a number of at least 1. */
export function sizeText(bytes) {
  if (bytes < 1024) return `${bytes} B`;
  let value = bytes;
  let unit = "";
  for (unit of UNITS) {
    value /= 1024;
    if (value < 1023.95) break;
  }
  return `${value.toFixed(1)} ${unit}`;
}

/** A whole number with its thousands apart. */
export function numberText(value) {
  return String(value).replace(/\B(?=(\d{3})+$)/g, "\u202f");
}

/** A number with the noun that it counts. */
export function counted(count, noun) {
  return `${numberText(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** Seconds as people say them. */
export function durationText(seconds) {
  if (seconds < 1) return "a moment";
  if (seconds < 60) return `${Math.ceil(seconds)} s`;
  if (seconds < 3600) return `${Math.ceil(seconds / 60)} min`;
  const minutes = Math.ceil(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Text that people gave, with its direction controls spelt out. */
export function visible(text) {
  return text.replace(DIRECTION_CONTROLS, (control) => {
    const code = control.codePointAt(0).toString(16).toUpperCase().padStart(4, "0");
    return `\u27e8U+${code}\u27e9`;
  });
}
