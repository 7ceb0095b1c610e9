// The keyboard: g then a letter goes somewhere, n writes, / searches, Ctrl-K everything, j and k walk through rows, ? helps.
import { $, all } from "./dom.js";

const OFF = "saraban.keys.off";
const places = { i: "/inbox", c: "/correspondences", r: "/rfas", t: "/transmittals", s: "/circulations" };
const isOff = () => localStorage.getItem(OFF) === "1";

// Who dictates, or has a key of their own for these letters, can turn them off.
const choice = $("[data-keys]");
if (choice) {
  choice.checked = !isOff();
  choice.addEventListener("change", () => {
    if (choice.checked) localStorage.removeItem(OFF); else localStorage.setItem(OFF, "1");
  });
}

const walk = (step) => {
  const links = all(".row-link, .note-button").filter((link) => link.checkVisibility());
  if (!links.length) return;
  const here = links.indexOf(document.activeElement);
  const next = here < 0 ? 0 : Math.min(Math.max(here + step, 0), links.length - 1);
  links[next].focus();
  links[next].scrollIntoView({ block: "nearest" });
};

const deeds = {
  n: () => ($("[data-new]") || $(".sidebar a[href$='/new']"))?.click(),
  e: () => $("[data-edit]")?.click(),
  j: () => walk(1),
  k: () => walk(-1),
};
const search = () => {
  const field = $("[data-search]") || $("[data-search-all]");
  if (field) { field.focus(); field.select(); }
};

let going = 0;
const press = (event, help) => {
  // The key by its place on the board, so that it works while the Thai layout is on.
  const letter = /^Key[A-Z]$/.test(event.code) ? event.code.slice(3).toLowerCase() : event.key;
  const follows = Date.now() - going < 1200;
  going = 0;
  if (follows && places[letter]) return () => { location.href = places[letter]; };
  if (letter === "g") return () => { going = Date.now(); };
  if (event.key === "?" || (event.code === "Slash" && event.shiftKey)) return help;
  if (event.key === "/" || event.code === "Slash") return search;
  return deeds[letter];
};

export const listen = (help) => {
  document.addEventListener("keydown", (event) => {
    // Anywhere in a form or dialog, together with Ctrl, Enter sends it.
    const form = event.target.closest("form[data-once]");
    if (form && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.requestSubmit();
      return;
    }
    if (event.code === "KeyK" && (event.ctrlKey || event.metaKey) && !event.altKey && !$("dialog[open]")) {
      event.preventDefault();
      $("[data-search-all]")?.focus();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || $("dialog[open]") || isOff()) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    const deed = press(event, help);
    if (!deed) return;
    event.preventDefault();
    deed();
  });
};
