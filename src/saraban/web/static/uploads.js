// Files, dropped or chosen: one request each, with progress; the form carries only their identifiers.
import { $, make, remover, toast, words } from "./dom.js";

const reasonIn = (text, fallback) => {
  try {
    const problem = JSON.parse(text);
    const first = problem.errors && problem.errors[0];
    return (first && first.message) || problem.userMessage || fallback;
  } catch { return fallback; }
};

const send = (request, file, progress) => new Promise((resolve) => {
  request.open("POST", "/api/v1/attachments");
  request.upload.onprogress = (event) => { if (event.lengthComputable) progress(event.loaded / event.total); };
  request.onloadend = () => resolve(request);
  const data = new FormData();
  data.append("file", file);
  request.send(data);
});

const renew = async () => {
  const answer = await fetch("/session/renewal", { method: "POST", redirect: "manual" }).catch(() => null);
  return Boolean(answer && answer.ok);
};

const sent = async (file, progress, row) => {
  const request = new XMLHttpRequest();
  const stop = () => request.abort();
  row.addEventListener("removed", stop);
  await send(request, file, progress);
  if (request.status === 401 && await renew()) await send(request, file, progress);
  row.removeEventListener("removed", stop);
  return request;
};

const rowFor = (box, file) => {
  const text = box.dataset;
  const bar = make("progress", { max: "1", value: "0", "aria-label": `${text.tUploading} ${file.name}` });
  // What changes many times a second is not read aloud; the outcome is.
  const share = make("span", { class: "upload-share", "aria-hidden": "true" }, "0%");
  const status = make("span", { class: "upload-status" });
  const row = make("li", { class: "upload-row is-busy" },
    make("span", { class: "upload-name" }, file.name), bar, share, status, remover(`${text.tRemove} ${file.name}`));
  const ended = (name, words_) => {
    row.className = `upload-row ${name}`;
    bar.remove();
    share.remove();
    status.textContent = words_;
  };
  const progress = (part) => { bar.value = part; share.textContent = `${Math.round(part * 100)}%`; };
  return { row, ended, progress };
};

const failed = (box, file, { row, ended }, reason, again) => {
  ended("is-failed", reason);
  if (!again) return;
  const retry = make("button", { type: "button", class: "btn btn-sm" }, box.dataset.tRetry);
  retry.addEventListener("click", () => { uploadOne(box, file, row); });
  row.insertBefore(retry, row.lastElementChild);
};

const uploadOne = async (box, file, instead) => {
  const text = box.dataset;
  const shown = rowFor(box, file);
  if (instead) instead.replaceWith(shown.row); else $(".uploads", box).append(shown.row);
  const extension = file.name.slice(file.name.lastIndexOf(".")).toLowerCase();
  if (!$("input[type=file]", box).accept.split(",").includes(extension)) return failed(box, file, shown, text.tKind, false);
  if (file.size > Number(text.limit)) return failed(box, file, shown, text.tLarge, false);
  const answer = await sent(file, shown.progress, shown.row);
  if (!shown.row.isConnected) return;
  if (answer.status === 401) { location.href = "/login"; return; }
  if (answer.status === 0) return failed(box, file, shown, words.tOffline, true);
  if (answer.status === 413) return failed(box, file, shown, text.tLarge, false);
  if (answer.status !== 201) return failed(box, file, shown, reasonIn(answer.responseText, text.tFailed), answer.status >= 429);
  const done = JSON.parse(answer.responseText);
  shown.ended("is-done", text.tDone);
  shown.row.append(
    make("input", { type: "hidden", name: text.name, value: done.publicId }),
    make("input", { type: "hidden", name: `${text.name}Name`, value: done.fileName }),
  );
  shown.row.dispatchEvent(new Event("uploaded", { bubbles: true }));
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

// A file that misses the place for files must not replace the page.
const carriesFiles = (event) => event.dataTransfer && [...event.dataTransfer.types].includes("Files");
let leaving = 0;
document.addEventListener("dragover", (event) => {
  if (!carriesFiles(event)) return;
  event.preventDefault();
  const box = event.target.closest("[data-upload]");
  event.dataTransfer.dropEffect = box ? "copy" : "none";
  if (!box) return;
  const zone = $(".dropzone", box);
  zone.classList.add("is-over");
  clearTimeout(leaving);
  leaving = setTimeout(() => zone.classList.remove("is-over"), 150);
});
document.addEventListener("drop", (event) => {
  if (!carriesFiles(event)) return;
  event.preventDefault();
  const box = event.target.closest("[data-upload]");
  if (box) take(box, [...event.dataTransfer.files]);
});

document.addEventListener("uploaded", (event) => {
  const form = event.target.closest("[data-upload-form]");
  if (form) $("[data-when-uploaded]", form).classList.remove("d-none");
});

// Whoever sends a form too early is told why nothing happens.
export const isUploading = (form) => {
  if (!$(".upload-row.is-busy", form)) return false;
  toast(words.tBusy);
  return true;
};
