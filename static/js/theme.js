// Dark or light: what the person chose on this device, else what their system says. Runs before the first paint.
(() => {
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const KEY = "tracesets-theme";

  const chosen = () => {
    try {
      return window.localStorage.getItem(KEY);
    } catch {
      return null; // Storage may be forbidden; then the system decides.
    }
  };

  const apply = () => {
    document.documentElement.dataset.bsTheme = chosen() ?? (system.matches ? "dark" : "light");
  };

  const toggle = () => {
    const next = document.documentElement.dataset.bsTheme === "dark" ? "light" : "dark";
    try {
      const isSystems = next === (system.matches ? "dark" : "light");
      if (isSystems) window.localStorage.removeItem(KEY);
      else window.localStorage.setItem(KEY, next);
    } catch {
      document.documentElement.dataset.bsTheme = next;
      return;
    }
    apply();
  };

  apply();
  system.addEventListener("change", apply);
  document.addEventListener("DOMContentLoaded", () => {
    for (const button of document.querySelectorAll("[data-theme-toggle]")) {
      button.hidden = false;
      button.addEventListener("click", toggle);
    }
  });
})();
