// One session from its first part to the traceset that is ready.
//
// Several workers take parts from the plan; each sends its part until the store has it, however often the connection
// breaks meanwhile. What only a person can mend ends the transfer as "failed"; the session stays open for another try.
import { ApiError } from "./api.js";
import { putPart } from "./put.js";

const WORKERS = 4;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 20_000;
const LONGEST_LOOK_MS = 5_000;
const MOST_DENIALS = 4; // Of one part in a row, each after fresh URLs.
const MOST_ROUNDS = 4; // Of completions that find parts missing.
const EXPIRED = [401, 403];
const GONE = [404, 410];
const PASSING = [0, 408, 429];

/** Ends the work of all workers; the transfer's state says why. */
class Stopped extends Error {}

export class Transfer {
  #urls; // Of which moment the plan's URLs are, and until when they are good, by this browser's clock.
  #refreshing = null;
  #under = new AbortController(); // Ends the requests that are under way.
  #wakers = new Set();

  /**
   * `answer` is what the API told of the session: its body, and the server's time. `plan` was made of it.
   * States: "sending", "paused", "completing", then "done", "cancelled" or "failed" (with `reason`).
   */
  constructor(api, answer, plan) {
    this.api = api;
    this.plan = plan;
    this.uploadId = answer.body.uploadId;
    this.tracesetId = answer.body.tracesetId;
    this.state = "sending";
    this.reason = "";
    this.trouble = ""; // What is being waited for, in words.
    this.#noteUrls(answer);
  }

  get isOver() {
    return ["done", "cancelled", "failed"].includes(this.state);
  }

  /** Do the work; ends when the transfer is over. */
  async run() {
    try {
      for (let round = 0; ; round += 1) {
        await Promise.all(Array.from({ length: WORKERS }, () => this.#work()));
        if (await this.#complete(round)) return;
      }
    } catch (error) {
      if (!(error instanceof Stopped)) this.#end("failed", `Something went wrong in this page: ${error.message}`);
    }
  }

  pause() {
    if (this.state !== "sending") return;
    this.state = "paused";
    this.trouble = "";
    this.#interrupt();
  }

  resume() {
    if (this.state === "paused") this.state = "sending";
    this.wake();
  }

  /** Try at once what is being waited with. */
  wake() {
    for (const waker of this.#wakers) waker();
  }

  /** End the session; its parts are discarded. */
  async cancel() {
    await this.api.abort(this.uploadId);
    this.#end("cancelled", "");
  }

  async #work() {
    for (;;) {
      await this.#gate();
      const part = this.plan.next();
      if (!part) return;
      await this.#deliver(part);
    }
  }

  /** Send a part until the store has it. */
  async #deliver(part) {
    let failures = 0;
    let denials = 0;
    while (!part.isDone) {
      await this.#gate();
      await this.#keepUrlsFresh();
      if (part.isDone) return;
      const begun = this.#urls.noted;
      const status = await this.#put(part);
      if (part.isDone || this.state !== "sending") continue;
      if (EXPIRED.includes(status) || GONE.includes(status)) {
        denials += 1;
        if (denials > MOST_DENIALS) this.#fail(`The store refuses part ${part.number} of “${part.file.name}” (${status})`);
        await this.#refresh(begun);
      } else if (PASSING.includes(status) || status >= 500) {
        failures += 1;
        await this.#requireReadable(part);
        await this.#wait(failures, status === 507 ? "The store is full" : "The connection is bad");
        // The answer may be all that was lost, or the session may be.
        if (failures > 1) await this.#refresh(begun);
      } else {
        this.#fail(`The store refuses part ${part.number} of “${part.file.name}” with status ${status}`);
      }
    }
  }

  async #put(part) {
    part.begin();
    const { status, etag } = await putPart(part.url, part.slice(), this.#under.signal, (sent) => {
      part.sent = Math.min(sent, part.size);
    });
    if (status >= 200 && status < 300) {
      part.finish(etag);
      this.trouble = "";
    } else {
      part.stop();
    }
    return status;
  }

  /** A file that was moved or changed looks like a bad connection. */
  async #requireReadable(part) {
    try {
      await part.slice().slice(0, 1).arrayBuffer();
    } catch {
      this.#fail(`“${part.file.name}” cannot be read any more: it was moved or changed since you chose it`);
    }
  }

  /** Complete the session; false where parts turned out to be missing. */
  async #complete(round) {
    this.state = "completing";
    for (let failures = 0; ; failures += 1) {
      try {
        const { body } = await this.api.complete(this.uploadId, this.plan.named());
        this.tracesetId = body.id;
        this.#end("done", "");
        return true;
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.status === 400 && round < MOST_ROUNDS && (await this.#findMissing())) return false;
        if (error.status === 408 || error.status === 409) {
          await this.#wait(failures + 1, "", LONGEST_LOOK_MS); // It goes on without us.
        } else if (error.isPassing) {
          await this.#wait(failures + 1, error.message, LONGEST_PAUSE_MS, error.retryAfter);
        } else {
          this.#fail(error.message);
        }
      }
    }
  }

  async #findMissing() {
    const answer = await this.#show();
    if (answer.body.state !== "open") return false;
    this.#noteUrls(answer);
    if (!this.plan.restart(answer.body.files)) return false;
    this.state = "sending";
    return true;
  }

  async #keepUrlsFresh() {
    if (performance.now() > this.#urls.staleAt) await this.#refresh(this.#urls.noted);
  }

  /** Fetch fresh URLs, unless that was done since `noted`; several workers that want them share one request. */
  async #refresh(noted) {
    if (this.#urls.noted !== noted) return;
    this.#refreshing ??= this.#fetchUrls().finally(() => {
      this.#refreshing = null;
    });
    await this.#refreshing;
  }

  async #fetchUrls() {
    const answer = await this.#show();
    const { state, failure, files } = answer.body;
    if (state !== "open") this.#fail(failure ?? `The upload session is ${state}`);
    this.#noteUrls(answer);
    this.plan.update(files);
  }

  /** The session as it stands, however long that takes. */
  async #show() {
    for (let failures = 1; ; failures += 1) {
      try {
        return await this.api.show(this.uploadId);
      } catch (error) {
        if (!error.isPassing) this.#fail(error.message);
        await this.#wait(failures, error.message, LONGEST_PAUSE_MS, error.retryAfter);
        await this.#gate();
      }
    }
  }

  #noteUrls({ body, servedAt }) {
    const ends = body.files.map(({ partUrlsExpireAt }) => Date.parse(partUrlsExpireAt));
    const lifetime = ends.length ? ends.reduce((a, b) => Math.min(a, b)) - servedAt : 0;
    const noted = performance.now();
    // The last tenth is left for the way there; the store looks at the clock when a request begins.
    this.#urls = { noted, staleAt: noted + Math.max(lifetime - Math.min(60_000, lifetime / 10), 1000) };
  }

  /** Let nobody through while the transfer is paused, and nobody at all when it is over. */
  async #gate() {
    while (this.state === "paused") await this.#sleep(60_000);
    if (this.isOver) throw new Stopped();
  }

  async #wait(failures, trouble, longest = LONGEST_PAUSE_MS, retryAfter = null) {
    const growing = Math.min(longest, FIRST_PAUSE_MS * 2 ** (failures - 1));
    const pause = Math.max((retryAfter ?? 0) * 1000, growing * (0.5 + Math.random() / 2));
    if (trouble) this.trouble = `${trouble}; trying again…`;
    await this.#sleep(pause);
    if (this.isOver) throw new Stopped();
  }

  #sleep(milliseconds) {
    return new Promise((resolve) => {
      const waker = () => {
        window.clearTimeout(timer);
        this.#wakers.delete(waker);
        resolve();
      };
      const timer = window.setTimeout(waker, milliseconds);
      this.#wakers.add(waker);
    });
  }

  #fail(reason) {
    this.#end("failed", reason);
    throw new Stopped();
  }

  #end(state, reason) {
    if (this.isOver) return;
    this.state = state;
    this.reason = reason;
    this.trouble = "";
    this.#interrupt();
    this.wake();
  }

  #interrupt() {
    this.#under.abort();
    this.#under = new AbortController();
  }
}
