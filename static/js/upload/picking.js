// From what a person drops or chooses to {name, file} pairs; the names are paths below what was given.
import { compareNaturally } from "./rank_names.js";

/** Files chosen by an <input>; those of a folder are named from within it. */
export function filesOfInput(input) {
  return named([...input.files].map((file) => ({ name: file.webkitRelativePath || file.name, file })));
}

/** Files dropped: every one in dropped folders too, however many. */
export async function filesOfDrop(transfer) {
  // All entries must be taken before the first wait: the browser empties the list after the event.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter((entry) => entry);
  const found = [];
  for (const entry of entries) await walk(entry, found);
  return named(found);
}

async function walk(start, found) {
  const todo = [start];
  while (todo.length) {
    const entry = todo.pop();
    if (entry.isFile) {
      const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
      found.push({ name: entry.fullPath.replace(/^\//, ""), file });
    } else {
      todo.push(...(await childrenOf(entry)));
    }
  }
}

async function childrenOf(folder) {
  const reader = folder.createReader();
  const children = [];
  for (;;) {
    // A reader gives a hundred at a time, and none at the end.
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return children;
    children.push(...some);
  }
}

/** In natural order; where all of it lies in one folder, that folder's name is left out, as on the command line. */
function named(found) {
  const roots = new Set(found.map(({ name }) => (name.includes("/") ? name.slice(0, name.indexOf("/")) : null)));
  const isOneFolder = roots.size === 1 && !roots.has(null);
  const cut = isOneFolder ? [...roots][0].length + 1 : 0;
  return found
    .map(({ name, file }) => ({ name: name.slice(cut), file }))
    .sort((a, b) => compareNaturally(a.name, b.name));
}
