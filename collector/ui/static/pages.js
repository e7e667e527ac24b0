// Keys, opening, copying, choosing a time by dragging, and times in the reader's own zone; every page works without it.
(function () {
  "use strict";
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "local time";

  function local(part) {
    for (const time of part.querySelectorAll("time[datetime]")) {
      const at = new Date(time.getAttribute("datetime"));
      if (!isNaN(at)) time.title = at.toLocaleString() + " (" + zone + ")";
    }
  }

  // Texts can be copied, and all calls of a run opened at once.
  function copied(part) {
    for (const text of part.querySelectorAll("pre[tabindex]:not(.checked, .diff)")) {
      if (text.closest("details:not([open])") || (text.previousElementSibling || text).matches(".copy")) continue;
      text.before(Object.assign(document.createElement("button"), { type: "button", className: "plain small copy", textContent: "Copy" }));
    }
  }
  function prepare() {
    local(document);
    copied(document);
    for (const button of document.querySelectorAll("[data-opens]")) button.hidden = false;
  }
  prepare();
  document.addEventListener("renewed", prepare);
  document.addEventListener("toggle", event => { if (event.target.open) copied(event.target); }, true);
  document.addEventListener("click", event => {
    const button = event.target.closest(".copy, [data-opens]"), call = event.target.closest("tr[id^=call-] summary");
    if (call && !call.parentNode.open) history.replaceState(null, "", "#" + call.closest("tr").id);
    if (!button) return;
    if (button.matches(".copy")) {
      getSelection().selectAllChildren(button.nextElementSibling);
      button.textContent = document.execCommand("copy") ? "Copied" : "Press Ctrl+C";
      if (button.textContent === "Copied") getSelection().removeAllRanges();
      return;
    }
    const parts = [...document.querySelectorAll(button.dataset.opens + " details")], opened = parts.some(one => !one.open);
    for (const one of parts) one.open = opened;
    button.textContent = opened ? "Close all" : "Open all";
  });
  function named() {
    const call = /^#call-\d+$/.test(location.hash) && document.querySelector(location.hash + " details");
    if (call) call.open = true;
  }
  addEventListener("hashchange", named);
  named();

  // What is wider than a phone is drawn from its newest end on.
  for (const part of document.querySelectorAll(".figure .scroll:has(.bars, .curve:not(.lines))")) part.scrollLeft = part.scrollWidth;

  let row = -1;
  const rows = () => [...document.querySelectorAll("table.runs tbody tr, table.rows tbody tr, table.calls tbody tr, .inbox > li")];
  function step(by) {
    const all = rows();
    if (!all.length) return;
    row = Math.min(Math.max(row + by, 0), all.length - 1);
    all.forEach((one, at) => one.classList.toggle("at", at === row));
    all[row].scrollIntoView({ block: "nearest" });
    const link = all[row].querySelector("a.said, summary, a");
    if (link) link.focus({ preventScroll: true });
  }
  function finding() {
    const all = [...document.querySelectorAll("[id^=finding-]")];
    const next = all.findIndex(one => "#" + one.id === location.hash) + 1;
    if (all.length) location.hash = all[next % all.length].id;
  }
  document.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, textarea, select, dialog")) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    const search = document.getElementById("q");
    if (event.key === "/" && search) { event.preventDefault(); search.focus(); search.select(); }
    else if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (event.key === "x") {
      const tick = rows()[row] && rows()[row].querySelector("input[type=checkbox]");
      if (tick) tick.checked = !tick.checked;
    } else if (event.key === "n") finding();
    else if (event.key === "?") document.getElementById("keys").showModal();
  });

  // What the parser makes of a text, while it is written.
  const editor = document.querySelector("textarea[data-check]");
  if (editor) {
    const told = document.getElementById("checked");
    let waits = 0;
    const check = async () => {
      try {
        const answer = await fetch(editor.dataset.check, { method: "POST", body: new URLSearchParams({ text: editor.value }) });
        const said = await answer.json();
        told.classList.toggle("err", Boolean(said.problem || said.error));
        if (said.problem) told.textContent = (said.line ? "Line " + said.line + (said.field ? ", " + said.field : "") + ": " : "") + said.problem;
        else if (said.error) told.textContent = said.error.message;
        else told.textContent = [said.policies + (said.policies === 1 ? " policy can be read." : " policies can be read."),
          ...said.warnings.map(one => one.policies.join(", ") + ": " + one.explanation)].join("\n");
      } catch (_gone) { told.textContent = "The collector does not answer."; }
    };
    editor.addEventListener("input", () => { clearTimeout(waits); waits = setTimeout(check, 400); });
    if (!told.classList.contains("err")) check();
  }

  // Drag over a picture of times: from where to where becomes the range of the page.
  let drag = null;
  document.addEventListener("pointerdown", event => {
    const over = event.target.closest && event.target.closest("svg[data-range-since], [data-range-since] .axis");
    if (over && event.button === 0) drag = { over, x: event.clientX };
  });
  document.addEventListener("dragstart", event => { if (drag) event.preventDefault(); });
  document.addEventListener("pointerup", event => {
    if (!drag || Math.abs(event.clientX - drag.x) < 8) { drag = null; return; }
    const range = drag.over.closest("[data-range-since]").dataset, left = drag.over.matches(".axis") ? 0 : 44 / 1000;
    const box = (drag.over.querySelector(":scope > svg, .ticks") || drag.over).getBoundingClientRect();
    const since = Number(range.rangeSince), until = Number(range.rangeUntil);
    const place = x => since + (until - since) * Math.min(Math.max(((x - box.left) / box.width - left) / (1 - left), 0), 1);
    const ends = [place(drag.x), place(event.clientX)].sort((a, b) => a - b).map(at => at.toFixed(Number(range.rangeDigits || 0)));
    drag = null;
    document.addEventListener("click", stop => stop.preventDefault(), { capture: true, once: true });
    const asked = new URLSearchParams(location.search);
    asked.delete("last");
    asked.set("since", ends[0]);
    asked.set("until", ends[1]);
    location.href = location.pathname + "?" + asked;
  });
})();
