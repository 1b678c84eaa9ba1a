// The form beside the files: read into the body of a request, with every fault told beside its field.
import { DEGREES, readCount, readDeclaration, readMembers, requestFaults } from "./checks.js";
import { numberText, visible } from "./text.js";

const WORDS = ["workload_family", "workload_name", "precision", "accelerator"];
const SIZES = ["global_batch_size", "sequence_length"];
const DECLARED = ["rankCount", ...DEGREES, "cp", "fsdp"];
const SHOWN_FAULTS = 6;

export class RequestForm {
  tags = [];
  #touched = new Set();
  #isTried = false;

  constructor(form, chosen, onChange) {
    this.form = form;
    this.chosen = chosen;
    this.onChange = onChange;
    this.find = (hook) => form.querySelector(`[data-${hook}]`);
    this.field = (name) => form.elements.namedItem(name);
    this.#listen();
  }

  /** Read everything: {body, faults, declaration, coverage}; the texts of the form are not changed. */
  read() {
    const faults = [];
    const texts = Object.fromEntries(DECLARED.map((name) => [name, this.field(name).value]));
    const declaration = readDeclaration(texts);
    faults.push(...declaration.faults);
    const ttlDays = readCount(this.field("ttlDays").value, "ttlDays", faults, 365);
    const body = {
      workspaceId: this.field("workspaceId").value,
      name: this.field("name").value.trim(),
      description: this.field("description").value.trim() || null,
      tags: this.tags,
      ttlDays,
      files: this.chosen.files.map(({ name, file, role }) => ({ name, size: file.size, role })),
      workloadMetadata: this.#metadata(declaration, faults),
    };
    const isBroken = declaration.faults.length > 0;
    faults.push(...requestFaults(body, declaration.count).filter(([field]) => !(isBroken && field === "rankCount")));
    return { body, faults, declaration, coverage: this.chosen.tellCoverage(isBroken ? null : declaration.count) };
  }

  /** Show what follows from the fields as they are. */
  render() {
    const told = this.read();
    this.#renderProduct(told.declaration);
    this.#renderFaults(told.faults);
    this.#renderSuggestedCount(told.declaration);
    return told;
  }

  /** Show all faults from now on, and go to the first; whether there is none. */
  try() {
    this.#isTried = true;
    // Not when the field loses the focus: a new tag would move the button away under the pointer.
    this.#addTag(document.getElementById("tag"));
    const { faults } = this.render();
    if (faults.length) (this.field(faults[0][0] === "parallelism" ? "dp" : faults[0][0]) ?? this.find("faults")).focus();
    return !faults.length;
  }

  /** A fault that the server told. */
  tell(message) {
    this.#writeSummary([message]);
  }

  #metadata(declaration, faults) {
    const { shape = {}, parallelism = {}, ...rest } = readMembers(this.field("members").value, "members", faults);
    const metadata = {};
    for (const name of WORDS) {
      const text = this.field(name).value.trim();
      if (text) metadata[name] = text;
    }
    for (const [name, given] of Object.entries({ shape, parallelism })) {
      const isObject = given !== null && typeof given === "object" && !Array.isArray(given);
      if (!isObject) faults.push(["members", `${name} must be an object`]);
      for (const member of [...DEGREES, "rankCount"]) {
        if (isObject && member in given) faults.push(["members", `Declare ${name}.${member} by its own field`]);
      }
    }
    const sizes = SIZES.map((name) => [name, readCount(this.field(name).value, name, faults, Number.MAX_SAFE_INTEGER)]);
    const counts = [["rankCount", declaration.rankCount], ...sizes];
    const degrees = [...declaration.factors, ...Object.entries(declaration.others)];
    Object.assign(metadata, rest, withMembers("shape", shape, counts), withMembers("parallelism", parallelism, degrees));
    return Object.keys(metadata).length ? metadata : null;
  }

  #renderProduct({ factors, product, rankCount, count }) {
    const output = this.find("product");
    output.classList.toggle("is-bad", product !== null && count !== null && product !== BigInt(count));
    if (product !== null) {
      const terms = factors.map(([name, value]) => `${name} ${numberText(value)}`).join(" × ");
      output.textContent = `${terms} = ${numberText(product)}`;
    } else {
      output.textContent = rankCount === null ? "" : `${numberText(rankCount)} ranks`;
    }
  }

  #renderSuggestedCount({ count }) {
    const button = this.find("use-count");
    const suggested = this.chosen.suggestedCount;
    button.hidden = suggested === null || count !== null;
    button.textContent = suggested === null ? "" : `The names tell of ${numberText(suggested)}: use that`;
  }

  #renderFaults(faults) {
    const byField = new Map(faults.map(([field, message]) => [field, message]).reverse());
    for (const place of this.form.querySelectorAll(".field-error")) {
      const name = place.id.replace(/-fault$/, "");
      const message = byField.get(name) ?? "";
      const isShown = this.#isTried || this.#touched.has(name) || name === "parallelism" || name === "members";
      place.textContent = isShown ? visible(message) : "";
      this.field(name)?.classList?.toggle("is-invalid", isShown && Boolean(message));
      if (this.field(name)?.setAttribute) this.field(name).setAttribute("aria-invalid", String(isShown && Boolean(message)));
    }
    this.#writeSummary(this.#isTried ? faults.map(([, message]) => message) : []);
  }

  #writeSummary(messages) {
    const place = this.find("faults");
    place.hidden = !messages.length;
    const items = messages.slice(0, SHOWN_FAULTS).map((message) => lineOf("li", visible(message)));
    if (messages.length > SHOWN_FAULTS) items.push(lineOf("li", `and ${messages.length - SHOWN_FAULTS} more`));
    const list = document.createElement("ul");
    list.append(...items);
    place.replaceChildren(...(messages.length ? [list] : []));
  }

  #listen() {
    this.form.addEventListener("input", (event) => {
      if (!event.target.name) return; // The tools of the tables, which have none.
      this.#touched.add(event.target.name);
      if (event.target.name === "rankCount") this.#touched.add("parallelism");
      if (DEGREES.includes(event.target.name)) this.#touched.add("rankCount");
      this.onChange();
    });
    this.find("use-count").addEventListener("click", () => {
      this.field("rankCount").value = this.chosen.suggestedCount;
      this.#touched.add("rankCount");
      this.field("rankCount").focus();
      this.onChange();
    });
    const tag = document.getElementById("tag");
    tag.addEventListener("keydown", (event) => {
      if (event.key === "Backspace" && !tag.value && this.tags.length) this.#setTags(this.tags.slice(0, -1));
      if (event.key !== "Enter" && event.key !== ",") return;
      event.preventDefault();
      this.#addTag(tag);
    });
  }

  #addTag(input) {
    const text = input.value.trim();
    input.value = "";
    if (text && !this.tags.includes(text)) this.#setTags([...this.tags, text]);
  }

  #setTags(tags) {
    this.tags = tags;
    const chips = tags.map((text) => {
      const chip = document.createElement("button");
      chip.type = "button";
      chip.className = "tag tag-removable";
      chip.setAttribute("aria-label", `Remove the tag ${visible(text)}`);
      chip.append(lineOf("bdi", visible(text)), " ×");
      chip.addEventListener("click", () => this.#setTags(this.tags.filter((other) => other !== text)));
      return chip;
    });
    this.find("tags").replaceChildren(...chips);
    this.onChange();
  }
}

/** {name: object}, with those of the members that have a value; {} where it stays empty. */
function withMembers(name, given, members) {
  const object = { ...given, ...Object.fromEntries(members.filter(([, value]) => value !== null)) };
  return Object.keys(object).length ? { [name]: object } : {};
}

function lineOf(tag, text) {
  const element = document.createElement(tag);
  element.textContent = text;
  return element;
}
