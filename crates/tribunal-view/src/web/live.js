// Keeps a page of a run up to date: new events are added to the list, and the parts marked as live are taken anew from
// the server. It shows text that others wrote as text only, and the page can be read without it.
"use strict";
(() => {
  const body = document.body;
  const list = document.getElementById("events");
  const state = document.getElementById("live-state");
  if (!body.dataset.stream || !list || !window.EventSource) return;

  const KEPT = 1000;
  const PAUSE = 300;
  let last = Number(body.dataset.seq);
  let timer = null;
  let busy = false;

  const say = (words) => {
    if (state && state.textContent !== words) state.textContent = words;
  };

  const cell = (tag, text, kind) => {
    const node = document.createElement(tag);
    node.textContent = text;
    if (kind) node.className = kind;
    return node;
  };

  const add = (event) => {
    const seq = Number(event.lastEventId);
    if (seq <= last) return;
    last = seq;
    const told = JSON.parse(event.data);
    const near = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
    const item = document.createElement("li");
    item.dataset.seq = String(seq);
    item.append(cell("time", told.when), cell("span", told.of, "faint"), cell("span", told.text, told.kind));
    list.append(item);
    while (list.children.length > KEPT) list.firstElementChild.remove();
    if (near) list.scrollTop = list.scrollHeight;
    later();
  };

  const later = () => {
    if (timer === null) timer = setTimeout(refresh, PAUSE);
  };

  const renew = (old, fresh) => {
    if (old.innerHTML === fresh.innerHTML) return;
    const focus = document.activeElement;
    const link = focus && old.contains(focus) ? focus.getAttribute("href") : null;
    old.replaceChildren(...document.importNode(fresh, true).childNodes);
    if (link === null) return;
    const again = [...old.querySelectorAll("a[href]")].find((a) => a.getAttribute("href") === link);
    if (again) again.focus();
  };

  const refresh = async () => {
    timer = null;
    if (busy) return later();
    busy = true;
    try {
      const answer = await fetch(location.href, { credentials: "same-origin" });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const fresh of page.querySelectorAll("[data-live]")) {
        const old = document.getElementById(fresh.id);
        if (old) renew(old, fresh);
      }
      document.title = page.title;
      // The server may be a moment behind what it has told.
      if (Number(page.body.dataset.seq) < last) later();
    } catch {
      // The stream tells when the server is gone, and comes back by itself.
    } finally {
      busy = false;
    }
  };

  list.scrollTop = list.scrollHeight;
  const source = new EventSource(body.dataset.stream);
  source.addEventListener("open", () => say("Live: this page follows the run."));
  source.addEventListener("told", add);
  source.addEventListener("over", () => {
    source.close();
    say("The run is over.");
    later();
  });
  source.addEventListener("error", () => {
    const closed = source.readyState === EventSource.CLOSED;
    say(closed ? "Not live: load the page again, or open the link of a new server." : "Connection lost; trying again.");
  });
})();
