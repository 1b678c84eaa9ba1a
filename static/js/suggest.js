// Words that others used, for the fields of a place: data-suggestions="url" around <datalist data-words="name">.
import { onElement } from "./fragments.js";

async function fill(place) {
  try {
    const response = await fetch(place.dataset.suggestions, { headers: { "X-Fragment": "1" } });
    if (!response.ok) return;
    const words = await response.json();
    for (const list of place.querySelectorAll("[data-words]")) {
      list.replaceChildren(...(words[list.dataset.words] ?? []).map((word) => new Option("", word)));
    }
  } catch {
    // Nobody needs suggestions.
  }
}

onElement("[data-suggestions]", (place) => {
  const isClosed = place.tagName === "DETAILS" && !place.open;
  if (isClosed) place.addEventListener("toggle", () => fill(place), { once: true });
  else fill(place);
});
