"use strict";
// Brings the page up to date when the process has observed or moved something,
// lets one link walk over the cells of the map, and shows explanations in place.
(() => {
  const pitch = 10, $ = id => document.getElementById(id);
  const dialog = $("explained"), live = $("live");
  let cells = [], chosen = 0, busy = false, again = false, stream, retry, opener;

  const columns = () => Number($("map").dataset.columns);
  const words = cell => cell[0] + ": " + cell[1] + ", " + cell[2];
  const path = cell => "/explain/node/" + encodeURIComponent(cell[0]);

  // choose moves the link of the map to a cell.
  function choose(i) {
    if (!cells[i]) return;
    chosen = i;
    const link = $("cursor"), rect = link.firstElementChild;
    link.setAttribute("href", path(cells[i]));
    link.setAttribute("aria-label", words(cells[i]));
    rect.setAttribute("x", i % columns() * pitch);
    rect.setAttribute("y", Math.floor(i / columns()) * pitch);
    if ($("here").textContent !== words(cells[i])) $("here").textContent = words(cells[i]);
  }

  // at returns the cell under the pointer; -1 if there is none.
  function at(event) {
    const map = $("map"), p = new DOMPoint(event.clientX, event.clientY).matrixTransform(map.getScreenCTM().inverse());
    const x = Math.floor(p.x / pitch), y = Math.floor(p.y / pitch), i = y * columns() + x;
    return x < 0 || y < 0 || x >= columns() || i >= cells.length ? -1 : i;
  }

  function readCells() {
    const from = $("cells");
    if (!from) return;
    const name = cells[chosen] && cells[chosen][0];
    cells = JSON.parse(from.textContent);
    const href = $("cursor").getAttribute("href");
    const i = cells.findIndex(cell => name ? cell[0] === name : path(cell) === href);
    choose(Math.max(i, 0));
  }

  // whole is where the page is with its map and tables, which the first answer may
  // leave out.
  const whole = location.pathname + (location.search || "?page=1");

  const parsed = async response => new DOMParser().parseFromString(await response.text(), "text/html");

  // explain shows an explanation in place. What fails is left to the browser.
  async function explain(href) {
    const body = dialog.querySelector("div"), asked = dialog.dataset.asked = href;
    body.textContent = "Asking why. This may take some seconds.";
    if (!dialog.open) {
      opener = document.activeElement;
      dialog.showModal();
      body.focus(); // Enter, still down, would press the button
    }
    let main;
    try {
      main = (await parsed(await fetch(href, { headers: { Accept: "text/html" } }))).querySelector("main");
    } catch { /* the process is gone: the browser says it better */ }
    if (dialog.dataset.asked !== asked || !dialog.open) return;
    if (!main) { location.assign(href); return; }
    body.replaceChildren(...document.adoptNode(main).childNodes);
    dialog.scrollTop = 0;
  }

  // The element that an explanation was opened from may have been replaced.
  dialog.addEventListener("close", () => {
    if (opener && !opener.isConnected) focusLike(document, opener);
  });

  // focusLike focuses what is the same as an element that was replaced.
  function focusLike(within, old) {
    if (old.id) { $(old.id)?.focus({ preventScroll: true }); return; }
    const alike = ["href", "aria-label"].find(name => old.hasAttribute(name));
    const same = alike && [...within.querySelectorAll("a, [tabindex]")].find(e => !e.id && e.getAttribute(alike) === old.getAttribute(alike));
    if (same) same.focus({ preventScroll: true });
  }

  document.addEventListener("click", event => {
    if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = event.target.closest("a"), map = event.target.closest("#map");
    let href = link && link.getAttribute("href");
    if (map && !(link && event.detail === 0)) {
      const i = at(event);
      if (i < 0) return;
      choose(i);
      href = path(cells[i]);
    }
    if (!href || !href.startsWith("/explain/")) return;
    event.preventDefault();
    explain(href);
  });
  document.addEventListener("pointermove", event => {
    if (!event.target.closest("#map")) return;
    const i = at(event);
    if (i >= 0 && i !== chosen) choose(i);
  });
  document.addEventListener("keydown", event => {
    if (!event.target.closest("#cursor") || event.ctrlKey || event.metaKey || event.altKey) return;
    const last = cells.length - 1;
    const to = {
      ArrowRight: Math.min(chosen + 1, last), ArrowLeft: Math.max(chosen - 1, 0), Home: 0, End: last,
      ArrowDown: chosen + columns() > last ? chosen : chosen + columns(), ArrowUp: chosen < columns() ? chosen : chosen - columns(),
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(to);
  });

  // refresh fetches the page and replaces the parts that differ.
  async function refresh() {
    if (busy) { again = true; return; }
    busy = true;
    try {
      const response = await fetch(whole, { headers: { Accept: "text/html" } });
      if (!response.ok) throw new Error(response.status);
      const next = await parsed(response);
      if (next.querySelectorAll("[data-live]").length !== document.querySelectorAll("[data-live]").length) { location.reload(); return; }
      document.title = next.title;
      const focused = document.activeElement || document.body;
      for (const part of document.querySelectorAll("[data-live]")) {
        const newer = next.querySelector(`[data-live="${part.dataset.live}"]`);
        if (newer.outerHTML === part.outerHTML || focused.matches("input") && part.contains(focused)) continue;
        const within = part.contains(focused), scrolled = [...part.querySelectorAll(".scroll")].map(box => box.scrollLeft);
        part.replaceWith(document.adoptNode(newer));
        newer.querySelectorAll(".scroll").forEach((box, i) => { box.scrollLeft = scrolled[i] || 0; });
        if (within) focusLike(newer, focused);
      }
      readCells();
      live.hidden = true;
    } catch {
      stale();
    } finally {
      busy = false;
    }
    if (again) { again = false; refresh(); }
  }

  function stale() {
    live.hidden = false;
    live.textContent = "Not up to date: the process cannot be reached. Trying again.";
  }

  // follow listens for news. Where too many listen already it asks from time to
  // time.
  function follow() {
    clearTimeout(retry);
    stream = new EventSource("/stream");
    let opened = false;
    stream.addEventListener("open", () => { if (opened || !live.hidden) refresh(); opened = true; });
    for (const kind of ["observation", "moves"]) stream.addEventListener(kind, refresh);
    stream.addEventListener("error", event => {
      if (event.target.readyState !== EventSource.CLOSED) { stale(); return; }
      refresh();
      retry = setTimeout(follow, 15000);
    });
  }

  // Ages go on while nothing comes.
  setInterval(() => {
    for (const time of document.querySelectorAll("time[data-age]")) {
      const seconds = Math.max(Math.round((Date.now() - Date.parse(time.dateTime)) / 1000), 0);
      time.textContent = (seconds < 120 ? seconds + " s" : Math.floor(seconds / 60) + " min") + " ago";
    }
  }, 1000);

  // complete adds what the first answer left out, once that is painted. It follows
  // before it asks, so as to miss nothing.
  async function complete() {
    busy = true;
    follow();
    await new Promise(known => { for (const kind of ["open", "error"]) stream.addEventListener(kind, known); });
    try {
      const response = await fetch(whole, { headers: { Accept: "text/html" } });
      if (!response.ok) throw new Error(response.status);
      const next = await parsed(response);
      for (const part of ["header", "main"]) document.querySelector(part).replaceWith(document.adoptNode(next.querySelector(part)));
      for (const part of next.querySelectorAll("body > footer, body > script")) dialog.before(document.adoptNode(part));
      document.title = next.title;
    } catch {
      location.replace(whole); // the browser says it better
      return;
    }
    $(location.hash.slice(1))?.scrollIntoView();
    busy = false;
    if (again) { again = false; refresh(); }
    start();
  }

  function start() {
    readCells();
    document.addEventListener("visibilitychange", () => {
      stream.close();
      clearTimeout(retry);
      if (document.hidden) return;
      refresh();
      follow();
    });
  }

  if (document.body.hasAttribute("data-brief")) {
    requestAnimationFrame(() => setTimeout(complete));
  } else {
    follow();
    start();
  }
})();
