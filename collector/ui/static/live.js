// Keeps a page current while its `#live` part carries `data-live`; without it nothing happens.
(function () {
  "use strict";
  const period = 2000;

  function busy(part) {
    // Never pull open details, a selection or the focus away from the reader.
    const selection = document.getSelection();
    return document.hidden || part.querySelector("details[open]") || part.contains(document.activeElement)
      || (selection && !selection.isCollapsed);
  }

  function tell(part) {
    // A page that waits says so, outside of the part that will be replaced.
    let note = document.getElementById("waits");
    if (!note) {
      note = Object.assign(document.createElement("p"), { id: "waits", className: "hint" });
      note.setAttribute("role", "status");
      part.before(note);
    }
    const waits = !document.hidden && busy(part);
    const said = waits ? "Updates wait while something here is open, selected or has the focus." : "";
    if (note.textContent !== said) note.textContent = said;
  }

  async function refresh() {
    const part = document.getElementById("live");
    if (!part || !part.hasAttribute("data-live")) return;
    tell(part);
    if (!busy(part)) {
      try {
        if (part.dataset.state) {  // a page may be big: it is asked for again only when it has changed
          const said = await fetch(location.pathname + "/state");
          if (said.ok && await said.text() === part.dataset.state) { setTimeout(refresh, period); return; }
        }
        const answer = await fetch(location.href, { headers: { accept: "text/html" } });
        if (answer.ok) {
          const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
          const next = fresh.getElementById("live");
          const had = Boolean(document.querySelector(".filters"));
          if (next && Boolean(fresh.querySelector(".filters")) !== had) { location.reload(); return; }
          if (next) part.replaceWith(document.adoptNode(next));
          document.dispatchEvent(new Event("renewed"));
          const tally = fresh.querySelector(".tally"), old = document.querySelector(".tally");
          if (tally && old && !document.getElementById("live").contains(old)) old.replaceWith(document.adoptNode(tally));
        }
      } catch (_gone) { /* the collector restarts: try again */ }
    }
    setTimeout(refresh, period);
  }
  setTimeout(refresh, period);
})();
