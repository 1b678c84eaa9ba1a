// The files that were chosen, with the roles and ranks that their names suggest and that people changed.
import { coverage, rankCoverage, suggestRanks, suggestRoles } from "./rank_names.js";
import { repeatedNames } from "./checks.js";

const OWN_PREFIX = /^rank_[0-9]+\./;

export class Chosen {
  files = []; // {path, file, givenRole, givenRank, role, rank, rule, series, name, isTwin, isRepeated}

  get totalBytes() {
    return this.files.reduce((sum, { file }) => sum + file.size, 0);
  }

  /** Add files; one of a path that is there already takes its place. */
  add(picked) {
    const byPath = new Map(this.files.map((entry) => [entry.path, entry]));
    for (const { name, file } of picked) {
      const there = byPath.get(name);
      if (there) there.file = file;
      else byPath.set(name, { path: name, file, givenRole: null, givenRank: undefined });
    }
    this.files = [...byPath.values()];
    this.derive();
  }

  remove(entry) {
    this.files = this.files.filter((other) => other !== entry);
    this.derive();
  }

  clear() {
    this.files = [];
  }

  /** Work out all that follows from the names and from what was changed by hand. */
  derive() {
    const roles = suggestRoles(this.files.map(({ path }) => path));
    this.files.forEach((entry, position) => {
      entry.role = entry.givenRole ?? roles[position];
      Object.assign(entry, { rank: null, rule: null, series: null, isTwin: false, name: entry.path });
    });
    this.#deriveRanks(this.primary);
    const repeated = repeatedNames(this.files.map(({ name }) => name));
    this.files.forEach((entry, position) => {
      entry.isRepeated = repeated.has(position);
    });
  }

  get primary() {
    return this.files.filter(({ role }) => role === "primary");
  }

  /** Whether ranks were changed by hand, so that they go into the names. */
  get isRenamed() {
    return this.primary.some(({ givenRank }) => givenRank !== undefined);
  }

  /** How many ranks the files seem to be of; null where they do not tell. */
  get suggestedCount() {
    const ranks = this.primary.map(({ rank }) => rank).filter((rank) => rank !== null);
    return ranks.length ? ranks.reduce((a, b) => Math.max(a, b)) + 1 : null;
  }

  /** {isGood, text}: whether the primary files cover the ranks; without a count, whether they have holes or twins. */
  tellCoverage(rankCount) {
    const primary = this.primary;
    if (!primary.length || (primary.length === 1 && rankCount === null)) return null;
    const count = rankCount ?? this.suggestedCount;
    if (count === null) return { isGood: true, text: "The names do not say which ranks these files hold" };
    // Of ranks that go into the names, what everyone will read there.
    const told = this.isRenamed
      ? suggestRanks(primary.map(({ name }) => name))
      : primary.map(({ path, rank, series }) => ({ name: path, rank, series }));
    const [isGood, text] = rankCoverage(told, count);
    return { isGood, text };
  }

  #deriveRanks(primary) {
    const suggested = suggestRanks(primary.map(({ path }) => path));
    primary.forEach((entry, position) => {
      const { rank, rule, series } = suggested[position];
      entry.series = series;
      entry.rank = entry.givenRank === undefined ? rank : entry.givenRank;
      entry.rule = entry.givenRank === undefined ? rule : "hand";
    });
    if (this.isRenamed) {
      for (const entry of primary) entry.name = renamed(entry.path, entry.rank);
    }
    this.#markTwins(primary);
  }

  #markTwins(primary) {
    const bySeries = new Map();
    for (const entry of primary) {
      if (!bySeries.has(entry.series)) bySeries.set(entry.series, []);
      bySeries.get(entry.series).push(entry);
    }
    for (const members of bySeries.values()) {
      const ranks = members.map(({ rank }) => rank).filter((rank) => rank !== null);
      const twins = new Set(coverage(ranks, 0).twins);
      for (const entry of members) entry.isTwin = twins.has(entry.rank);
    }
  }
}

/** The name under which a file's rank is read by everyone: the word and the number before its own name. */
export function renamed(path, rank) {
  if (rank === null) return path;
  const slash = path.lastIndexOf("/") + 1;
  return `${path.slice(0, slash)}rank_${rank}.${path.slice(slash)}`;
}

/** The name before `renamed`; the same where it was none. */
export function originalName(name) {
  const slash = name.lastIndexOf("/") + 1;
  return name.slice(0, slash) + name.slice(slash).replace(OWN_PREFIX, "");
}

/**
 * Find the files of a session among those picked, by name and size, and tell what is in the way.
 * `files` are those of the session as the API shows it; `stamps` the times of their last change, or null.
 */
export function match(files, picked, stamps) {
  const byName = new Map(picked.map(({ name, file }) => [name, file]));
  const originals = repeatedNames(files.map(({ name }) => originalName(name))).size
    ? (name) => name // They were not made by `renamed`, which keeps them apart.
    : originalName;
  const found = { blobs: new Map(), missing: [], different: [], changed: [] };
  files.forEach(({ name, size, parts }, position) => {
    if (parts.every(({ uploaded }) => uploaded)) return;
    const file = byName.get(name) ?? byName.get(originals(name));
    if (!file) found.missing.push(name);
    else if (file.size !== size) found.different.push(name);
    else if (stamps && stamps[position] !== file.lastModified && parts.some(({ uploaded }) => uploaded)) {
      found.changed.push(name);
    } else found.blobs.set(name, file);
  });
  return found;
}
