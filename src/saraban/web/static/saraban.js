// What pages do beyond links and forms. Everything works through the server; this makes it quicker.
import { $, all, make, toast, words } from "./dom.js";
import { isUploading } from "./uploads.js";
import { listen } from "./keys.js";
import "./combobox.js";
import "./editor.js";
import "./forms.js";
import "./suggestions.js";

// Dialogs: native, so that focus stays inside, Escape closes, and focus goes back to the button that opened it.
const open = (dialog, opener) => {
  if (!dialog || dialog.open) return;
  // A button in a menu is gone when its menu has closed; the menu's own button is what remains.
  const home = opener && (opener.closest(".dropdown-menu") ? $("[data-bs-toggle]", opener.closest(".dropdown")) : opener);
  if (home) dialog.addEventListener("close", () => home.focus(), { once: true });
  dialog.showModal();
  const first = $("[autofocus]", dialog);
  if (first) first.focus();
};
document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-dialog]");
  if (opener) return open(document.getElementById(opener.dataset.dialog), opener);
  const closer = event.target.closest("[data-close]");
  if (closer) return closer.closest("dialog").close();
  if (event.target.matches("dialog.preview")) event.target.close();
});
listen(() => open($("#help"), null));

// Copying the number; without the clipboard (plain http) the text is selected instead.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
  } catch {
    const area = make("textarea", { class: "visually-hidden" });
    area.value = button.dataset.copy;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  toast(`${words.tCopied}: ${button.dataset.copy}`);
});

// A longer text is copied whole, from where it stands.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy-from]");
  if (!button) return;
  const text = document.getElementById(button.dataset.copyFrom);
  getSelection().selectAllChildren(text);
  try { await navigator.clipboard.writeText(text.textContent); } catch { document.execCommand("copy"); }
  toast(words.tCopied);
});

// Show or hide the password.
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-show-password]");
  if (!button) return;
  const input = document.getElementById(button.dataset.showPassword);
  const shown = input.type === "text";
  input.type = shown ? "password" : "text";
  button.setAttribute("aria-pressed", String(!shown));
});

// A form is sent once; coming back with the browser's button frees it again.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("[data-once]")) return;
  if (form.dataset.sent || isUploading(form)) return event.preventDefault();
  form.dataset.sent = "1";
  for (const button of all("[data-submit]", form)) button.classList.add("disabled", "btn-loading");
}, true);
addEventListener("pageshow", () => {
  for (const form of all("[data-once]")) {
    delete form.dataset.sent;
    for (const button of all("[data-submit]", form)) button.classList.remove("disabled", "btn-loading");
  }
});
document.addEventListener("change", (event) => {
  const form = event.target.closest("form[data-autosubmit]");
  if (form) form.requestSubmit();
});

// The inbox looks again by itself, unless somebody is reading further down or has the focus in it.
const inbox = document.getElementById("inbox");
if (inbox) {
  let paged = false;
  inbox.addEventListener("htmx:afterSwap", (event) => { paged = event.target !== inbox; });
  setInterval(() => {
    if (!paged && !document.hidden && !inbox.contains(document.activeElement)) inbox.dispatchEvent(new Event("look"));
  }, 60000);
}

// While log-ins of this address have to wait, the button waits.
const locked = $("[data-locked-for]");
if (locked) {
  const button = $("[data-submit]", locked);
  let left = Math.min(Number(locked.dataset.lockedFor), 60);
  const label = button.textContent;
  button.disabled = true;
  const tick = setInterval(() => {
    left -= 1;
    button.textContent = left > 0 ? `${label} (${left})` : label;
    if (left <= 0) { button.disabled = false; clearInterval(tick); }
  }, 1000);
}

// Preview of PDF and images inside the page.
const preview = $("#preview");
document.addEventListener("click", (event) => {
  const link = event.target.closest("[data-preview]");
  if (!link || !preview || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const name = link.dataset.fileName;
  $("#preview-title").textContent = name;
  $("[data-preview-download]").href = link.href.split("?")[0];
  const shown = link.dataset.preview === "application/pdf"
    ? make("iframe", { src: link.href, title: name })
    : make("img", { src: link.href, alt: name });
  $("[data-preview-body]").replaceChildren(shown);
  open(preview, link);
});
if (preview) preview.addEventListener("close", () => $("[data-preview-body]").replaceChildren());

// More rows: focus goes on to the first new one, because the button it was on is gone.
let before = null;
document.addEventListener("htmx:beforeSwap", (event) => {
  before = event.target.matches(".more-row") ? event.target.previousElementSibling : null;
});
document.addEventListener("htmx:afterSettle", () => {
  const row = before && before.nextElementSibling;
  const link = row && $("a, button", row);
  if (link) link.focus();
  before = null;
});

// A fault above the form leads to its field.
document.addEventListener("click", (event) => {
  const link = event.target.closest(".problem-fields a");
  const field = link && document.getElementById(link.hash.slice(1));
  if (!field) return;
  event.preventDefault();
  field.focus();
});
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.target.id === "notices") { const box = $(".problem", event.target); if (box) box.focus(); }
});
document.addEventListener("htmx:sendError", () => toast(words.tOffline));

// What was refused is read first; a dialog that was refused opens again over its button.
const told = $("#notices .problem");
if (told) told.focus();
const reopen = $("[data-reopen]");
if (reopen) {
  const id = reopen.dataset.reopen;
  open(document.getElementById(id), $(`[data-dialog="${id}"]`));
}
const wrong = $("[aria-invalid=true][autofocus]") || $("[aria-invalid=true]:not(.visually-hidden)");
if (wrong && !told) wrong.focus();
