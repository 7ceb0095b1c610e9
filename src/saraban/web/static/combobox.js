// Long lists of codes can be searched by any part of their code or of their name in either language.
// The select stays in the form and keeps the value; without this script it is simply shown.
import { $, all, make, words } from "./dom.js";
import { Options } from "./options.js";

const SHORT = 7; // so many options are seen at a glance

const folded = (text) => text.normalize("NFC").toLowerCase();

const Combobox = (select) => {
  const { id } = select;
  const label = $(`label[for="${id}"]`);
  const list = make("ul", { class: "combo-list", role: "listbox", id: `${id}-list`, "aria-label": label.textContent });
  list.hidden = true;
  const input = make("input", {
    class: select.className, type: "text", id, role: "combobox", autocomplete: "off", spellcheck: "false",
    "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": list.id,
  });
  for (const name of ["aria-invalid", "aria-describedby"]) {
    if (select.hasAttribute(name)) { input.setAttribute(name, select.getAttribute(name)); select.removeAttribute(name); }
  }
  select.removeAttribute("data-find");
  const hadFocus = document.activeElement === select;
  select.id = `${id}-value`;
  select.classList.add("visually-hidden");
  select.tabIndex = -1;
  select.setAttribute("aria-hidden", "true");
  select.setAttribute("aria-label", label.textContent);
  const box = make("div", { class: "combo" });
  select.before(box);
  box.append(input, list, select);

  const options = Options(input, list);
  const { items, mark } = options;
  let wanted = null; // what leaving the field would choose
  const chosen = () => select.options[select.selectedIndex];
  const show = () => { input.value = chosen() && chosen().value ? chosen().text : ""; input.placeholder = select.options[0].value ? "" : select.options[0].text; };
  const marked = () => options.active() && Number(options.active().dataset.place);
  const fill = (text) => {
    const part = folded(text.trim());
    list.replaceChildren();
    let group = null;
    [...select.options].forEach((option, place) => {
      if (!option.value || !folded(`${option.text} ${option.dataset.also || ""}`).includes(part)) return;
      const heading = option.parentElement.label;
      if (heading && heading !== group) list.append(make("li", { class: "combo-group", role: "presentation" }, group = heading));
      list.append(make("li", { role: "option", id: `${id}-${place}`, "data-place": String(place) }, option.text));
    });
    if (!items().length) list.append(make("li", { class: "combo-none", role: "presentation" }, words.tNothing));
  };
  const open = (text) => {
    fill(text);
    options.show(true);
    const present = items().find((item) => Number(item.dataset.place) === select.selectedIndex);
    // Whoever types a code means that code, though a name before it has the same letters: STR, AdminiSTRation.
    const begins = (item) => folded(item.textContent).startsWith(folded(text.trim()));
    mark(present || (text ? items().find(begins) || items()[0] || null : null));
  };
  const close = () => { wanted = null; options.show(false); };
  const choose = (place) => {
    const changed = select.selectedIndex !== place;
    select.selectedIndex = place;
    show();
    close();
    if (changed) select.dispatchEvent(new Event("change", { bubbles: true }));
  };
  const move = (step) => {
    if (list.hidden) return open("");
    options.move(step);
    wanted = marked();
  };
  const type = () => {
    open(input.value);
    const emptied = !input.value.trim() && !select.options[0].value;
    wanted = emptied ? 0 : marked();
  };
  // Leaving takes what was typed or walked to; without that it goes back to what was chosen before.
  const leave = () => {
    if (wanted !== null) return choose(wanted);
    close();
    show();
  };

  input.addEventListener("focus", () => input.select());
  input.addEventListener("click", () => { if (list.hidden) open(""); });
  input.addEventListener("input", type);
  input.addEventListener("blur", leave);
  input.addEventListener("change", (event) => event.stopPropagation());
  select.addEventListener("change", show);
  list.addEventListener("mousedown", (event) => {
    const item = event.target.closest("[role=option]");
    if (item) choose(Number(item.dataset.place));
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event.key === "ArrowDown" ? 1 : -1);
    else if (event.key === "Enter" && list.hidden) open("");
    else if (event.key === "Enter") { if (options.active()) choose(marked()); }
    else if (event.key === "Escape" && !list.hidden) { close(); show(); }
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  show();
  if (hadFocus) input.focus();
};

// On a touch screen the list of the device itself is the better one.
const enhance = (root) => {
  if (!matchMedia("(pointer: fine)").matches) return;
  for (const select of all("select[data-find]", root)) if (select.options.length > SHORT) Combobox(select);
};

enhance(document);
document.addEventListener("htmx:afterSettle", (event) => enhance(event.target));
