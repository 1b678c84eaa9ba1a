// Shows the API's document in Swagger UI, whose bundle stands before this module on the page.

const page = document.documentElement;
const place = document.getElementById("swagger-ui");

// Swagger UI has a dark sheet of its own, and a class that turns it on.
const followTheme = () => page.classList.toggle("dark-mode", page.dataset.bsTheme === "dark");
new MutationObserver(followTheme).observe(page, { attributeFilter: ["data-bs-theme"] });
followTheme();

window.SwaggerUIBundle({
  domNode: place,
  url: place.dataset.document,
  deepLinking: true,
  displayRequestDuration: true,
  // Else Swagger UI sends the document to a validator on another host.
  validatorUrl: null,
});
