// Lists that are edited in place. The server opens, saves and shuts rows; this gives them a keyboard, dragging and pasting.
import { $, all } from "./dom.js";

const list = $("#grid-list");
const status = $("#grid-said");
const say = (text) => { status.textContent = ""; status.textContent = text; };
const lines = () => all(".line:not(.is-new)", list);
const opener = (line) => $(".line-open", line);

// A click on a cell opens its row with the cursor in that cell.
let wanted = "";
list.addEventListener("click", (event) => {
  const take = event.target.closest("[data-take]");
  if (take) {
    const field = $("input, select, textarea", take.closest("td"));
    field.value = take.dataset.take;
    field.dispatchEvent(new Event("change", { bubbles: true }));
    take.closest(".grid-theirs").remove();
    field.focus();
    return;
  }
  const mover = event.target.closest("[data-move]");
  if (mover) {
    event.preventDefault();
    return move(mover.closest(".line"), Number(mover.dataset.move), mover);
  }
  const row = event.target.closest("[data-opens]");
  if (!row || !event.isTrusted || getSelection().toString()) return;
  wanted = event.target.closest("td")?.dataset.field || "";
  if (!event.target.closest("a, button")) opener(row).click();
});

// What was typed is not lost by leaving the page.
const typed = (line) => $("[aria-invalid], .grid-note", line) || all("input:not([type=hidden]), textarea", line).some((field) => field.value !== field.defaultValue)
  || all("select", line).some((field) => !field.selectedOptions[0]?.defaultSelected && field.selectedIndex > 0);
let isLeaving = false;
addEventListener("beforeunload", (event) => { if (!isLeaving && all(".line.is-open", list).some(typed)) event.preventDefault(); });
document.addEventListener("submit", (event) => { if (!event.target.id.startsWith("form-")) isLeaving = true; });

// Nor by a search: rows that are being typed leave the list while it is changed, and come back into it.
let typing = [];
document.addEventListener("htmx:beforeSwap", (event) => {
  if (event.detail.target !== list || !event.detail.shouldSwap) return;
  const focused = document.activeElement;
  typing = all(".line.is-open", list).filter(typed).map((line) => ({ line, focused: line.contains(focused) && focused }));
  for (const { line } of typing) line.remove();
});
document.addEventListener("htmx:afterSwap", (event) => {
  for (const { line, focused } of typing.splice(0).reverse()) {
    const there = document.getElementById(line.id);
    if (there) there.replaceWith(line); else $("thead", list).after(line);
    if (focused) focused.focus();
  }
  // A row that was added below the others comes again in its place among them.
  const seen = new Set();
  for (const line of event.detail.target === list ? [] : lines()) {
    if (seen.has(line.id)) line.remove();
    seen.add(line.id);
  }
});

document.addEventListener("htmx:afterSettle", (event) => {
  const line = event.detail.elt?.closest?.(".line") || (event.target.matches?.(".line") ? event.target : null);
  for (const told of all(".line[data-said]", list)) {
    say(told.dataset.said);
    delete told.dataset.said;
  }
  if (line && $("[aria-invalid]", line)) say(""); // what was said of another row is no answer to this one
  const field = wanted && line && $(`[data-field="${wanted}"] :is(input:not([type=hidden]), select, textarea)`, line);
  wanted = "";
  if (field) field.focus();
  const focused = document.activeElement;
  if (line && line.contains(focused) && focused.matches("input, textarea")) focused.select();
});

// The keyboard of an open row, and of one that is shut.
const inOpen = (event, line) => {
  if (event.key === "Escape") {
    event.preventDefault();
    return $("[data-cancel]", line).click();
  }
  if (event.key === "Enter" && event.target.matches("select, textarea") && !event.shiftKey) {
    event.preventDefault();
    event.target.form.requestSubmit();
  }
};
const neighbour = (line, step) => {
  const known = lines();
  return known[known.indexOf(line) + step];
};
const inShut = (event, line) => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  const next = neighbour(line, step) || (step > 0 && ($(".more-row", list) || $(".line.is-new", list)));
  const target = next && $("a, input:not([type=hidden]), select", next);
  if (target) target.focus();
};
list.addEventListener("keydown", (event) => {
  const line = event.target.closest(".line");
  if (!line || event.isComposing) return;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.altKey && step && !line.matches(".is-new")) {
    event.preventDefault();
    return move(line, step, event.target);
  }
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (line.matches(".is-open")) inOpen(event, line);
  else inShut(event, line);
});

// Moving: the row goes at once, the server hears of it when it has come to rest.
const resting = new Map();
const send = (line) => {
  resting.delete(line);
  const [before, after] = [neighbour(line, 1), neighbour(line, -1)];
  const values = { ref: line.dataset.ref, ...(before ? { before: before.dataset.ref } : { after: after.dataset.ref }) };
  htmx.ajax("POST", `${list.dataset.url}/move`, { source: list, target: list, swap: "none", values })
    .then(() => say(`${line.dataset.ref.split("\t")[0]}: ${lines().indexOf(line) + 1} / ${lines().length}`));
};
const moved = (line) => {
  clearTimeout(resting.get(line));
  resting.set(line, setTimeout(send, 400, line));
};
const canMove = () => Boolean($(".grid-handle, [data-move]", list));
function move(line, step, focused) {
  const next = neighbour(line, step);
  if (!next || !canMove()) return;
  if (step < 0) next.before(line); else next.after(line);
  focused.focus();
  line.scrollIntoView({ block: "nearest" });
  moved(line);
}
let dragged = null;
list.addEventListener("dragstart", (event) => {
  if (!event.target.matches?.(".grid-handle")) return;
  dragged = event.target.closest(".line");
  event.dataTransfer.effectAllowed = "move";
  event.dataTransfer.setData("text/plain", dragged.dataset.ref);
  event.dataTransfer.setDragImage($("tr", dragged), 10, 10);
  dragged.classList.add("is-dragged");
});
list.addEventListener("dragover", (event) => {
  const over = dragged && event.target.closest(".line:not(.is-new)");
  if (!over) return;
  event.preventDefault();
  if (over === dragged) return;
  const { top, height } = over.getBoundingClientRect();
  if (event.clientY < top + height / 2) over.before(dragged); else over.after(dragged);
});
list.addEventListener("drop", (event) => { if (dragged) event.preventDefault(); });
list.addEventListener("dragend", () => {
  if (!dragged) return;
  dragged.classList.remove("is-dragged");
  moved(dragged);
  dragged = null;
});

// Several cells of a spreadsheet, pasted into the new row, go to be checked.
list.addEventListener("paste", (event) => {
  const form = $("#paste-form");
  const text = event.clipboardData.getData("text/plain").replace(/\r\n?/g, "\n").replace(/\n+$/, "");
  if (!form || !event.target.closest(".is-new") || !/[\t\n]/.test(text)) return;
  event.preventDefault();
  $("#sheets").open = true;
  form.elements.pasted.value = text;
  isLeaving = true;
  form.requestSubmit();
});
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-to-new]")) {
    event.preventDefault();
    $(".line.is-new :is(input:not([type=hidden]), select)", list).focus();
  }
  if (!event.target.closest("[data-sheets]")) return;
  event.preventDefault();
  $("#sheets").open = true;
  $("#f-pasted").focus();
});
list.addEventListener("change", (event) => {
  const cell = event.target.closest("td");
  const swatch = cell && $(".swatch", cell);
  if (swatch && event.target.matches("select")) swatch.dataset.color = event.target.value;
});

// An organization that is in the register brings its names and its usual role with its code.
const fillIn = (field) => {
  const known = all("option", $("#offered")).find((option) => option.value === field.value.trim());
  const line = field.closest(".line");
  const names = { organizationName: known?.dataset.name, organizationNameEn: known?.dataset.english };
  for (const [name, value] of Object.entries(names)) {
    const cell = $(`[name="${name}"]`, line);
    if (!known && !("filled" in cell.dataset)) continue;
    cell.value = value || "";
    cell.readOnly = Boolean(known);
    if (known) cell.dataset.filled = ""; else delete cell.dataset.filled;
  }
  const role = $("[name=role]", line);
  if (known && !role.dataset.chosen && known.dataset.role !== "OTHER") role.value = known.dataset.role;
};
list.addEventListener("input", (event) => { if (event.target.matches("[data-offered]")) fillIn(event.target); });
list.addEventListener("change", (event) => { if (event.target.matches("[name=role]")) event.target.dataset.chosen = ""; });
document.addEventListener("htmx:afterSwap", (event) => {
  if (event.target.id === "offered") for (const field of all("[data-offered]", list)) if (field.value) fillIn(field);
});
