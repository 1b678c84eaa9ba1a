// What a session sends: its files, their parts, and which of them the store holds.

export class Plan {
  /**
   * `files` are those of the session as the API shows it, in its order; `blobs` are local files by their name in the
   * traceset. A file whose parts have all arrived needs none.
   */
  constructor(files, blobs) {
    this.files = files.map(({ name, size, parts }) => new PlannedFile(name, size, parts, blobs.get(name) ?? null));
    this.totalBytes = this.files.reduce((sum, file) => sum + file.size, 0);
    this.waiting = this.files.flatMap((file) => file.parts.filter((part) => !part.isDone)).reverse();
    this.update(files);
  }

  /** Take over what the store holds and the fresh URLs for the rest. */
  update(files) {
    files.forEach(({ parts }, position) => {
      parts.forEach(({ uploaded, etag, url }, index) => {
        const part = this.files[position].parts[index];
        // Of one that is being sent again, the ETag that counts is still to come.
        if (uploaded && !part.isUnderWay) part.finish(etag ?? null);
        else part.url = url ?? part.url;
      });
    });
  }

  /** As `update`, where the store may also have lost parts that had arrived: they are to be sent again. */
  restart(files) {
    files.forEach(({ parts }, position) => {
      parts.forEach(({ uploaded }, index) => {
        if (!uploaded) this.files[position].parts[index].reset();
      });
    });
    this.update(files);
    this.waiting = this.files.flatMap((file) => file.parts.filter((part) => !part.isDone)).reverse();
    return this.waiting.length;
  }

  /** The next part to be sent; undefined where none is left. */
  next() {
    let part = this.waiting.pop();
    while (part?.isDone) part = this.waiting.pop();
    return part;
  }

  get sentBytes() {
    return this.files.reduce((sum, file) => sum + file.sentBytes, 0);
  }

  get finishedFiles() {
    return this.files.reduce((sum, file) => sum + Number(file.isDone), 0);
  }

  /** The files of a completion: every part with its ETag, null where it could not be read. */
  named() {
    return this.files
      .filter(({ parts }) => parts.length)
      .map(({ name, parts }) => ({ name, parts: parts.map(({ number, etag }) => ({ partNumber: number, etag })) }));
  }
}

class PlannedFile {
  constructor(name, size, parts, blob) {
    this.name = name;
    this.size = size;
    this.blob = blob;
    this.doneBytes = parts.length ? 0 : size;
    this.left = parts.length;
    let offset = 0;
    this.parts = parts.map((part) => {
      const planned = new PlannedPart(this, part, offset);
      offset += part.size;
      return planned;
    });
    this.underWay = new Set();
  }

  get isDone() {
    return this.left === 0;
  }

  get sentBytes() {
    let sum = this.doneBytes;
    for (const part of this.underWay) sum += part.sent;
    return sum;
  }

  /** "done", "sending" or "waiting". */
  get state() {
    if (this.isDone) return "done";
    return this.underWay.size ? "sending" : "waiting";
  }
}

class PlannedPart {
  constructor(file, { partNumber, size, url }, offset) {
    this.file = file;
    this.number = partNumber;
    this.size = size;
    this.offset = offset;
    this.url = url ?? null;
    this.etag = null;
    this.isDone = false;
    this.sent = 0;
  }

  get isUnderWay() {
    return this.file.underWay.has(this);
  }

  /** Its bytes, which are read from the disk only while they are sent. */
  slice() {
    return this.file.blob.slice(this.offset, this.offset + this.size);
  }

  begin() {
    this.sent = 0;
    this.file.underWay.add(this);
  }

  stop() {
    this.sent = 0;
    this.file.underWay.delete(this);
  }

  finish(etag) {
    this.stop();
    if (this.isDone) return;
    this.isDone = true;
    this.etag = etag;
    this.file.left -= 1;
    this.file.doneBytes += this.size;
  }

  reset() {
    if (!this.isDone) return;
    this.isDone = false;
    this.etag = null;
    this.file.left += 1;
    this.file.doneBytes -= this.size;
  }
}
