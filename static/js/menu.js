// Menus made of <details>: they close by Escape and by a click beside them. And the first error takes the focus.
import { onElement } from "./fragments.js";

onElement("[data-menu]", (menu) => {
  document.addEventListener("click", (event) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
});

onElement("[data-focus]", (element) => element.focus());
