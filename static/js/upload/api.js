// The JSON API, called with the browser's session.

/** An answer that is none of success; `status` is 0 where there was no answer at all. */
export class ApiError extends Error {
  constructor(status, message, retryAfter = null) {
    super(message);
    this.status = status;
    this.retryAfter = retryAfter;
  }

  /** Whether the same request may succeed later. */
  get isPassing() {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

export class Api {
  /** `csrfToken` is that of the page; a new one comes from `tokenUrl` where the session has changed meanwhile. */
  constructor(csrfToken, tokenUrl) {
    this.csrfToken = csrfToken;
    this.tokenUrl = tokenUrl;
  }

  /** Open a session; the same key never opens two. */
  open(body, key) {
    return this.#call("POST", "/tracesets/upload-url", body, { "Idempotency-Key": key });
  }

  /** A session as it stands, with fresh URLs for what is missing. */
  show(uploadId) {
    return this.#call("GET", `/tracesets/upload-url/${uploadId}`);
  }

  complete(uploadId, files) {
    return this.#call("POST", "/tracesets/upload-url/complete", { uploadId, files });
  }

  abort(uploadId) {
    return this.#call("DELETE", `/tracesets/upload-url/${uploadId}`);
  }

  async #call(method, path, body = null, headers = {}) {
    try {
      return await this.#send(method, path, body, headers);
    } catch (error) {
      if (error.status !== 401 || !(await this.#renewToken())) throw error;
      return this.#send(method, path, body, headers);
    }
  }

  /** Give the answer's `body` and `servedAt`, the server's clock in milliseconds. */
  async #send(method, path, body, headers) {
    const all = { ...headers, "X-CSRFToken": this.csrfToken };
    if (body !== null) all["Content-Type"] = "application/json";
    const options = { method, headers: all, body: body === null ? null : JSON.stringify(body), cache: "no-store" };
    let response;
    let text;
    try {
      response = await fetch(`/api/v1${path}`, options);
      text = await response.text();
    } catch {
      throw new ApiError(0, "The server cannot be reached");
    }
    const answer = parsed(text);
    if (!response.ok) {
      const retryAfter = Number(response.headers.get("Retry-After")) || null;
      throw new ApiError(response.status, answer?.error?.message ?? `The server answered ${response.status}`, retryAfter);
    }
    return { body: answer, servedAt: Date.parse(response.headers.get("Date") ?? "") || Date.now() };
  }

  async #renewToken() {
    try {
      const response = await fetch(this.tokenUrl, { headers: { "X-Fragment": "1" }, cache: "no-store" });
      if (!response.ok) return false;
      this.csrfToken = (await response.json()).csrfToken;
      return true;
    } catch {
      return false;
    }
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null; // A proxy's page, or no body.
  }
}
