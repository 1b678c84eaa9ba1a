// One part on its way to the store. XMLHttpRequest, since fetch tells no progress of what it sends.

const SILENCE_MS = 60_000;

/**
 * PUT the blob, and give {status, etag}: status 0 where there was no answer, etag null where it may not be read.
 * `onSent` is told how many bytes are out. An abort of the signal ends the request, with status 0 too.
 */
export function putPart(url, blob, signal, onSent) {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    let timer = 0;
    const abort = () => request.abort();
    // A connection may die without a word; as long as bytes move, any duration is good.
    const watch = () => {
      window.clearTimeout(timer);
      timer = window.setTimeout(abort, SILENCE_MS);
    };
    const end = (status, etag = null) => {
      window.clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      resolve({ status, etag });
    };
    request.upload.onprogress = (event) => {
      watch();
      onSent(event.loaded);
    };
    request.onload = () => end(request.status, etagOf(request));
    request.onerror = request.onabort = () => end(0);
    if (signal.aborted) {
      end(0);
      return;
    }
    signal.addEventListener("abort", abort);
    request.open("PUT", url);
    request.send(blob);
    watch();
  });
}

/** Asked for by name, a header that CORS hides is a complaint in the console; the list leaves it out in silence. */
function etagOf(request) {
  return /^etag: *(.+?)\r?$/im.exec(request.getAllResponseHeaders())?.[1] ?? null;
}
