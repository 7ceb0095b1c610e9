// The interactive reference of the API: what is tried is sent with the session of whoever reads it.

const FRESH = 5 * 60 * 1000; // the cookie that the API takes lives for a quarter of an hour
const place = document.getElementById("api");
let renewed = 0;

async function withSession(request) {
  if (Date.now() - renewed > FRESH && !request.loadSpec) {
    renewed = Date.now();
    await fetch("/session/renewal", { method: "POST", credentials: "same-origin" });
  }
  return request;
}

window.SwaggerUIBundle({
  url: place.dataset.description,
  domNode: place,
  deepLinking: true,
  docExpansion: "none",
  defaultModelsExpandDepth: -1,
  filter: true,
  tryItOutEnabled: true,
  validatorUrl: null,
  requestInterceptor: withSession,
});
