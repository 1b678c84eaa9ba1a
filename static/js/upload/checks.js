// The contract's rules for a request to upload, told before anything is sent. The server has the last word.

export const DEGREES = ["dp", "tp", "sp", "ep", "pp"];
const MAX_RANK_COUNT = 2_147_483_647;
const MAX_FILES = 10_000;
const MAX_FILE_SIZE = 5 * 1024 ** 4;
const MAX_NAME_BYTES = 1024;
const MAX_METADATA_BYTES = 65_536;
const MAX_TAGS = 50;

const NOT_DECLARED =
  "Primary files need a rank count: give it, or parallelism degrees (dp, tp, sp, ep, pp) whose product it is";

/** What is wrong with a file's name in the traceset; an empty text where nothing is. */
export function fileNameFault(name) {
  const segments = name.split("/");
  const rules = [
    [!name, "must not be empty"],
    [!name.isWellFormed(), "holds half of a surrogate pair"],
    [/\p{Cc}/u.test(name), "must not hold control characters"],
    [name.includes("\\"), "must not hold a backslash"],
    [name.startsWith("/"), "must not begin with /"],
    [segments.includes(""), "must not have an empty segment"],
    [segments.includes(".") || segments.includes(".."), "must not have . or .. as a segment"],
    [bytesOf(name) > MAX_NAME_BYTES, `is longer than ${MAX_NAME_BYTES} bytes`],
  ];
  return rules.find(([isBroken]) => isBroken)?.[1] ?? "";
}

/** The positions of names that are an earlier one again; two spellings of one normal form are the same. */
export function repeatedNames(names) {
  const seen = new Set();
  const repeated = new Set();
  names.forEach((name, position) => {
    const key = name.normalize("NFC");
    if (seen.has(key)) repeated.add(position);
    seen.add(key);
  });
  return repeated;
}

/**
 * Read what the form declares: texts by the names rankCount, dp, tp, sp, ep, pp, cp and fsdp; empty ones are absent.
 * `count` and `product` are null where there is none; `factors` are [name, number] pairs; `faults` name a field each.
 */
export function readDeclaration(texts) {
  const faults = [];
  const read = (field) => readCount(texts[field], field, faults);
  const rankCount = read("rankCount");
  const given = DEGREES.filter((name) => texts[name]?.trim());
  const factors = given.map((name) => [name, read(name)]);
  const others = Object.fromEntries(["cp", "fsdp"].map((name) => [name, read(name)]));
  const isKnown = factors.length > 0 && factors.every(([, value]) => value !== null);
  const product = isKnown ? factors.reduce((so_far, [, value]) => so_far * BigInt(value), 1n) : null;
  if (product !== null && product > BigInt(MAX_RANK_COUNT)) {
    faults.push(["parallelism", `The product of the degrees must be at most ${MAX_RANK_COUNT}, got ${product}`]);
  } else if (product !== null && rankCount !== null && product !== BigInt(rankCount)) {
    faults.push(["rankCount", `The rank count is ${rankCount}, but the product of the degrees is ${product}`]);
  }
  if (others.fsdp && (factors.find(([name]) => name === "dp")?.[1] ?? 1) % others.fsdp) {
    faults.push(["fsdp", "fsdp must divide dp"]);
  }
  const count = rankCount ?? (product === null || product > BigInt(MAX_RANK_COUNT) ? null : Number(product));
  return { count, rankCount, product, factors, others, faults };
}

/** Read a whole number of at least 1; null where there is none, or (a fault) something else. */
export function readCount(text, field, faults, highest = MAX_RANK_COUNT) {
  const trimmed = (text ?? "").trim();
  if (!trimmed) return null;
  if (!/^[0-9]+$/.test(trimmed) || /^0+$/.test(trimmed)) {
    faults.push([field, `${field} must be a whole number of at least 1, got “${cut(trimmed)}”`]);
    return null;
  }
  if (trimmed.replace(/^0+/, "").length > 15 || Number(trimmed) > highest) {
    faults.push([field, `${field} must be at most ${highest}, got ${cut(trimmed)}`]);
    return null;
  }
  return Number(trimmed);
}

/** Read a JSON object of further members; {} where the text is empty or (a fault) something else. */
export function readMembers(text, field, faults) {
  if (!text.trim()) return {};
  try {
    let isExact = true;
    const value = JSON.parse(text, (_, member) => {
      if (Number.isInteger(member) && !Number.isSafeInteger(member)) isExact = false;
      if (member === Infinity || member === -Infinity) isExact = false;
      return member;
    });
    if (!isExact) faults.push([field, "A number here is too long for a browser; upload by the command line"]);
    if (value !== null && typeof value === "object" && !Array.isArray(value)) return value;
    faults.push([field, "Further members must be a JSON object, such as {\"cluster\": \"a\"}"]);
  } catch (error) {
    faults.push([field, `Further members are not JSON: ${error.message}`]);
  }
  return {};
}

/** Every fault of the body of a request, as [field, message] pairs, beyond those of its numbers. */
export function requestFaults(body, rankCount) {
  const faults = [];
  const length = [...body.name].length;
  if (length < 1) faults.push(["name", "Give the traceset a name"]);
  if (length > 255) faults.push(["name", `The name has ${length} characters; 255 are allowed`]);
  if ([...(body.description ?? "")].length > 10_000) {
    faults.push(["description", "The description may have 10,000 characters"]);
  }
  if (body.tags.length > MAX_TAGS) faults.push(["tags", `There are ${body.tags.length} tags; ${MAX_TAGS} are allowed`]);
  if (body.tags.some((tag) => [...tag].length > 100)) faults.push(["tags", "A tag may have 100 characters"]);
  if (!body.files.length) faults.push(["files", "Choose the files of the traceset"]);
  if (body.files.length > MAX_FILES) {
    faults.push(["files", `There are ${body.files.length} files; a traceset may have ${MAX_FILES}`]);
  }
  faults.push(...fileFaults(body.files));
  if (body.files.some(({ role }) => role === "primary") && rankCount === null) faults.push(["rankCount", NOT_DECLARED]);
  const size = bytesOf(JSON.stringify(body.workloadMetadata ?? null));
  if (size > MAX_METADATA_BYTES) {
    faults.push(["members", `The workload metadata has ${size} bytes of JSON; ${MAX_METADATA_BYTES} are allowed`]);
  }
  return faults;
}

function fileFaults(files) {
  const faults = [];
  const repeated = repeatedNames(files.map(({ name }) => name));
  files.forEach(({ name, size }, position) => {
    const fault = fileNameFault(name) || (repeated.has(position) ? "is the name of two files" : "");
    if (fault) faults.push(["files", `“${cut(name)}” ${fault}`]);
    if (size > MAX_FILE_SIZE) faults.push(["files", `“${cut(name)}” is larger than 5 TiB`]);
  });
  return faults;
}

function bytesOf(text) {
  return new TextEncoder().encode(text).length;
}

function cut(text) {
  return text.length <= 100 ? text : `${text.slice(0, 80)}… (${text.length} characters)`;
}
