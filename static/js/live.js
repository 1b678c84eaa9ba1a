// Forms that answer while one types: data-live="#place" swaps the place for the fragment of the form's own URL.
import { fetchFragment, onElement, swap } from "./fragments.js";

const PAUSE_MS = 200;

onElement("form[data-live]", (form) => {
  const place = document.querySelector(form.dataset.live);
  let timer = 0;
  let latest = 0;

  const urlOf = () => {
    const query = new URLSearchParams();
    for (const [name, value] of new FormData(form)) {
      if (value) query.append(name, value);
    }
    const text = query.toString();
    return text ? `${form.action.split("?")[0]}?${text}` : form.action.split("?")[0];
  };

  const refresh = async () => {
    const turn = ++latest;
    const url = urlOf();
    place.setAttribute("aria-busy", "true");
    const { html } = await fetchFragment(url);
    if (turn !== latest) return; // A later answer is on its way.
    place.removeAttribute("aria-busy");
    swap(place, html);
    window.history.replaceState(null, "", url);
  };

  const soon = () => {
    window.clearTimeout(timer);
    timer = window.setTimeout(refresh, PAUSE_MS);
  };

  form.addEventListener("input", soon);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    window.clearTimeout(timer);
    refresh();
  });
});
