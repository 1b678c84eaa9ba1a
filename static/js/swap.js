// Forms whose answer takes the place of a part of the page: data-swap="#place".
import { announce, fetchFragment, onElement, swap } from "./fragments.js";

onElement("form[data-swap]", (form) => {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const place = document.querySelector(form.dataset.swap);
    const buttons = [...form.querySelectorAll("button")];
    const body = new URLSearchParams(new FormData(form, event.submitter));
    for (const button of buttons) button.disabled = true;
    place.setAttribute("aria-busy", "true");
    try {
      const { html, isGood } = await fetchFragment(form.action, { method: "POST", body });
      if (isGood) {
        swap(place, html);
        announce(place.textContent.trim().replace(/\s+/g, " "));
      } else {
        place.textContent = messageOf(html);
      }
    } catch {
      place.textContent = "The server cannot be reached; please try again.";
    } finally {
      place.removeAttribute("aria-busy");
      for (const button of buttons) button.disabled = false;
    }
  });
});

/** What an error page says. */
function messageOf(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  return page.querySelector(".lead-text")?.textContent ?? "That did not work; please try again.";
}
