// Which rank a trace file belongs to, by its name: the rules of app/domain/rank_names.py, in their words.
// A test holds both against each other.

const MAX_RANK = 2 ** 31 - 2;
const MAX_BARE_NUMBER = 65_535;

export const RULES = ["rank", "word", "number", "folder"];

const RANK = /(?<![a-z0-9])rank[-_. =]?([0-9]+)/i;
const WORD = /(?<![a-z0-9])(?:worker|npu|gpu|r)[-_. =]?([0-9]+)/i;
const UNIT = /[a-z]/i;
const COUNTED =
  /(?<![a-z])(?:tp|dp|pp|ep|cp|sp|mp|vpp|gbs|mbs|seq|size|world_size|batch|step|profilerstep|iter|iteration|epoch|v)[-_. =#]?$/i;
const LONGEST_COUNTED = 16;
const NUMBERS_TRIED = 8;
const FOLDERS_TRIED = 4;
const SHOWN = 8;

const SUPPORTING_SUFFIXES = new Set(
  "xml yml yaml toml ini cfg log out err md rst pdf csv topo py sh".split(" "),
);
const SUPPORTING = new RegExp(
  "^(?:(?:system|network|topology|remote_memory|logical[\\p{L}\\p{N}_]*|comm_groups?|communicator_groups?" +
    "|custom_collective[\\p{L}\\p{N}_]*)\\.json|(?:readme|license|licence|notice|stdout|stderr|log)(?:\\.txt)?" +
    "|\\.ds_store|thumbs\\.db|desktop\\.ini|\\._[^]*)$",
  "iu",
);

/** Suggest a rank for each name of a set, in its order: {name, rank, rule, series}; rank and rule may be null. */
export function suggestRanks(names) {
  const readings = names.map(read);
  const found = new Array(names.length);
  const everyone = names.map((_, member) => member);
  let series = 0;
  for (const { members, rule } of split(everyone, names, readings, [pattern, folderPattern])) {
    for (const member of members) {
      const rank = rule === null ? null : (readings[member][rule] ?? null);
      found[member] = { name: names[member], rank, rule: rank === null ? null : rule, series };
    }
    series += 1;
  }
  return found;
}

/** Hold ranks against 0..rankCount-1: `missing` as [first, last] ranges, `twins`, and those `beyond`. */
export function coverage(ranks, rankCount) {
  const counts = new Map();
  for (const rank of ranks) counts.set(rank, (counts.get(rank) ?? 0) + 1);
  const distinct = [...counts.keys()].sort((a, b) => a - b);
  const missing = [];
  let before = -1;
  for (const rank of [...distinct.filter((rank) => rank < rankCount), rankCount]) {
    if (rank > before + 1) missing.push([before + 1, rank - 1]);
    before = rank;
  }
  return {
    missing,
    twins: distinct.filter((rank) => counts.get(rank) > 1),
    beyond: distinct.filter((rank) => rank >= rankCount),
  };
}

/** Whether primary files cover all ranks, and a sentence that says how; as `suggestRanks` gave them. */
export function rankCoverage(suggestions, rankCount) {
  if (!suggestions.length) return [true, "There are no primary files"];
  if (rankCount === null) return [false, "The traceset holds no rank count to compare its primary files with"];
  if (suggestions.length === 1) return [true, `One primary file stands for ${rangesText([[0, rankCount - 1]])}`];
  const series = new Map();
  for (const suggestion of suggestions) {
    if (suggestion.rank === null) continue;
    if (!series.has(suggestion.series)) series.set(suggestion.series, []);
    series.get(suggestion.series).push(suggestion);
  }
  if (!series.size) return withoutRanks(suggestions.length, rankCount);
  const faults = [...series.values()]
    .map((members) => faultOf(members, rankCount, series.size === 1))
    .filter((fault) => fault);
  if (faults.length) return [false, shortened(faults).join("; ")];
  const unnamed = suggestions.filter((suggestion) => suggestion.rank === null).map(({ name }) => name);
  let told = `${suggestions.length - unnamed.length} primary files cover ${rangesText([[0, rankCount - 1]])}`;
  if (series.size > 1) told += ` in ${series.size} series`;
  if (unnamed.length) told += `; names that give no rank: ${listed(unnamed)}`;
  return [true, told];
}

/** Suggest roles for a set: descriptions, logs, texts and litter are "supporting", all else "primary". */
export function suggestRoles(names) {
  const prefixes = new Set();
  for (const name of names) {
    const bare = withoutExtensions(name);
    const dot = bare.lastIndexOf(".");
    if (dot > 0 && /^\p{Nd}+$/u.test(bare.slice(dot + 1))) prefixes.add(bare.slice(0, dot));
  }
  return names.map((name) => {
    const isBesideRanks = name.toLowerCase().endsWith(".json") && prefixes.has(name.slice(0, -".json".length));
    return isBesideRanks ? "supporting" : suggestRole(name);
  });
}

/** Compare names such that 2 comes before 15. */
export function compareNaturally(a, b) {
  const [left, right] = [naturalParts(a), naturalParts(b)];
  for (let i = 0; i < Math.min(left.length, right.length); i += 1) {
    const order =
      i % 2 ? left[i].length - right[i].length || compareTexts(left[i], right[i]) : compareTexts(left[i], right[i]);
    if (order) return order;
  }
  return left.length - right.length || compareTexts(a, b);
}

function suggestRole(name) {
  const slash = name.lastIndexOf("/");
  const folders = slash < 0 ? [] : name.slice(0, slash).split("/");
  const base = name.slice(slash + 1);
  if (folders.includes("__MACOSX") || SUPPORTING.test(plainLetters(base))) return "supporting";
  const lower = base.toLowerCase().replace(/\.gz$/, "");
  return SUPPORTING_SUFFIXES.has(lower.slice(lower.lastIndexOf(".") + 1)) ? "supporting" : "primary";
}

/** The rank that the name has under each rule that applies to it. */
function read(name) {
  const folders = name.split("/");
  const base = folders.pop();
  const found = {
    rank: afterWord(RANK, base),
    word: afterWord(WORD, base),
    number: lastNumber(withoutExtensions(base)),
    folder: inFolders(folders),
  };
  return Object.fromEntries(Object.entries(found).filter(([, rank]) => rank !== null));
}

function inFolders(folders) {
  for (const folder of folders.slice(-FOLDERS_TRIED).reverse()) {
    const rank = afterWord(RANK, folder) ?? afterWord(WORD, folder) ?? lastNumber(folder);
    if (rank !== null) return rank;
  }
  return null;
}

function afterWord(word, text) {
  const match = word.exec(plainLetters(text));
  return match === null ? null : asRank(match[1], MAX_RANK);
}

function lastNumber(given) {
  const text = plainLetters(given);
  for (const match of [...text.matchAll(/[0-9]+/g)].slice(-NUMBERS_TRIED).reverse()) {
    const [start, end] = [match.index, match.index + match[0].length];
    const isGlued = /\p{L}$/u.test(text.slice(0, start)) && end < text.length;
    const isOther =
      isGlued ||
      UNIT.test(text.slice(end, end + 1)) ||
      COUNTED.test(text.slice(Math.max(0, start - LONGEST_COUNTED), start));
    const rank = isOther ? null : asRank(match[0], MAX_BARE_NUMBER);
    if (rank !== null) return rank;
  }
  return null;
}

function asRank(digits, highest) {
  const bare = digits.replace(/^0+/, "") || "0";
  return bare.length > String(highest).length || Number(bare) > highest ? null : Number(bare);
}

/** Python takes these four for ASCII letters where case is ignored; JavaScript does not. */
function plainLetters(text) {
  return text.replace(/[\u0130\u0131]/g, "i").replace(/\u017f/g, "s").replace(/\u212a/g, "k");
}

/** Cut the extensions, which have no digits. */
function withoutExtensions(base) {
  const parts = base.split(".");
  while (parts.length > 1 && !/[0-9]/.test(parts.at(-1))) parts.pop();
  return parts.join(".");
}

function pattern(name) {
  return name.replace(/[0-9]+/g, "#");
}

function folderPattern(name) {
  const slash = name.lastIndexOf("/") + 1;
  return name.slice(0, slash) + pattern(name.slice(slash));
}

/** The series among these members of the set, each with its rule. */
function* split(members, names, readings, splitters) {
  const own = members.map((member) => readings[member]);
  const rule = distinctRule(own);
  if (rule !== null) {
    yield { members, rule };
  } else if (splitters.length) {
    const [splitter, ...others] = splitters;
    const groups = new Map();
    for (const member of members) {
      const key = splitter(names[member]);
      if (!groups.has(key)) groups.set(key, []);
      groups.get(key).push(member);
    }
    for (const group of groups.values()) yield* split(group, names, readings, others);
  } else {
    yield { members, rule: fullestRule(own) };
  }
}

/** The best rule under which all have a rank, and no two the same. */
function distinctRule(readings) {
  const distinct = [];
  for (const rule of RULES) {
    const ranks = ranksUnder(rule, readings);
    if (!readings.length || ranks.size < readings.length) continue;
    let highest = 0;
    for (const rank of ranks) highest = Math.max(highest, rank);
    if (rule === "rank" || (ranks.size > 1 && highest === ranks.size - 1)) return rule;
    distinct.push(rule);
  }
  return distinct[0] ?? null;
}

/** The rule under which most different ranks are given. */
function fullestRule(readings) {
  let best = null;
  let most = 0;
  for (const rule of RULES) {
    const count = ranksUnder(rule, readings).size;
    if (count > most) [best, most] = [rule, count];
  }
  return best;
}

function ranksUnder(rule, readings) {
  return new Set(readings.filter((reading) => rule in reading).map((reading) => reading[rule]));
}

function withoutRanks(count, rankCount) {
  if (count === rankCount) {
    return [true, `There are as many primary files as ranks (${rankCount}); their names do not say which is which`];
  }
  return [
    false,
    `The names of the ${count} primary files do not say which of ${rankCount} ranks they hold; name them like rank_0`,
  ];
}

/** What a series lacks; an empty text where it is complete. */
function faultOf(members, rankCount, isOnly) {
  const found = coverage(members.map(({ rank }) => rank), rankCount);
  const told = [];
  if (found.missing.length) told.push(`no file for ${rangesText(found.missing)}`);
  if (found.twins.length) {
    const twins = new Set(found.twins);
    const files = members.filter(({ rank }) => twins.has(rank)).map(({ name }) => name);
    told.push(`several files for ${rangesText(asRanges(found.twins))}: ${listed(files.sort(compareNaturally))}`);
  }
  if (found.beyond.length) {
    told.push(`files beyond the last rank, ${rankCount - 1}: ${rangesText(asRanges(found.beyond))}`);
  }
  const sentence = told.join("; ");
  if (!sentence) return "";
  return isOnly ? sentence[0].toUpperCase() + sentence.slice(1) : `In the series of ${members[0].name}: ${sentence}`;
}

function asRanges(ranks) {
  const joined = [];
  for (const rank of ranks) {
    if (joined.length && joined.at(-1)[1] === rank - 1) joined.at(-1)[1] = rank;
    else joined.push([rank, rank]);
  }
  return joined;
}

function rangesText(ranges) {
  const spans = ranges.map(([first, last]) => (first === last ? String(first) : `${first} to ${last}`));
  const isOne = ranges.length === 1 && ranges[0][0] === ranges[0][1];
  return (isOne ? "rank " : "ranks ") + listed(spans);
}

function listed(texts) {
  return shortened(texts).join(", ");
}

function shortened(texts) {
  return texts.length <= SHOWN ? texts : [...texts.slice(0, SHOWN), `and ${texts.length - SHOWN} more`];
}

function naturalParts(name) {
  return name.toLowerCase().split(/([0-9]+)/).map((part, i) => (i % 2 ? part.replace(/^0+/, "") : part));
}

function compareTexts(a, b) {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
