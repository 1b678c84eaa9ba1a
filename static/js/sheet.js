// Links with data-sheet-link open their page in a dialog; without scripts they lead to the page itself.
import { fetchFragment, onElement, swap } from "./fragments.js";

const sheet = document.querySelector("[data-sheet]");

export async function openSheet(url, options) {
  const { html, isGood, landed } = await fetchFragment(url, options);
  if (!isGood || landed) {
    window.location.assign(landed ?? url);
    return;
  }
  swap(sheet, html);
  const heading = sheet.querySelector("h2");
  if (heading) {
    heading.id ||= "sheet-title";
    sheet.setAttribute("aria-labelledby", heading.id);
  }
  sheet.showModal();
}

onElement("[data-sheet-link]", (link) => {
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    openSheet(link.href);
  });
});

onElement("[data-sheet-close]", (element) => {
  element.addEventListener("click", (event) => {
    if (!sheet.open) return;
    event.preventDefault();
    sheet.close();
  });
});

sheet?.addEventListener("click", (event) => {
  if (event.target === sheet) sheet.close(); // The backdrop.
});
