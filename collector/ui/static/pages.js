// Keys, choosing a time by dragging, and times in the reader's own zone; every page works without it.
(function () {
  "use strict";
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "local time";

  function local(part) {
    for (const time of part.querySelectorAll("time[datetime]")) {
      const at = new Date(time.getAttribute("datetime"));
      if (!isNaN(at)) time.title = at.toLocaleString() + " (" + zone + ")";
    }
  }
  local(document);

  // What is wider than a phone is drawn from its newest end on.
  for (const part of document.querySelectorAll(".figure .scroll:has(.bars, .curve:not(.lines))")) part.scrollLeft = part.scrollWidth;

  let row = -1;
  const rows = () => [...document.querySelectorAll("table.runs tbody tr, table.rows tbody tr")];
  function step(by) {
    const all = rows();
    if (!all.length) return;
    row = Math.min(Math.max(row + by, 0), all.length - 1);
    all.forEach((one, at) => one.classList.toggle("at", at === row));
    all[row].scrollIntoView({ block: "nearest" });
    const link = all[row].querySelector("a.said, a");
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
    const svg = event.target.closest && event.target.closest("svg[data-range-since]");
    if (svg && event.button === 0) drag = { svg, x: event.clientX };
  });
  document.addEventListener("dragstart", event => { if (drag) event.preventDefault(); });
  document.addEventListener("pointerup", event => {
    if (!drag || Math.abs(event.clientX - drag.x) < 8) { drag = null; return; }
    const box = drag.svg.getBoundingClientRect(), left = 44 / 1000;
    const since = Number(drag.svg.dataset.rangeSince), until = Number(drag.svg.dataset.rangeUntil);
    const place = x => since + (until - since) * Math.min(Math.max(((x - box.left) / box.width - left) / (1 - left), 0), 1);
    const ends = [place(drag.x), place(event.clientX)].sort((a, b) => a - b).map(at => at.toFixed(0));
    drag = null;
    document.addEventListener("click", stop => stop.preventDefault(), { capture: true, once: true });
    location.href = location.pathname + "?since=" + ends[0] + "&until=" + ends[1];
  });
})();
