// Places that fetch their content after the page, again and again: data-load="url", data-every="seconds".
import { fetchFragment, onElement, swap } from "./fragments.js";

onElement("[data-load]", (place) => {
  const load = async () => {
    if (!place.isConnected) return;
    if (!document.hidden) {
      try {
        const { html, isGood } = await fetchFragment(place.dataset.load);
        if (!isGood) return; // It is gone; what the page said stays.
        swap(place, html);
      } catch {
        // The server is away; the next turn may find it.
      }
    }
    window.setTimeout(load, Number(place.dataset.every) * 1000);
  };
  load();
});
