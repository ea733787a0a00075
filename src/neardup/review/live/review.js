// Keys, and changes without loading a whole page. Everything works without this file, by links and forms.

import { COMMANDS } from "./keys.js";
import { ask, fold, palette } from "./palette.js"; // not loaded later: what is typed meanwhile would be keys

const STORED = "neardup-single-keys";
const one = (selector, within = document) => within.querySelector(selector);
const all = (selector) => [...document.querySelectorAll(selector)];

// ---- announcements ----

function say(text) {
  const place = one("#said");
  if (!place) return;
  place.textContent = "";
  // a region that is filled again is announced only if it was seen empty
  setTimeout(() => { place.textContent = text; }, 50);
}

// ---- changes: send the form, and put the new page in place of this one ----

function placeOf(element) {
  if (!element || element === document.body) return null;
  const form = element.closest("form");
  const forms = form ? all(`form[action="${form.getAttribute("action")}"]`) : [];
  const href = !form && element.closest("table.list") && element.href;
  return { id: element.id, href, name: element.name, value: element.value, form: form && form.getAttribute("action"), at: forms.indexOf(form) };
}

function found(place) {
  if (!place) return null;
  if (place.id && document.getElementById(place.id)) return document.getElementById(place.id);
  if (place.href) return all("table.list a[href]").find((each) => each.pathname === new URL(place.href).pathname);
  if (!place.form) return null;
  const form = all(`form[action="${place.form}"]`)[place.at];
  if (!form) return null;
  const named = [...form.elements].filter((each) => each.name === place.name && each.type !== "hidden");
  return named.find((each) => each.value === place.value) || named[0] || null;
}

function show(text, address) {
  const opened = all("details[open] > summary").map((each) => each.textContent);
  const place = placeOf(document.activeElement);
  const region = one("#said");
  const page = new DOMParser().parseFromString(text, "text/html");
  const moved = new URL(address).pathname !== location.pathname;
  const scrolled = all(".pane").map((each) => [each.id, each.dataset.group, each.scrollTop]);
  for (const part of ["header.bar", "main", "body > footer"]) {
    const [old, made] = [one(part), one(part, page)];
    if (old && made) old.replaceWith(document.adoptNode(made));
    else if (old) old.remove();
    else if (made) document.body.append(document.adoptNode(made));
  }
  all(".skip").forEach((each) => each.remove());
  document.body.prepend(...page.querySelectorAll(".skip"));
  // the region of announcements stays the same element: screen readers may not watch a new one
  const news = one("#said") ? one("#said").textContent.trim() : "";
  if (one("#said") && region) one("#said").replaceWith(region);
  document.title = page.title;
  if (address !== location.href) history.pushState(null, "", address);
  current = address.split("#")[0];
  if (!moved) {
    all("details > summary").filter((each) => opened.includes(each.textContent)).forEach((each) => { each.parentElement.open = true; });
  }
  prepare();
  let back = moved && !(place && place.form) ? null : found(place);
  if (back && back.id === "note") back = one("button[value=note]", back.form); // keys do nothing in a field
  const target = back && !back.disabled ? back : one("#heading");
  if (moved) scrollTo(0, 0);
  for (const [id, group, top] of scrolled) {
    const pane = document.getElementById(id);
    if (pane && pane.dataset.group === group && !(moved && id === "here")) pane.scrollTop = top;
  }
  showCurrent();
  target.focus({ preventScroll: moved });
  const alert = one("[role=alert]");
  const heading = moved && target !== one("#heading") ? ` ${one("#heading").textContent.trim()}` : "";
  say(alert ? alert.textContent.trim() : `${news}${heading}`);
}

let busy = false;

async function send(form, button, others = {}) {
  if (busy) return;
  busy = true;
  const values = new URLSearchParams(new FormData(form, button || undefined));
  for (const [name, value] of Object.entries(others)) values.set(name, value);
  try {
    // not form.action: a field of that name hides it
    const answer = await fetch(form.getAttribute("action"), { method: "POST", body: values, credentials: "same-origin" });
    if (!answer.headers.get("content-type").startsWith("text/html")) throw new Error("not a page");
    show(await answer.text(), answer.redirected ? answer.url : location.href);
  } catch {
    say("Nothing was stored: the server did not answer.");
    form.dispatchEvent(new Event("failed"));
  } finally {
    busy = false;
  }
}

document.addEventListener("submit", (event) => {
  if (!event.target.matches("form[data-swap]")) return;
  event.preventDefault();
  send(event.target, event.submitter);
});

async function open(address) {
  if (busy) return;
  busy = true;
  try {
    const answer = await fetch(address, { credentials: "same-origin" });
    if (!answer.ok) throw new Error("not a page");
    show(await answer.text(), answer.url);
  } catch {
    location.assign(address);
  } finally {
    busy = false;
  }
}

// in panes, a link changes the panes and moves nothing else
document.addEventListener("click", (event) => {
  const link = event.target.closest(".panes a[href]");
  if (!link || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  if (link.origin !== location.origin || link.pathname === location.pathname && link.hash || !/\/(pairs|groups)\/[\d/]+$/.test(link.pathname)) return;
  event.preventDefault();
  open(link.href);
});

// the lines of the shown group and pair are in view in their panes
function showCurrent() {
  for (const line of all(".pane [aria-current]")) {
    const pane = line.closest(".pane"), [own, outer] = [line.getBoundingClientRect(), pane.getBoundingClientRect()];
    if (own.top < outer.top || own.bottom > outer.bottom) pane.scrollTop += own.top - outer.top - outer.height / 3;
  }
}

// links to a part of the page, too, end here
const page = () => location.href.split("#")[0];
let current = page();
addEventListener("popstate", () => { if (page() !== current) location.reload(); });

// ---- lists and differences ----

const lines = () => all("table.list > tbody > tr:not(.heads)").map((row) => one("th a[href]", row)).filter((link) => link && link.checkVisibility());
const differences = () => all("main [id]").filter((each) => /^d\d+$/.test(each.id));

function step(items, by, chosen) {
  const at = items.indexOf(chosen);
  if (at < 0) return by > 0 ? items[0] : items[items.length - 1];
  return items[at + by];
}

function visit(target) {
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const place = target.getBoundingClientRect();
  const inView = place.top > 80 && place.bottom < innerHeight - 100;
  if (!inView) target.scrollIntoView({ block: "center", behavior: calm ? "auto" : "smooth" });
  target.focus({ preventScroll: true });
}

function line(by) {
  const items = lines();
  const row = document.activeElement.closest("tr");
  const target = items.length ? step(items, by, row && one("th a[href]", row)) : null;
  if (target) return visit(target);
  return press(one(`main a[rel=${by > 0 ? "next" : "prev"}]:not([data-do])`)); // groups have keys of their own
}

let difference = null;

function differ(by) {
  const items = differences();
  const target = items.length && step(items, by, difference && document.getElementById(difference.id));
  if (!target) return false;
  difference = target;
  target.tabIndex = -1;
  visit(target);
  all(".now").forEach((each) => each.classList.remove("now"));
  target.classList.add("now");
  const place = one("#place");
  if (place) place.textContent = `${items.indexOf(target) + 1} of ${items.length}`;
  const label = one("h3", target);
  const kind = one(".unheard", target);
  const said = label ? label.textContent : `Difference ${items.indexOf(target) + 1} of ${items.length}, ${kind ? kind.textContent.split(",")[0] : ""}`;
  say(said);
}

// ---- decisions about the line that has the focus, the checked members, or the pair ----

const near = () => document.activeElement.closest("tr");

function verdict(name) {
  const row = near(), button = `[data-do=${name}]`;
  const way = row && row.dataset.members && one(`tr.way ${button}`, row.parentElement);
  if (way) way.form.elements.member.value = row.dataset.members;  // a row codes its own members alone
  return press(way || (row && one(button, row)) || one(`${one(BOXES + ":checked") ? "#several" : "form.decide"} ${button}`));
}

// the members that a command is about: those of the line with the focus, or the one that a pair is about
function members() {
  const row = near(), way = row && row.matches(".way") && one("input[name=member]", row), pair = one("section[data-member]");
  const named = way ? way.value : row && (row.dataset.member || row.dataset.members) || pair && pair.dataset.member;
  return named ? named.split(",") : [];
}

// sends a form for one member; the forms of all members differ in one value alone
function change(act, values) {
  const [member, ...others] = members(), forms = all(`form[action$="/${act}"]`);
  if (others.length) return say(`This line has ${others.length + 1} members: open it, or move to one of them.`);
  const own = forms.find((each) => each.elements.document.value === member);
  if (!member || !forms.length || act === "represent" && !own) return false;
  return send(own || forms[0], null, { document: member, ...values(own || document) });
}

const fate = (name) => change("keep", (own) => ({ fate: one(`[value=${name}][aria-pressed=true]`, own) ? "none" : name }));

async function note() {
  const chosen = near() ? members() : [], form = one("#several");
  if (!form || !chosen.length || one(BOXES + ":checked")) return press(one("#note"));
  const text = await ask(chosen.length > 1 ? `Note on ${chosen.length} members` : "Note on this member");
  if (text) send(form, null, { asked: "members", member: chosen.join(), verdict: "note", note: text });
}

async function tag() {
  const forms = one('form[action$="/tag"]'), [member, ...others] = members();
  if (!forms || !member) return false;
  if (others.length) return change("tag");
  const text = await ask("Tag");
  if (text) change("tag", () => ({ tag: text, on: "yes" }));
}

// ---- check boxes of members ----

const BOXES = "input[type=checkbox][name=member]";
let lastBox = null;

function check() {
  const row = near();
  return press(row && one(BOXES, row));
}

document.addEventListener("click", (event) => {
  const box = event.target.closest(BOXES);
  if (!box) return;
  const boxes = all(BOXES), [from, to] = [boxes.indexOf(lastBox), boxes.indexOf(box)].sort((a, b) => a - b);
  if (event.shiftKey && from >= 0) boxes.slice(from, to + 1).forEach((each) => { each.checked = box.checked; });
  lastBox = box;
  const count = all(`${BOXES}:checked`).length;
  one(count ? "#some" : "#whole").checked = true;
  say(`${count} checked`);
});

// ---- keys ----

function singleKeys() {
  try {
    return localStorage.getItem(STORED) !== "off";
  } catch {
    return true;
  }
}

function press(target) {
  if (!target || target.disabled) return false;
  const field = target.matches("input:not([type=checkbox])");
  if (field || target.matches("summary")) target.focus();
  field ? target.select() : target.click();
}

function leave(event) {
  if (!typing(event.target)) return;
  const row = event.target.closest("tr");
  ((row && one("th a[href]", row)) || one("#heading")).focus();
}

const ACTS = {
  palette: () => palette(act),
  panes: () => fold(say),
  "next-line": () => line(1),
  "previous-line": () => line(-1),
  "next-difference": () => differ(1),
  "previous-difference": () => differ(-1),
  filter: () => press(one("[data-do=filter]") || one('header.bar a[href$="/"]')),
  note, tag, check, leave,
  keep: () => fate("keep"),
  remove: () => fate("remove"),
  represent: () => change("represent", () => ({})),
};
for (const name of ["duplicate", "keep-both", "not-alike", "unsure"]) ACTS[name] = () => verdict(name);

const NAMES = new Map(Object.entries(COMMANDS).flatMap(([name, command]) => command.on.map((key) => [key, name])));
const typing = (target) => target.closest("input:not([type=radio], [type=checkbox]), textarea, select, [contenteditable]");

async function act(name, event) {
  const reads = one(".reads");
  if (reads && COMMANDS[name].writes) return say(reads.textContent);
  const target = one(`main [data-do=${name}]`) || one(`[data-do=${name}]`);
  if (await (ACTS[name] ? ACTS[name](event) : press(target)) === false) say(COMMANDS[name].nothing);
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const name = NAMES.get(event.shiftKey && event.key.length > 1 ? `Shift+${event.key}` : event.key);
  if (!name || COMMANDS[name].own || event.repeat && COMMANDS[name].writes) return;
  const single = event.key.length === 1, arrow = event.key.startsWith("Arrow");
  if (single && (typing(event.target) || !singleKeys()) || arrow && typing(event.target)) return;
  if (arrow && !(near() && near().closest("table.list")) || one("dialog[open]")) return; // arrows scroll
  if (name !== "leave") event.preventDefault();
  act(name, event);
});

// ---- pages that are not complete: asked for again, less and less often ----

const FIRST_WAIT = 1000, LAST_WAIT = 15000;
let waited = FIRST_WAIT, waiting = null;

function later() {
  clearTimeout(waiting);
  if (!one("[data-refresh]")) {
    waited = FIRST_WAIT;
    return;
  }
  waiting = setTimeout(refresh, waited);
  waited = Math.min(1.5 * waited, LAST_WAIT);
}

async function refresh() {
  const active = document.activeElement;
  const typing = active && active.matches("input:not([type=radio], [type=checkbox]), textarea, select");
  if (busy || typing || one("details details[open] form")) return later();
  const address = location.href;
  try {
    const answer = await fetch(address, { credentials: "same-origin" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (busy || address !== location.href || !answer.ok) return later();
    const [place, link] = [placeOf(document.activeElement), document.activeElement.href];
    one("main").replaceWith(document.adoptNode(one("main", page)));
    prepareMain();
    document.title = page.title;
    const back = found(place) || all("main a[href]").find((each) => each.href === link);
    if (back) back.focus({ preventScroll: true });
    if (!one("[data-refresh]")) say("This page is complete now.");
  } catch {
    later(); // the server may come back
  }
}

// ---- parts that need this file ----

function prepareMain() {
  showCurrent();
  for (const time of all("time[data-local]")) {
    const parts = { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" };
    time.textContent = new Date(time.dateTime).toLocaleString("en", parts);
  }
  all("[data-steps], [data-switch]").forEach((each) => { each.hidden = false; });
  all("[data-switch][data-do=panes]").forEach((each) => each.addEventListener("click", () => fold(say)));
  all("[data-steps] button").forEach((each) => each.addEventListener("click", () => differ(Number(each.dataset.step))));
  later();
}

function prepare() {
  prepareMain();
  const button = one("#switch");
  if (!button) return;
  const label = () => {
    const on = singleKeys();
    button.setAttribute("aria-pressed", String(on));
    button.textContent = on ? "Single keys are on" : "Single keys are off";
  };
  label();
  button.addEventListener("click", () => {
    localStorage.setItem(STORED, singleKeys() ? "off" : "on");
    label();
    say(button.textContent);
  });
}

prepare();
const heading = one("#said") && one("#said").textContent.trim();
if (heading) say(heading);
