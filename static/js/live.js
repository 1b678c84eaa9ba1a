// Forms that answer while one types: data-live="#place" swaps the place for the fragment of the form's own URL. The
// links to the neighbouring pages within that place do so too, and leave a step in the browser's history.
import { fetchFragment, onElement, swap } from "./fragments.js";

const PAUSE_MS = 200;

/** An address without the place on its page. */
const addressOf = (url) => url.split("#")[0];
const addressNow = () => addressOf(window.location.href);

/** What the page shows: at first what it was loaded as, from which a quick step back may lead before this runs. */
let shown = addressOf(performance.getEntriesByType("navigation")[0]?.name ?? window.location.href);

onElement("form[data-live]", (form) => {
  const place = document.querySelector(form.dataset.live);
  let timer = 0;
  let latest = 0;

  const urlOf = () => {
    const url = new URL(form.action);
    url.search = "";
    for (const [name, value] of new FormData(form)) {
      if (value) url.searchParams.append(name, value);
    }
    return url.href;
  };

  const show = async (url) => {
    const turn = ++latest;
    place.setAttribute("aria-busy", "true");
    let answer;
    try {
      answer = await fetchFragment(url);
    } catch {
      if (turn === latest) window.location.assign(url); // The browser tells what is wrong.
      return false;
    }
    if (turn !== latest) return false; // A later answer is on its way.
    place.removeAttribute("aria-busy");
    swap(place, answer.html);
    return true;
  };

  const refresh = async () => {
    const url = urlOf();
    if (await show(url)) {
      window.history.replaceState(null, "", url);
      shown = addressNow();
    }
  };

  form.addEventListener("input", () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(refresh, PAUSE_MS);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    window.clearTimeout(timer);
    refresh();
  });
  // What was typed before this ran was heard by nobody.
  if ([...form.elements].some((field) => field.type === "search" && field.value !== field.defaultValue)) refresh();
  place.addEventListener("click", async (event) => {
    const link = event.target.closest('a[rel="next"], a[rel="prev"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    if (await show(link.href)) {
      window.history.pushState(null, "", link.href);
      shown = addressNow();
      place.scrollIntoView({ block: "nearest" });
    }
  });
});

// Back and forth among such steps: the page as the address says. A step to another place on the same page is none.
const follow = () => {
  if (addressNow() !== shown) window.location.reload();
};
window.addEventListener("popstate", follow);
follow();
