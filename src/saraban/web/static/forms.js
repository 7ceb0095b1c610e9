// Filling in: documents picked from a search, dates in words, drafts that outlive a closed window.
import { $, all, language, make, remover, words } from "./dom.js";

// Picking documents that were found; of those that go along it is said in how many copies.
const copies = (picker, id) => {
  if (!picker.dataset.tCopies) return [];
  const input = make("input", { class: "form-control", type: "number", min: "1", max: "10000", name: `copies-${id}`, value: "1" });
  return [make("label", { class: "copies" }, `${picker.dataset.tCopies} `, input)];
};
// Numbers go into a list with one to a line, once each; it is opened, and a draft that is kept hears of it.
const addNumbers = (id, numbers) => {
  const list = document.getElementById(id);
  const lines = list.value.split("\n").map((line) => line.trim()).filter(Boolean);
  list.value = [...new Set([...lines, ...numbers])].join("\n");
  const hidden = list.closest("details");
  if (hidden) hidden.open = true;
  list.dispatchEvent(new Event("input", { bubbles: true }));
};
document.addEventListener("htmx:afterSwap", (event) => {
  for (const added of all("[data-add-numbers]", event.target)) addNumbers(added.dataset.addNumbers, added.textContent.split("\n"));
});
document.addEventListener("click", (event) => {
  const found = event.target.closest("[data-pick]");
  if (!found) return;
  if (found.dataset.into) {
    addNumbers(found.dataset.into, [found.dataset.pick]);
    $("[data-added]", found).textContent = found.closest("[data-picker]").dataset.tAdded;
    return;
  }
  const picker = found.closest("[data-picker]");
  const { name } = picker.dataset;
  const list = $(".picked-list", picker);
  if ("single" in picker.dataset) list.replaceChildren();
  if (!$(`input[value="${found.dataset.pick}"]`, list)) {
    const label = `${found.dataset.number} ${found.dataset.subject}`;
    list.append(make("li", { class: "picked" },
      make("input", { type: "hidden", name, value: found.dataset.pick }),
      make("input", { type: "hidden", name: `${name}Label`, value: label }),
      make("span", {}, label), ...copies(picker, found.dataset.pick), remover(`${picker.dataset.tRemove} ${found.dataset.number}`)));
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

// A date is typed as it is read, in either era: a year from 2400 on is of the Buddhist one. Its words stand beside it.
const months = {
  th: ["ม.ค.", "ก.พ.", "มี.ค.", "เม.ย.", "พ.ค.", "มิ.ย.", "ก.ค.", "ส.ค.", "ก.ย.", "ต.ค.", "พ.ย.", "ธ.ค."],
  en: ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
};
const BUDDHIST = 543;
const two = (figure) => String(figure).padStart(2, "0");
const inEra = (year) => (language === "th" ? year + BUDDHIST : year);
const readDate = (text) => {
  const dayFirst = text.trim().match(/^(\d{1,2})[-/. ](\d{1,2})[-/. ](\d{4})$/);
  const yearFirst = text.trim().match(/^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})$/);
  const figures = dayFirst ? dayFirst.slice(1).reverse() : yearFirst && yearFirst.slice(1);
  if (!figures) return null;
  const [typed, month, day] = figures.map(Number);
  const year = typed >= 2400 ? typed - BUDDHIST : typed;
  const iso = `${year}-${two(month)}-${two(day)}`;
  const made = new Date(`${iso}T00:00:00Z`);
  return made.getUTCDate() === day && made.getUTCMonth() === month - 1 ? { year, month, day, iso } : null;
};
const sayDate = (input) => {
  const found = readDate(input.value);
  $("[data-date-words]", input.parentElement).textContent = found
    ? `${found.day} ${months[language][found.month - 1]} ${inEra(found.year)}` : "";
};
const addCalendar = (input) => {
  if ($(".date-calendar", input.parentElement)) return;
  const calendar = make("input", { type: "date", tabindex: "-1", "aria-hidden": "true", class: "date-native" });
  const button = make("button", { type: "button", class: "btn btn-icon date-calendar", "aria-label": input.dataset.tCalendar }, "▾");
  input.after(calendar, button);
  button.addEventListener("click", () => {
    const found = readDate(input.value);
    calendar.value = found ? found.iso : "";
    calendar.showPicker();
  });
  calendar.addEventListener("change", () => {
    const [year, month, day] = calendar.value.split("-").map(Number);
    input.value = day ? `${two(day)}/${two(month)}/${inEra(year)}` : "";
    sayDate(input);
    input.focus();
  });
};
const sayDates = (root) => { for (const input of all("[data-date]", root)) { sayDate(input); addCalendar(input); } };
sayDates(document);
document.addEventListener("htmx:afterSettle", (event) => sayDates(event.target));
document.addEventListener("input", (event) => { if (event.target.matches("[data-date]")) sayDate(event.target); });
document.addEventListener("focusout", (event) => {
  const found = event.target.matches("[data-date]") && readDate(event.target.value);
  if (found) event.target.value = `${two(found.day)}/${two(found.month)}/${inEra(found.year)}`;
});
// A token of a number format is put where the cursor stands.
document.addEventListener("click", (event) => {
  const token = event.target.closest("[data-insert]");
  const input = token && document.getElementById(token.dataset.into);
  if (!input) return;
  input.setRangeText(token.dataset.insert, input.selectionStart, input.selectionEnd, "end");
  input.focus();
  input.dispatchEvent(new Event("input", { bubbles: true }));
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

// A form that is left keeps what was typed; it is offered again, to the same person, never filled in by itself. Signing out
// removes the drafts of the person; those of a session that ended by itself stay. Drafts without a person are of an older version.
const DRAFT = "saraban.draft.";
const own = `${DRAFT}${words.person}.`;
const removeDrafts = (isGone) => { for (const key of Object.keys(localStorage)) if (key.startsWith(DRAFT) && isGone(key)) localStorage.removeItem(key); };
removeDrafts((key) => key.split(".").length < 4);
document.addEventListener("submit", (event) => {
  if (event.target.matches("[data-signs-out]")) removeDrafts((key) => key.startsWith(own));
});
const form = $("form[data-draft]");
if (form) {
  const place = own + form.dataset.draft;
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
  document.addEventListener("submit", (event) => { if (event.target.matches("[data-signs-out]")) clearTimeout(timer); });
  for (const link of all("[data-discard-draft]")) link.addEventListener("click", forget);
}
