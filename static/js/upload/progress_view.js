// An upload under way, as one sees it.
import { announce } from "../fragments.js";
import { Meter } from "./meter.js";
import { PagedTable } from "./paged_table.js";
import { counted, durationText, numberText, sizeText, visible } from "./text.js";

const EVERY_MS = 250;
const MANY = 50;
const STATES = {
  sending: "Sending. You may work elsewhere; keep this tab open.",
  paused: "Paused. What has arrived is kept.",
  completing: "All parts have arrived; the traceset is being completed.",
  done: "The traceset is ready.",
  cancelled: "The upload was cancelled; its parts are discarded.",
  failed: "The upload has stopped.",
};
const KINDS = {
  all: () => true,
  left: ({ isDone }) => !isDone,
  sending: ({ state }) => state === "sending",
  done: ({ isDone }) => isDone,
};
const FILE_STATES = { done: "arrived", sending: "under way", waiting: "waiting" };

export class ProgressView {
  #meter = new Meter();
  #timer = 0;
  #shownState = "";

  constructor(root) {
    this.root = root;
    this.find = (hook) => root.querySelector(`[data-${hook}]`);
    this.table = new PagedTable({
      body: this.find("progress-rows"),
      pager: this.find("progress-pager"),
      template: document.querySelector("[data-progress-row]"),
      fill: fillRow,
    });
    this.find("progress-show").addEventListener("input", () => this.#renderFiles());
  }

  /** Show a transfer until it is over. */
  show(transfer, name) {
    this.transfer = transfer;
    this.#meter = new Meter();
    this.root.hidden = false;
    this.find("progress-name").textContent = visible(name);
    // Of many files, those that are through are of no interest.
    this.find("progress-show").value = transfer.plan.files.length > MANY ? "left" : "all";
    window.clearInterval(this.#timer);
    this.#timer = window.setInterval(() => this.render(), EVERY_MS);
    this.render();
  }

  render() {
    const { transfer } = this;
    const { plan, state } = transfer;
    const sent = plan.sentBytes;
    if (state === "sending") this.#meter.note(sent);
    else this.#meter.reset();
    const part = plan.totalBytes ? sent / plan.totalBytes : plan.finishedFiles / plan.files.length;
    this.find("whole").value = part;
    this.find("percent").textContent = `${Math.floor(part * 100)} %`;
    this.find("bytes").textContent = `${sizeText(sent)} of ${sizeText(plan.totalBytes)}`;
    this.find("files-done").textContent = `${numberText(plan.finishedFiles)} of ${counted(plan.files.length, "file")}`;
    this.#renderSpeed(plan.totalBytes - sent);
    this.#renderState();
    this.#renderFiles();
    if (transfer.isOver) window.clearInterval(this.#timer);
  }

  #renderSpeed(left) {
    const seconds = this.#meter.secondsFor(left);
    this.find("speed").textContent = this.#meter.speed ? `${sizeText(Math.round(this.#meter.speed))}/s` : "";
    this.find("left").textContent = seconds === null || !left ? "" : `${durationText(seconds)} left`;
  }

  #renderState() {
    const { state, trouble, reason, isOver } = this.transfer;
    if (state !== this.#shownState) {
      this.find("state").textContent = STATES[state];
      announce(STATES[state]);
      this.#shownState = state;
    }
    this.find("pause").hidden = state !== "sending";
    this.find("go-on").hidden = state !== "paused";
    this.find("again").hidden = state !== "failed";
    this.find("cancel").hidden = isOver && state !== "failed";
    this.find("cancel").disabled = state === "completing";
    for (const [hook, text] of [["trouble", trouble], ["reason", reason]]) {
      this.find(hook).hidden = !text;
      this.find(hook).textContent = visible(text);
    }
  }

  #renderFiles() {
    const kind = this.find("progress-show").value;
    const { files } = this.transfer.plan;
    this.table.show(files.filter(KINDS[kind]));
  }
}

function fillRow(row, file) {
  const name = visible(file.name);
  const part = (hook) => row.querySelector(`[data-${hook}]`);
  part("name").textContent = name;
  part("size").textContent = sizeText(file.size);
  part("bar").value = file.size ? file.sentBytes / file.size : Number(file.isDone);
  part("bar").setAttribute("aria-label", `Progress of ${name}`);
  part("file-state").textContent = FILE_STATES[file.state];
}
