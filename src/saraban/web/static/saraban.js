// What pages do beyond links and forms. Everything works through the server; this makes it quicker.
"use strict";
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const words = document.body.dataset;

  const make = (tag, attributes = {}, ...children) => {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "class") element.className = value; else element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  };

  const toast = (text) => {
    const place = $("#toasts");
    if (!place) return;
    const line = make("div", { class: "toast-line" }, text);
    place.append(line);
    setTimeout(() => line.remove(), 4000);
  };

  // Dialogs: native, so that focus stays inside and Escape closes.
  const open = (dialog) => {
    if (!dialog || dialog.open) return;
    dialog.showModal();
    const first = $("[autofocus]", dialog);
    if (first) first.focus();
  };
  document.addEventListener("click", (event) => {
    const opener = event.target.closest("[data-dialog]");
    if (opener) return open(document.getElementById(opener.dataset.dialog));
    const closer = event.target.closest("[data-close]");
    if (closer) return closer.closest("dialog").close();
  });

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
    }
    toast(`${words.tCopied}: ${button.dataset.copy}`);
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
    if (!form.matches("[data-once]") || event.defaultPrevented) return;
    if (form.dataset.sent) return event.preventDefault();
    if ($(".upload-row.is-busy", form)) return event.preventDefault();
    form.dataset.sent = "1";
    for (const button of form.querySelectorAll("[data-submit]")) button.classList.add("disabled", "btn-loading");
  });
  addEventListener("pageshow", () => {
    for (const form of document.querySelectorAll("[data-once]")) {
      delete form.dataset.sent;
      for (const button of form.querySelectorAll("[data-submit]")) button.classList.remove("disabled", "btn-loading");
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

  // While an account is locked, its button waits.
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

  // Keyboard: g then a letter goes somewhere, n writes, / searches, ? helps.
  const places = { i: "/inbox", c: "/correspondences", r: "/rfas", t: "/transmittals", s: "/circulations" };
  let going = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || $("dialog[open]")) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    // The key by its place on the board, so that it works while the Thai layout is on.
    const letter = /^Key[A-Z]$/.test(event.code) ? event.code.slice(3).toLowerCase() : event.key;
    if (going && Date.now() - going < 1200 && places[letter]) {
      event.preventDefault();
      going = 0;
      location.href = places[letter];
    } else if (letter === "g") {
      going = Date.now();
    } else if (letter === "n") {
      const link = $("[data-new]") || $(".sidebar a[href$='/new']");
      if (link) { event.preventDefault(); link.click(); }
    } else if (event.key === "?" || (event.code === "Slash" && event.shiftKey)) {
      event.preventDefault();
      open($("#help"));
    } else if (event.key === "/" || event.code === "Slash") {
      const search = $("[data-search]");
      if (search) { event.preventDefault(); search.focus(); search.select(); }
    }
  });

  // Preview of PDF and images inside the page.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-preview]");
    const dialog = $("#preview");
    if (!link || !dialog || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const name = link.dataset.fileName;
    $("#preview-title").textContent = name;
    $("[data-preview-download]").href = link.href.split("?")[0];
    const body = $("[data-preview-body]");
    const shown = link.dataset.preview === "application/pdf"
      ? make("iframe", { src: link.href, title: name })
      : make("img", { src: link.href, alt: name });
    body.replaceChildren(shown);
    open(dialog);
  });
  const preview = $("#preview");
  if (preview) preview.addEventListener("close", () => $("[data-preview-body]").replaceChildren());

  // Uploads: dropped or chosen, one request each, with progress; the form carries only the identifiers.
  const cross = () => make("button", { type: "button", class: "btn btn-icon btn-sm", "data-remove-row": "" }, "×");
  const problemText = (text, fallback) => {
    try {
      const problem = JSON.parse(text);
      const first = problem.errors && problem.errors[0];
      return (first && first.message) || problem.userMessage || fallback;
    } catch { return fallback; }
  };
  const send = (file, progress) => new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/api/v1/attachments");
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) progress(event.loaded / event.total);
    });
    request.addEventListener("loadend", () => resolve(request));
    const data = new FormData();
    data.append("file", file);
    request.send(data);
  });
  const renew = async () => {
    const answer = await fetch("/session/renewal", { method: "POST", redirect: "manual" }).catch(() => null);
    return Boolean(answer && answer.ok);
  };
  const uploadOne = async (box, file) => {
    const text = box.dataset;
    const bar = make("progress", { max: "1", value: "0" });
    const status = make("span", { class: "upload-status" });
    const remove = cross();
    remove.setAttribute("aria-label", `${text.tRemove} ${file.name}`);
    const row = make("li", { class: "upload-row is-busy" }, make("span", { class: "upload-name" }, file.name), bar, status, remove);
    $(".uploads", box).append(row);
    const fail = (reason) => {
      row.className = "upload-row is-failed";
      bar.remove();
      status.textContent = reason;
    };
    if (file.size > Number(text.limit)) return fail(text.tLarge);
    const progress = (share) => { bar.value = share; status.textContent = `${Math.round(share * 100)}%`; };
    let answer = await send(file, progress);
    if (answer.status === 401 && await renew()) answer = await send(file, progress);
    if (answer.status === 401) { location.href = "/login"; return; }
    if (answer.status !== 201) return fail(answer.status ? problemText(answer.responseText, text.tFailed) : words.tOffline);
    const done = JSON.parse(answer.responseText);
    row.className = "upload-row is-done";
    bar.remove();
    status.textContent = text.tDone;
    row.append(
      make("input", { type: "hidden", name: text.name, value: done.publicId }),
      make("input", { type: "hidden", name: `${text.name}Name`, value: done.fileName }),
    );
    row.dispatchEvent(new Event("uploaded", { bubbles: true }));
  };
  const take = async (box, files) => {
    // One after the other: order decides which is the main document.
    for (const file of files) await uploadOne(box, file);
  };
  document.addEventListener("change", (event) => {
    const box = event.target.closest("[data-upload]");
    if (!box || event.target.type !== "file") return;
    event.stopPropagation();
    const files = [...event.target.files];
    event.target.value = "";
    take(box, files);
  }, true);
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      const zone = event.target.closest && event.target.closest(".dropzone");
      if (!zone) { if (kind !== "dragleave" && event.dataTransfer && [...event.dataTransfer.types].includes("Files")) event.preventDefault(); return; }
      event.preventDefault();
      zone.classList.toggle("is-over", kind === "dragover");
      if (kind === "drop") take(zone.closest("[data-upload]"), [...event.dataTransfer.files]);
    });
  }
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-remove-row]");
    if (button) button.closest("li").remove();
  });
  document.addEventListener("uploaded", (event) => {
    const form = event.target.closest("[data-upload-form]");
    if (form) $("[data-when-uploaded]", form).classList.remove("d-none");
  });

  // Picking documents that were found.
  document.addEventListener("click", (event) => {
    const found = event.target.closest("[data-pick]");
    if (!found) return;
    const picker = found.closest("[data-picker]");
    const { name } = picker.dataset;
    const list = $(".picked-list", picker);
    if ("single" in picker.dataset) list.replaceChildren();
    if (!list.querySelector(`input[value="${found.dataset.pick}"]`)) {
      const label = `${found.dataset.number} ${found.dataset.subject}`;
      const remove = cross();
      remove.setAttribute("aria-label", `${picker.dataset.tRemove} ${found.dataset.number}`);
      list.append(make("li", { class: "picked" },
        make("input", { type: "hidden", name, value: found.dataset.pick }),
        make("input", { type: "hidden", name: `${name}Label`, value: label }),
        make("span", {}, label), remove));
    }
    $(".found-list", picker).replaceChildren();
    const input = $("input[type=search]", picker);
    input.value = "";
    input.focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.matches("[data-picker] input[type=search]")) event.preventDefault();
  });

  // A date in words beside its field, in the era of the language.
  const months = {
    th: ["ม.ค.", "ก.พ.", "มี.ค.", "เม.ย.", "พ.ค.", "มิ.ย.", "ก.ค.", "ส.ค.", "ก.ย.", "ต.ค.", "พ.ย.", "ธ.ค."],
    en: ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
  };
  const language = document.documentElement.lang;
  const sayDate = (input) => {
    const place = $("[data-date-words]", input.parentElement);
    const [year, month, day] = input.value.split("-").map(Number);
    if (place) place.textContent = day ? `${day} ${months[language][month - 1]} ${language === "th" ? year + 543 : year}` : "";
  };
  for (const input of document.querySelectorAll("[data-date]")) sayDate(input);
  document.addEventListener("input", (event) => { if (event.target.matches("[data-date]")) sayDate(event.target); });

  // The number is asked for again after the selects have been replaced.
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.target.id === "choices") document.body.dispatchEvent(new Event("renumber"));
    if (event.target.id === "notices") { const box = $(".problem", event.target); if (box) box.focus(); }
  });
  document.addEventListener("htmx:sendError", () => toast(words.tOffline));

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
      });
      discard.addEventListener("click", () => { forget(); bar.remove(); });
    }
    let timer = 0;
    form.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        const typed = Object.fromEntries(kept.map((name) => [name, form.elements[name] ? form.elements[name].value : ""]));
        if (Object.values(typed).some(Boolean)) localStorage.setItem(place, JSON.stringify(typed));
      }, 2000);
    });
    form.addEventListener("submit", () => { clearTimeout(timer); forget(); });
    for (const link of document.querySelectorAll("[data-discard-draft]")) link.addEventListener("click", forget);
  }

  // What was refused is read first.
  const told = $("#notices .problem");
  if (told) told.focus();
  const reopen = $("[data-reopen]");
  if (reopen) open(document.getElementById(reopen.dataset.reopen));
  const wrong = $("[aria-invalid=true]");
  if (wrong && !told) wrong.focus();
})();
