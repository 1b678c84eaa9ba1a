// What this browser remembers of the uploads that it began: by what a file's change would be noticed, and which upload
// this tab was at. Storage may be forbidden or full; then nothing is remembered, and nothing else changes.

const PREFIX = "tracesets-upload:";
const OWN = "tracesets-upload";

/** Remember a session; `stamps` are the times of the last change of its files, in their order. */
export function remember(uploadId, expiresAt, stamps) {
  quietly(() => {
    forgetExpired();
    window.localStorage.setItem(PREFIX + uploadId, JSON.stringify({ expiresAt, stamps }));
  });
  quietly(() => window.sessionStorage.setItem(OWN, uploadId));
}

/** The times of the last change of a session's files; null where this browser did not begin it. */
export function stampsOf(uploadId) {
  return quietly(() => JSON.parse(window.localStorage.getItem(PREFIX + uploadId))?.stamps ?? null) ?? null;
}

/** The session that this tab was at before it was reloaded. */
export function ownUpload() {
  return quietly(() => window.sessionStorage.getItem(OWN)) ?? null;
}

export function forget(uploadId) {
  quietly(() => window.localStorage.removeItem(PREFIX + uploadId));
  quietly(() => {
    if (ownUpload() === uploadId) window.sessionStorage.removeItem(OWN);
  });
}

/**
 * Hold a session for this tab until the page is left; false where another tab holds it. Without https there are no
 * locks; two tabs at one session then send the same bytes twice, which harms nothing.
 */
export function hold(uploadId) {
  if (!navigator.locks) return Promise.resolve(true);
  return new Promise((resolve) => {
    navigator.locks.request(PREFIX + uploadId, { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      return lock === null ? undefined : new Promise((release) => releases.set(uploadId, release));
    });
  });
}

/** The sessions that other tabs hold. */
export async function heldElsewhere() {
  const held = (await navigator.locks?.query())?.held ?? [];
  const ids = held.filter(({ name }) => name.startsWith(PREFIX)).map(({ name }) => name.slice(PREFIX.length));
  return new Set(ids.filter((uploadId) => !releases.has(uploadId)));
}

/** Let go of a session. */
export function release(uploadId) {
  releases.get(uploadId)?.();
  releases.delete(uploadId);
}

const releases = new Map();

function forgetExpired() {
  for (const key of Object.keys(window.localStorage).filter((name) => name.startsWith(PREFIX))) {
    const { expiresAt } = JSON.parse(window.localStorage.getItem(key));
    if (!(Date.parse(expiresAt) > Date.now())) window.localStorage.removeItem(key);
  }
}

function quietly(action) {
  try {
    return action();
  } catch {
    return null;
  }
}
