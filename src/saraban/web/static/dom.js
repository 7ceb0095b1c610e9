// What the other scripts share: finding and making elements, short messages, the page's words and language.

export const words = document.body.dataset;
export const language = document.documentElement.lang;

export const $ = (selector, root = document) => root.querySelector(selector);
export const all = (selector, root = document) => [...root.querySelectorAll(selector)];

export const make = (tag, attributes = {}, ...children) => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "class") element.className = value; else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
};

export const toast = (text) => {
  const place = $("#toasts");
  if (!place) return;
  const line = make("div", { class: "toast-line" }, text);
  place.append(line);
  setTimeout(() => line.remove(), 6000);
};

// The button that takes a row out of a list; focus then goes to the next row, or back to where rows come from.
export const remover = (label) =>
  make("button", { type: "button", class: "btn btn-icon btn-sm", "data-remove-row": "", "aria-label": label }, "×");

document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-remove-row]");
  if (!button) return;
  const row = button.closest("li");
  const list = row.parentElement;
  const neighbour = row.nextElementSibling || row.previousElementSibling;
  row.dispatchEvent(new Event("removed", { bubbles: true }));
  row.remove();
  const next = neighbour ? $("[data-remove-row]", neighbour) : $("input:not([type=hidden])", list.parentElement);
  if (next) next.focus();
});
