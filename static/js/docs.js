// Shows the API's document in Swagger UI, whose bundle stands before this module on the page.

const place = document.getElementById("swagger-ui");

window.SwaggerUIBundle({
  domNode: place,
  url: place.dataset.document,
  deepLinking: true,
  displayRequestDuration: true,
  // Else Swagger UI sends the document to a validator on another host.
  validatorUrl: null,
});
