// Forms that ask before they are sent: data-confirm="what will happen?".
import { onElement } from "./fragments.js";

const dialog = document.querySelector("[data-confirmation]");

/** Ask a question whose one good answer is a button of this text; whether that was pressed. */
export function ask(question, answer) {
  dialog.querySelector("[data-question]").textContent = question;
  const yes = dialog.querySelector("[data-yes]");
  yes.textContent = answer;
  dialog.returnValue = "";
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

onElement("form[data-confirm]", (form) => {
  form.addEventListener("submit", async (event) => {
    if (form.dataset.isConfirmed) return;
    event.preventDefault();
    const button = event.submitter;
    if (!(await ask(form.dataset.confirm, button?.textContent.trim() || "Yes"))) return;
    form.dataset.isConfirmed = "yes";
    form.requestSubmit(button);
  });
});
