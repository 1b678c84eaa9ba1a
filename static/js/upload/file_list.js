// The table of the chosen files, with roles and ranks to change.
import { fileNameFault } from "./checks.js";
import { PagedTable } from "./paged_table.js";
import { counted, sizeText, visible } from "./text.js";

const HIGHEST_RANK = 2 ** 31 - 2;
const KINDS = {
  all: () => true,
  primary: ({ role }) => role === "primary",
  supporting: ({ role }) => role === "supporting",
  unranked: ({ role, rank }) => role === "primary" && rank === null,
  twins: ({ isTwin }) => isTwin,
  faulty: (entry) => Boolean(nameFault(entry)),
};

export class FileList {
  /** `onChange` is called after each change by hand. */
  constructor(root, chosen, onChange) {
    this.root = root;
    this.chosen = chosen;
    this.onChange = onChange;
    this.entries = new WeakMap(); // of the rows
    this.find = (hook) => root.querySelector(`[data-${hook}]`);
    this.table = new PagedTable({
      body: this.find("files-rows"),
      pager: this.find("files-pager"),
      template: document.querySelector("[data-file-row]"),
      fill: (row, entry) => this.#fill(row, entry),
    });
    this.#listen();
  }

  render() {
    const { files } = this.chosen;
    this.find("files").hidden = !files.length;
    this.find("drop").classList.toggle("is-small", files.length > 0);
    this.find("files-sum").textContent = files.length
      ? `${counted(files.length, "file")}, ${sizeText(this.chosen.totalBytes)}`
      : "";
    this.table.show(this.#shown());
  }

  #shown() {
    const term = this.find("files-search").value.trim().toLowerCase();
    const isKind = KINDS[this.find("files-show").value];
    return this.chosen.files.filter((entry) => isKind(entry) && entry.name.toLowerCase().includes(term));
  }

  #fill(row, entry) {
    this.entries.set(row, entry);
    const name = visible(entry.name);
    const part = (hook) => row.querySelector(`[data-${hook}]`);
    part("name").textContent = name;
    part("size").textContent = sizeText(entry.file.size);
    part("role").value = entry.role;
    part("role").setAttribute("aria-label", `Role of ${name}`);
    const rank = part("rank");
    rank.hidden = entry.role !== "primary";
    if (document.activeElement !== rank) rank.value = entry.rank ?? "";
    rank.setAttribute("aria-label", `Rank of ${name}`);
    rank.classList.toggle("is-changed", entry.rule === "hand");
    rank.classList.toggle("is-twin", entry.isTwin);
    part("remove").setAttribute("aria-label", `Remove ${name}`);
    const note = noteOf(entry);
    part("note").textContent = note.text;
    part("note").hidden = !note.text;
    part("note").classList.toggle("is-bad", note.isBad);
  }

  #listen() {
    const rows = this.find("files-rows");
    const entryOf = (event) => this.entries.get(event.target.closest("tr"));
    rows.addEventListener("change", (event) => {
      const entry = entryOf(event);
      if (event.target.matches("[data-role]")) entry.givenRole = event.target.value;
      else entry.givenRank = rankGiven(event.target.value, entry);
      if (event.target === document.activeElement) event.target.blur();
      this.#changed();
    });
    rows.addEventListener("click", (event) => {
      if (!event.target.closest("[data-remove]")) return;
      this.chosen.remove(entryOf(event));
      this.#changed();
    });
    for (const hook of ["files-search", "files-show"]) {
      this.find(hook).addEventListener("input", () => this.render());
    }
    this.find("files-role").addEventListener("change", (event) => {
      const role = event.target.value === "suggested" ? null : event.target.value;
      for (const entry of this.#shown()) entry.givenRole = role;
      event.target.value = "";
      this.#changed();
    });
    this.find("files-clear").addEventListener("click", () => {
      this.chosen.clear();
      this.#changed();
    });
  }

  #changed() {
    this.chosen.derive();
    this.onChange();
  }
}

/** The rank that was typed; null for none; what stood there before where it is no rank. */
function rankGiven(text, entry) {
  const trimmed = text.trim();
  if (!trimmed) return null;
  return /^[0-9]{1,10}$/.test(trimmed) && Number(trimmed) <= HIGHEST_RANK ? Number(trimmed) : entry.rank ?? undefined;
}

function nameFault(entry) {
  return fileNameFault(entry.name) || (entry.isRepeated ? "is the name of two files" : "");
}

function noteOf(entry) {
  const fault = nameFault(entry);
  if (fault) return { text: fault, isBad: true };
  if (entry.isTwin) return { text: `several files for rank ${entry.rank}`, isBad: true };
  if (entry.name !== entry.path) return { text: `was ${visible(entry.path)}`, isBad: false };
  return { text: "", isBad: false };
}
