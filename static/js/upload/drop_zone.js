// A place that takes files by dropping and by two buttons.
import { filesOfDrop, filesOfInput } from "./picking.js";

/** Call `take` with the {name, file} pairs of each choice, and `fail` with a text where that did not work. */
export function onFiles(zone, take, fail) {
  for (const button of zone.querySelectorAll("[data-choose]")) {
    const input = document.getElementById(button.dataset.choose);
    button.addEventListener("click", () => input.click());
    input.addEventListener("change", () => {
      const picked = filesOfInput(input);
      input.value = ""; // So that the same choice is a change again.
      if (picked.length) take(picked);
    });
  }
  zone.addEventListener("dragover", (event) => {
    event.preventDefault();
    zone.classList.add("is-over");
  });
  zone.addEventListener("dragleave", () => zone.classList.remove("is-over"));
  zone.addEventListener("drop", async (event) => {
    event.preventDefault();
    zone.classList.remove("is-over");
    zone.setAttribute("aria-busy", "true");
    try {
      const picked = await filesOfDrop(event.dataTransfer);
      if (picked.length) take(picked);
    } catch (error) {
      fail(`Some of what you dropped cannot be read: ${error.message}`);
    } finally {
      zone.removeAttribute("aria-busy");
    }
  });
}

/** Files that are dropped beside every zone must not replace the page. */
export function guardDrops() {
  for (const kind of ["dragover", "drop"]) window.addEventListener(kind, (event) => event.preventDefault());
}
