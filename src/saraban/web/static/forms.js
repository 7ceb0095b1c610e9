// Filling in: documents picked from a search, dates in words, drafts that outlive a closed window.
import { $, all, language, make, remover, words } from "./dom.js";

// Picking documents that were found.
document.addEventListener("click", (event) => {
  const found = event.target.closest("[data-pick]");
  if (!found) return;
  const picker = found.closest("[data-picker]");
  const { name } = picker.dataset;
  const list = $(".picked-list", picker);
  if ("single" in picker.dataset) list.replaceChildren();
  if (!$(`input[value="${found.dataset.pick}"]`, list)) {
    const label = `${found.dataset.number} ${found.dataset.subject}`;
    list.append(make("li", { class: "picked" },
      make("input", { type: "hidden", name, value: found.dataset.pick }),
      make("input", { type: "hidden", name: `${name}Label`, value: label }),
      make("span", {}, label), remover(`${picker.dataset.tRemove} ${found.dataset.number}`)));
  }
  $(".found-list", picker).replaceChildren();
  const input = $("input[type=search]", picker);
  input.value = "";
  input.focus();
});
document.addEventListener("keydown", (event) => {
  const picker = event.target.closest("[data-picker]");
  if (!picker) return;
  const stops = [$("input[type=search]", picker), ...all("[data-pick]", picker)];
  const place = stops.indexOf(event.target);
  if (event.key === "Enter" && place === 0) event.preventDefault();
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step || place < 0 || !stops[place + step]) return;
  event.preventDefault();
  stops[place + step].focus();
});

// A date in words over its field, in the era of the language. Browsers show digits in an order of their own, so the
// digits are seen only while somebody types them.
const months = {
  th: ["ม.ค.", "ก.พ.", "มี.ค.", "เม.ย.", "พ.ค.", "มิ.ย.", "ก.ค.", "ส.ค.", "ก.ย.", "ต.ค.", "พ.ย.", "ธ.ค."],
  en: ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
};
const BUDDHIST = 543;
const sayDate = (input) => {
  const place = $("[data-date-words]", input.parentElement);
  const [year, month, day] = input.value.split("-").map(Number);
  const era = language === "th" ? year + BUDDHIST : year;
  place.textContent = day ? `${day} ${months[language][month - 1]} ${era}` : place.dataset.none;
  place.classList.toggle("is-none", !day);
};
const sayDates = (root) => { for (const input of all("[data-date]", root)) sayDate(input); };
sayDates(document);
document.addEventListener("htmx:afterSettle", (event) => sayDates(event.target));
document.addEventListener("input", (event) => { if (event.target.matches("[data-date]")) sayDate(event.target); });
// A token of a number format is put where the cursor stands.
document.addEventListener("click", (event) => {
  const token = event.target.closest("[data-insert]");
  const input = token && document.getElementById(token.dataset.into);
  if (!input) return;
  input.setRangeText(token.dataset.insert, input.selectionStart, input.selectionEnd, "end");
  input.focus();
  input.dispatchEvent(new Event("input", { bubbles: true }));
});

// Who types 2569 means the Buddhist era: no project reaches that year of the other one.
document.addEventListener("focusout", (event) => {
  const input = event.target;
  if (!input.matches("[data-date]") || Number(input.value.slice(0, 4)) < 2400) return;
  input.value = `${Number(input.value.slice(0, 4)) - BUDDHIST}${input.value.slice(4)}`;
  sayDate(input);
});

// The number is asked for again after the selects have been replaced; what says the same is not put in (and read) again.
let told = "";
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.target.id !== "number") return;
  const text = event.detail.xhr.responseText.trim();
  if (text === told) event.detail.shouldSwap = false;
  told = text;
});
document.addEventListener("htmx:afterSettle", (event) => {
  if (event.target.id === "choices") document.body.dispatchEvent(new Event("renumber"));
});

// A form that is left keeps what was typed; it is offered again, never filled in by itself.
const form = $("form[data-draft]");
if (form) {
  const place = `saraban.draft.${form.dataset.draft}`;
  const kept = ["subject", "body", "remarks"];
  const read = () => { try { return JSON.parse(localStorage.getItem(place)); } catch { return null; } };
  const forget = () => localStorage.removeItem(place);
  const saved = read();
  if (saved && !form.elements.subject.value) {
    const restore = make("button", { type: "button", class: "btn btn-sm" }, words.tRestore);
    const discard = make("button", { type: "button", class: "btn btn-sm btn-link" }, words.tDiscard);
    const bar = make("div", { class: "alert alert-secondary draft-bar", role: "status" }, words.tDraft, restore, discard);
    $("#notices").append(bar);
    restore.addEventListener("click", () => {
      for (const name of kept) if (form.elements[name] && saved[name]) form.elements[name].value = saved[name];
      bar.remove();
      form.elements.subject.focus();
    });
    discard.addEventListener("click", () => { forget(); bar.remove(); form.elements.subject.focus(); });
  }
  let timer = 0;
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const typed = Object.fromEntries(kept.map((name) => [name, form.elements[name] ? form.elements[name].value : ""]));
      if (Object.values(typed).some(Boolean)) localStorage.setItem(place, JSON.stringify(typed));
    }, 2000);
  });
  form.addEventListener("submit", (event) => { if (!event.defaultPrevented) { clearTimeout(timer); forget(); } });
  for (const link of all("[data-discard-draft]")) link.addEventListener("click", forget);
}
