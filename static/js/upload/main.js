// The upload page: a new upload, or an unfinished one, then its way to the store.
import { ask } from "../confirm.js";
import { Api } from "./api.js";
import { Chosen, match } from "./chosen.js";
import { guardDrops, onFiles } from "./drop_zone.js";
import { FileList } from "./file_list.js";
import { Plan } from "./plan.js";
import { ProgressView } from "./progress_view.js";
import { forget, heldElsewhere, hold, ownUpload, release, remember, stampsOf } from "./records.js";
import { RequestForm } from "./request_form.js";
import { counted, visible } from "./text.js";
import { Transfer } from "./transfer.js";

const FAULTS_SHOWN = 5;
const WORKSPACE_KEY = "tracesets-upload-workspace";

class UploadPage {
  constructor(root) {
    this.root = root;
    this.find = (hook) => root.querySelector(`[data-${hook}]`);
    this.api = new Api(root.dataset.csrfToken, root.dataset.tokenUrl);
    this.chosen = new Chosen();
    this.files = new FileList(this.find("form"), this.chosen, () => this.render());
    this.form = new RequestForm(this.find("form"), this.chosen, () => this.renderSoon());
    this.view = new ProgressView(this.find("progress"));
    this.transfer = null;
    this.listen();
    this.markHeld();
    root.hidden = false;
    this.offerOwn();
  }

  // -- a new upload

  listen() {
    guardDrops();
    onFiles(this.find("drop"), (picked) => this.add(picked), (text) => this.form.tell(text));
    onFiles(this.find("resume-drop"), (picked) => this.takeUp(picked), (text) => this.showResumeFaults([text]));
    this.find("form").addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.form.try()) this.open();
    });
    this.find("resume-close").addEventListener("click", () => this.leaveResume());
    for (const item of this.root.querySelectorAll("[data-upload-id]")) this.listenToUnfinished(item);
    this.find("pause").addEventListener("click", () => this.transfer.pause());
    this.find("go-on").addEventListener("click", () => this.transfer.resume());
    this.find("again").addEventListener("click", () => this.again());
    this.find("cancel").addEventListener("click", () => this.cancel());
    window.addEventListener("online", () => this.transfer?.wake());
    window.addEventListener("beforeunload", (event) => {
      if (this.transfer && !this.transfer.isOver) event.preventDefault();
    });
    const workspace = this.form.field("workspaceId");
    const last = quietly(() => window.localStorage.getItem(WORKSPACE_KEY));
    if ([...workspace.options].some(({ value }) => value === last)) workspace.value = last;
  }

  add(picked) {
    this.chosen.add(picked);
    this.render();
  }

  render() {
    this.files.render();
    this.renderForm();
  }

  renderSoon() {
    window.cancelAnimationFrame(this.frame);
    this.frame = window.requestAnimationFrame(() => this.renderForm());
  }

  renderForm() {
    const { coverage } = this.form.render();
    const place = this.find("coverage");
    place.hidden = coverage === null;
    place.textContent = coverage === null ? "" : visible(coverage.text);
    place.className = `coverage ${coverage?.isGood ? "is-good" : "is-warn"}`;
  }

  async open() {
    const button = this.find("start");
    const { body } = this.form.read();
    quietly(() => window.localStorage.setItem(WORKSPACE_KEY, body.workspaceId));
    button.disabled = true;
    this.find("start-text").textContent = "Opening…";
    try {
      const answer = await this.api.open(body, this.keyOf(body));
      this.asked = null;
      const blobs = new Map(this.chosen.files.map(({ name, file }) => [name, file]));
      const files = withSizes(answer.body.files, body.files);
      const stamps = this.chosen.files.map(({ file }) => file.lastModified);
      remember(answer.body.uploadId, answer.body.expiresAt, stamps);
      await hold(answer.body.uploadId);
      this.start(answer, new Plan(files, blobs), body.name);
    } catch (error) {
      this.form.tell(error.message);
    } finally {
      button.disabled = false;
      this.find("start-text").textContent = "Upload";
    }
  }

  /** The same for the same request, so that the server opens one session, however often its answer is lost. */
  keyOf(body) {
    const text = JSON.stringify(body);
    if (this.asked?.text !== text) this.asked = { text, key: randomKey() };
    return this.asked.key;
  }

  // -- the way to the store

  async start(answer, plan, name) {
    this.name = name;
    this.transfer = new Transfer(this.api, answer, plan);
    for (const hook of ["form", "resume", "unfinished"]) {
      if (this.find(hook)) this.find(hook).hidden = true;
    }
    this.view.show(this.transfer, name);
    document.getElementById("progress-title").focus({ preventScroll: true });
    window.scrollTo(0, 0);
    await this.transfer.run();
    this.view.render();
    if (this.transfer.state === "done") {
      forget(this.transfer.uploadId);
      window.location.assign(this.root.dataset.tracesetsUrl + this.transfer.tracesetId);
    }
  }

  /** Another try of a transfer that stopped. */
  async again() {
    const { uploadId, plan } = this.transfer;
    try {
      const answer = await this.api.show(uploadId);
      if (!["open", "completing"].includes(answer.body.state)) throw new Error(ended(answer.body));
      const blobs = new Map(plan.files.map(({ name, blob }) => [name, blob]).filter(([, blob]) => blob));
      this.start(answer, new Plan(answer.body.files, blobs), this.name);
    } catch (error) {
      this.transfer.reason = error.message;
      this.view.render();
    }
  }

  async cancel() {
    const question = "Cancel this upload? What has arrived is discarded, and the traceset will not exist.";
    if (!(await ask(question, "Discard the upload"))) return;
    try {
      await this.transfer.cancel();
      this.drop(this.transfer.uploadId);
    } catch (error) {
      this.transfer.trouble = error.message;
    }
    this.view.render();
  }

  // -- an unfinished upload

  listenToUnfinished(item) {
    const { uploadId } = item.dataset;
    item.querySelector("[data-continue]").addEventListener("click", () => this.offer(item));
    item.querySelector("[data-discard]").addEventListener("click", async () => {
      if (!(await ask("Discard this upload? What has arrived is deleted.", "Discard"))) return;
      try {
        await this.api.abort(uploadId);
        this.drop(uploadId);
      } catch (error) {
        this.tellUnfinished(error.message);
      }
    });
  }

  tellUnfinished(message) {
    const place = this.find("unfinished-fault");
    place.hidden = false;
    place.textContent = visible(message);
  }

  drop(uploadId) {
    forget(uploadId);
    release(uploadId);
    this.root.querySelector(`[data-upload-id="${uploadId}"]`)?.remove();
    const list = this.find("unfinished");
    if (list && !list.querySelector("[data-upload-id]")) list.hidden = true;
  }

  async markHeld() {
    const held = await heldElsewhere();
    for (const item of this.root.querySelectorAll("[data-upload-id]")) {
      const isHeld = held.has(item.dataset.uploadId);
      item.querySelector("[data-elsewhere]").hidden = !isHeld;
      for (const button of item.querySelectorAll("button")) button.disabled = isHeld;
    }
  }

  /** The page goes on with what a link led to or, after a reload, with what it was at. */
  offerOwn() {
    const item = this.root.querySelector(`[data-upload-id="${window.CSS.escape(this.root.dataset.asked || ownUpload() || "")}"]`);
    if (item) this.offer(item);
  }

  /** Ask for the files of an unfinished upload; where all parts have arrived, complete it at once. */
  async offer(item) {
    const { uploadId } = item.dataset;
    const name = item.querySelector("[data-name]").textContent;
    try {
      if (!(await hold(uploadId))) throw new Error("This upload is being sent in another tab");
      this.offered = { answer: await this.api.show(uploadId), name };
      const { body } = this.offered.answer;
      if (!["open", "completing"].includes(body.state)) throw new Error(ended(body));
    } catch (error) {
      release(uploadId);
      this.tellUnfinished(error.message);
      this.markHeld();
      return;
    }
    this.find("form").hidden = true;
    this.find("unfinished").hidden = true;
    this.find("resume").hidden = false;
    this.find("resume-name").textContent = visible(name);
    this.showResumeFaults([]);
    this.tellWhatIsMissing();
  }

  tellWhatIsMissing() {
    const { files } = this.offered.answer.body;
    const incomplete = files.filter(({ parts }) => parts.some(({ uploaded }) => !uploaded));
    this.find("resume-state").textContent = incomplete.length
      ? `Of ${counted(files.length, "file")}, ${counted(files.length - incomplete.length, "file")} arrived in full. ` +
        "Choose the same files again; names and sizes are compared, and only what is missing is sent."
      : "All parts have arrived.";
    if (!incomplete.length) this.takeUp([]);
  }

  takeUp(picked) {
    const { answer, name } = this.offered;
    const { files, uploadId, expiresAt } = answer.body;
    const found = match(files, picked, stampsOf(uploadId));
    const faults = [
      ...told(found.different, "have another size than when the upload began"),
      ...told(found.changed, "were changed since parts of them were sent: discard this upload and begin a new one"),
      ...told(found.missing, "are still to be chosen"),
    ];
    this.showResumeFaults(faults);
    if (faults.length) return;
    // A file that has arrived in full is not asked for; of the others, the time of the last change is kept.
    const before = stampsOf(uploadId);
    remember(uploadId, expiresAt, files.map((file, i) => found.blobs.get(file.name)?.lastModified ?? before?.[i] ?? null));
    this.start(answer, new Plan(files, found.blobs), name);
  }

  showResumeFaults(faults) {
    const place = this.find("resume-faults");
    place.hidden = !faults.length;
    place.replaceChildren(...faults.map((fault) => {
      const line = document.createElement("p");
      line.textContent = visible(fault);
      return line;
    }));
  }

  leaveResume() {
    release(this.offered.answer.body.uploadId);
    this.find("resume").hidden = true;
    this.find("form").hidden = false;
    this.find("unfinished").hidden = false;
    this.markHeld();
  }
}

/** The answer to an opening, as a session is shown: with sizes, and with nothing that has arrived. */
function withSizes(files, specs) {
  return files.map((file, i) => ({ ...file, size: specs[i].size }));
}

function told(names, what) {
  if (!names.length) return [];
  const more = names.length > FAULTS_SHOWN ? `, and ${names.length - FAULTS_SHOWN} more` : "";
  return [`${counted(names.length, "file")} ${what}: ${names.slice(0, FAULTS_SHOWN).join(", ")}${more}`];
}

function ended({ state, failure }) {
  return failure ?? `This upload session is ${state}`;
}

function randomKey() {
  return Array.from(window.crypto.getRandomValues(new Uint32Array(4)), (n) => n.toString(36)).join("-");
}

function quietly(action) {
  try {
    return action();
  } catch {
    return null;
  }
}

const root = document.querySelector("[data-upload]");
if (root) new UploadPage(root);
