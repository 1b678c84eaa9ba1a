// A table of any length, of which one page is in the document.
import { numberText } from "./text.js";

const ROWS = 50;

export class PagedTable {
  #items = [];
  #page = 0;

  /** `fill(row, item)` writes an item into a clone of the template's row. */
  constructor({ body, pager, template, fill }) {
    this.body = body;
    this.pager = pager;
    this.row = template.content.querySelector("tr");
    this.fill = fill;
    this.pager.addEventListener("click", (event) => {
      const step = Number(event.target.closest("button")?.dataset.step);
      if (step) this.#turn(step);
    });
  }

  /** Show these items; the page stays where it is, as far as there is one. */
  show(items) {
    this.#items = items;
    this.#page = Math.min(this.#page, this.#lastPage);
    this.refresh();
  }

  /** Write the page anew; rows are kept, so that a field keeps its focus. */
  refresh() {
    const start = this.#page * ROWS;
    const shown = this.#items.slice(start, start + ROWS);
    while (this.body.children.length > shown.length) this.body.lastElementChild.remove();
    shown.forEach((item, i) => {
      if (!this.body.children[i]) this.body.append(document.importNode(this.row, true));
      this.fill(this.body.children[i], item);
    });
    this.#writePager(start, shown.length);
  }

  get #lastPage() {
    return Math.max(0, Math.ceil(this.#items.length / ROWS) - 1);
  }

  #turn(step) {
    this.#page = Math.min(Math.max(this.#page + step, 0), this.#lastPage);
    this.refresh();
  }

  #writePager(start, count) {
    if (!this.pager.children.length) this.pager.append(turner(-1, "← Previous"), document.createElement("span"), turner(1, "Next →"));
    const [back, text, on] = this.pager.children;
    const total = this.#items.length;
    text.textContent = count ? `${numberText(start + 1)} to ${numberText(start + count)} of ${numberText(total)}` : "none";
    back.hidden = on.hidden = total <= ROWS;
    back.disabled = this.#page === 0;
    on.disabled = this.#page === this.#lastPage;
  }
}

function turner(step, label) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "btn btn-outline-secondary btn-sm";
  button.dataset.step = step;
  button.textContent = label;
  return button;
}
