// Buttons that put text into the clipboard: data-copy="the text".
import { announce, onElement } from "./fragments.js";

const SHOWN_MS = 1500;

async function copy(text) {
  if (navigator.clipboard) {
    await navigator.clipboard.writeText(text);
    return;
  }
  // Without https there is no clipboard but the old one.
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "visually-hidden";
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

onElement("[data-copy]", (button) => {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await copy(button.dataset.copy);
    announce("Copied");
    button.classList.add("is-done");
    window.setTimeout(() => button.classList.remove("is-done"), SHOWN_MS);
  });
});
