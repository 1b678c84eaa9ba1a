// Rows that are picked in a list: one box for all of them, and a button that tells how many.
import { onElement } from "./fragments.js";
import { openSheet } from "./sheet.js";

onElement("[data-selection]", (form) => {
  const all = form.querySelector("[data-select-all]");
  const button = form.querySelector("[data-selection-button]");
  const boxes = [...form.querySelectorAll('input[name="id"]')];
  const label = button.textContent;

  const show = () => {
    const count = boxes.filter((box) => box.checked).length;
    button.disabled = count === 0;
    button.textContent = count ? label.replace("the selected", String(count)) : label;
    all.checked = count === boxes.length;
    all.indeterminate = count > 0 && count < boxes.length;
  };

  all.hidden = false;
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked;
  });
  form.addEventListener("change", show);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    openSheet(form.action, { method: "POST", body: new URLSearchParams(new FormData(form)) });
  });
  show();
});
